"""What reading and cleaning have to tell: in figures for machines, in tables for people."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

from mtrain.config.schema import CorpusConfig
from mtrain.console import progress, table
from mtrain.corpus.assemble import missing_splits
from mtrain.corpus.cleaning import Dropped
from mtrain.corpus.held_out import Leak
from mtrain.corpus.leak_report import render_groups, render_near, render_short
from mtrain.corpus.letters import count_short
from mtrain.corpus.pair_files import written_blocks, written_corpora, written_pairs
from mtrain.corpus.sources import SIDES, Block, Side, Split
from mtrain.corpus.spelling import Spelling, spellings
from mtrain.corpus.tally import Tally
from mtrain.corpus.variants import HOW_TO_GET_OPENCC, VARIANTS, Variant, count_variants, has_opencc
from mtrain.languages import CHINESE, primary
from mtrain.parallel import in_order

_LONGEST_EXAMPLE = 30

# How many lines of a side of a split have which characters.
Variants = dict[Split, dict[Side, dict[Variant, int]]]


@dataclass(frozen=True)
class Share:
    """What one of several corpora has given: pairs read, and those of them that are trained on."""

    name: str
    read: int
    train: int


@dataclass(frozen=True)
class CleaningReport:
    """What became of the raw pairs.

    `groups` are those that became dev and test, `near` examples of what was dropped for being nearly in dev or test,
    `too_short` how many sentences of these, on both sides, are too short for that; `variants` are empty where no side
    is Chinese, or OpenCC is not installed.
    """

    languages: dict[Side, str]
    spellings: dict[Side, Spelling]
    read: int
    corpora: list[Share]
    mended: dict[Split, int]
    dropped: dict[str, Dropped]
    pairs: dict[Split, int]
    drawn: list[Split]
    groups: dict[Split, list[str]]
    near: list[Leak]
    too_short: dict[Split, int]
    variants: Variants


def cleaning_report(corpus: CorpusConfig, tally: Tally, folder: Path, workers: int) -> CleaningReport:
    """Return the report on what `assemble` has written to `folder`."""
    languages: dict[Side, str] = {"source": corpus.source_language, "target": corpus.target_language}
    return CleaningReport(
        languages=languages,
        spellings=dict(spellings(corpus)),
        read=tally.read,
        corpora=_shares_of(tally, folder),
        mended=tally.mended,
        dropped=tally.dropped,
        pairs=tally.pairs,
        drawn=missing_splits(corpus),
        groups=tally.groups,
        near=tally.near,
        too_short=_too_short(folder) if corpus.near_overlap else {},
        variants=_count_variants(_chinese(languages), tally, folder, workers) if has_opencc() else {},
    )


def _too_short(folder: Path) -> dict[Split, int]:
    held_out: tuple[Split, ...] = ("dev", "test")
    sides = {split: chain.from_iterable(pair[:2] for pair in written_pairs(folder, split)) for split in held_out}
    return {split: count_short(texts) for split, texts in sides.items()}


def _count_variants(chinese: list[Side], tally: Tally, folder: Path, workers: int) -> Variants:
    variants: Variants = {}
    for split, pairs in tally.pairs.items():
        label = f"tell traditional from simplified in {split}"
        blocks = progress(written_blocks(folder, split), label, pairs, "pair", lambda block: block.size)
        counts: dict[Side, Counter[Variant]] = {side: Counter() for side in chinese}
        for counted in in_order(partial(_variants_in, chinese), blocks if chinese else [], workers):
            for side in chinese:
                counts[side].update(counted[side])
        variants[split] = {side: {kind: counts[side][kind] for kind in VARIANTS} for side in chinese}
    return variants


def _variants_in(sides: list[Side], block: Block) -> dict[Side, dict[Variant, int]]:
    return {side: count_variants(block.sources if side == "source" else block.targets) for side in sides}


def _shares_of(tally: Tally, folder: Path) -> list[Share]:
    kept = Counter(islice(written_corpora(folder, "train"), tally.pairs["train"]))
    return [Share(name, read, kept[number]) for number, (name, read) in enumerate(tally.corpora)]


def _chinese(languages: Mapping[Side, str]) -> list[Side]:
    return [side for side in SIDES if primary(languages[side]) in CHINESE]


def render_cleaning(report: CleaningReport) -> list[str]:
    """Return the parts of the report as text of one or several lines each."""
    shares = [_shares(report)] if len(report.corpora) > 1 else []
    groups = [render_groups(split, names) for split, names in report.groups.items()]
    near = [render_near(report.near)] if report.near else []
    near += [render_short(split, short, report.pairs[split]) for split, short in report.too_short.items() if short]
    parts = [_pairs(report), *groups, _spelt(report), *shares, _dropped(report), *near]
    return [*parts, *_variants(report), *_mended(report)]


def _pairs(report: CleaningReport) -> str:
    splits = ", ".join(f"{split} {count:,}" for split, count in report.pairs.items())
    drawn = f" ({' and '.join(report.drawn)} taken out of train)" if report.drawn else ""
    return f"{report.languages['source']} → {report.languages['target']}, pairs: {splits}{drawn}"


def _spelt(report: CleaningReport) -> str:
    sides = (
        f"{report.languages[side]} with width {spelling.width}, quotes {spelling.quotes}, dashes {spelling.dashes}, "
        f"script {spelling.script}"
        for side, spelling in report.spellings.items()
    )
    drawn = f"; {' and '.join(report.drawn)} too, being taken out of train" if report.drawn else ""
    return f"written in NFC: {'; '.join(sides)} (given references stay as they are{drawn})"


def _shares(report: CleaningReport) -> str:
    pairs = max(report.pairs["train"], 1)
    rows = [[one.name, f"{one.read:,}", f"{one.train:,}", f"{one.train / pairs:.2%}"] for one in report.corpora]
    return table(["corpus", "pairs read", "in train", "share of train"], rows)


def _dropped(report: CleaningReport) -> str:
    rows = []
    for name, dropped in report.dropped.items():
        first, *others = map(_example, dropped.examples or [("", "")])
        rows.append([name, f"{dropped.pairs:,}", f"{dropped.pairs / max(report.read, 1):.2%}", first])
        rows += [["", "", "", other] for other in others]
    return table([f"of {report.read:,} read, dropped", "pairs", "share", "  for example"], rows)


def _example(sides: tuple[str, str]) -> str:
    if not any(sides):
        return ""
    return "  " + " → ".join(
        side if len(side) <= _LONGEST_EXAMPLE else side[:_LONGEST_EXAMPLE] + "…" for side in sides
    )


def _variants(report: CleaningReport) -> Iterator[str]:
    rows = [
        [f"{split} {report.languages[side]}", *(f"{counts[kind]:,}" for kind in VARIANTS)]
        for split, sides in report.variants.items()
        for side, counts in sides.items()
    ]
    if rows:
        yield table(["lines with Chinese characters that are", *VARIANTS], rows)
    elif _chinese(report.languages):
        yield f"traditional and simplified characters are told apart by {HOW_TO_GET_OPENCC}"


def _mended(report: CleaningReport) -> Iterator[str]:
    if mended := sum(report.mended.values()):
        where = ", ".join(f"{count:,} in {split}" for split, count in report.mended.items() if count)
        yield f"{mended:,} lines held a stray line end, now a space: {where}"
