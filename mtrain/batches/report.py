"""What `mtrain prepare` has to tell: in figures for machines, in tables for people."""

from dataclasses import dataclass

from mtrain.batches.survey import SideSurvey
from mtrain.console import table
from mtrain.corpus.cleaning import Dropped
from mtrain.corpus.sources import SIDES, Side, Split

_LONGEST_EXAMPLE = 30


@dataclass(frozen=True)
class Share:
    """What one of several corpora has given: pairs read, and those of them that are trained on."""

    name: str
    read: int
    train: int


@dataclass(frozen=True)
class PrepareReport:
    """All figures of one preparation.

    `vocabulary_sizes` are one, or the source's and the target's; `over_limit` counts training pairs that are too long
    to be trained on.
    """

    languages: dict[Side, str]
    read: int
    corpora: list[Share]
    mended: dict[Split, int]
    dropped: dict[str, Dropped]
    pairs: dict[Split, int]
    drawn: list[Split]
    vocabulary_sizes: list[int]
    surveys: dict[Split, dict[Side, SideSurvey]]
    max_tokens_per_sentence: int
    over_limit: int


def render_report(report: PrepareReport) -> str:
    """Return the report as text of several lines."""
    parts = [
        _pairs(report),
        *([_shares(report)] if len(report.corpora) > 1 else []),
        _dropped(report),
        _lengths(report),
        _coverage(report),
        f"{report.over_limit:,} training pairs have a side of more than {report.max_tokens_per_sentence} tokens "
        "(batches.max_tokens_per_sentence): they stay here, training leaves them out",
    ]
    mended = sum(report.mended.values())
    if mended:
        where = ", ".join(f"{count:,} in {split}" for split, count in report.mended.items() if count)
        parts.append(f"{mended:,} lines held a control character or a stray line end, now a space: {where}")
    return "\n\n".join(parts)


def _pairs(report: PrepareReport) -> str:
    splits = ", ".join(f"{split} {count:,}" for split, count in report.pairs.items())
    drawn = f" ({' and '.join(report.drawn)} taken out of train)" if report.drawn else ""
    return f"{report.languages['source']} → {report.languages['target']}, pairs: {splits}{drawn}"


def _shares(report: PrepareReport) -> str:
    pairs = max(report.pairs["train"], 1)
    rows = [[one.name, f"{one.read:,}", f"{one.train:,}", f"{one.train / pairs:.2%}"] for one in report.corpora]
    return table(["corpus", "pairs read", "in train", "share of train"], rows)


def _dropped(report: PrepareReport) -> str:
    rows = [
        [name, f"{dropped.pairs:,}", f"{dropped.pairs / max(report.read, 1):.2%}", _example(dropped)]
        for name, dropped in report.dropped.items()
    ]
    return table([f"of {report.read:,} read, dropped", "pairs", "share", "  for example"], rows)


def _example(dropped: Dropped) -> str:
    if dropped.example is None:
        return ""
    return "  " + " → ".join(
        side if len(side) <= _LONGEST_EXAMPLE else side[:_LONGEST_EXAMPLE] + "…" for side in dropped.example
    )


def _lengths(report: PrepareReport) -> str:
    head = ["lengths (median, 95%, longest)", "characters or words", "tokens", "tokens/character", "tokens/word"]
    rows = [
        [
            name,
            f"{survey.units.median} {survey.units.p95:>4} {survey.units.longest:>5}",
            f"{survey.tokens.median} {survey.tokens.p95:>4} {survey.tokens.longest:>5}",
            f"{survey.tokens_per_character:.3f}",
            f"{survey.tokens_per_unit:.3f}",
        ]
        for name, survey in _named(report)
    ]
    return table(head, rows)


def _coverage(report: PrepareReport) -> str:
    sizes = " and ".join(f"{size:,}" for size in report.vocabulary_sizes)
    head = [
        f"{'vocabulary' if len(report.vocabulary_sizes) == 1 else 'vocabularies'} of {sizes}",
        "different characters",
        "spelt in bytes",
        "share of text",
        "byte tokens",
        "unknown",
    ]
    rows = [
        [
            name,
            f"{survey.different_characters:,}",
            f"{survey.different_without_piece:,}",
            f"{survey.share_without_piece:.3%}",
            f"{survey.share_byte_tokens:.3%}",
            f"{survey.unknown_tokens:,}",
        ]
        for name, survey in _named(report)
    ]
    return table(head, rows)


def _named(report: PrepareReport) -> list[tuple[str, SideSurvey]]:
    return [
        (f"{split} {report.languages[side]}", surveys[side])
        for split, surveys in report.surveys.items()
        for side in SIDES
    ]
