"""Chinese and English: what of the benchmark's corpus can be fetched without registration, and OPUS-100 besides.

The benchmark's own train has 26 sources, most of which have no archive to fetch; this makes another corpus of about
its size. Its dev and test have the benchmark's sentences but for those of AI Challenger.
"""

import bz2
import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from corpora import test_sets
from corpora.downloads import Download, Shelf
from corpora.leaks import HeldOut
from corpora.rules import Rule, Sieve, mixed, seen_before
from corpora.splits import read_list, write_lines, write_train
from corpora.text import Pair, fold, han, key
from huggingface_hub import hf_hub_url

from mtrain.console import progress, say, warn
from mtrain.corpus.splits import sentence_key
from mtrain.errors import MtrainError

_TATOEBA = "Tatoeba: CC BY 2.0 FR; a new export each week"
TATOEBA = {
    name: Download(name, f"https://downloads.tatoeba.org/exports/per_language/{folder}/{name}", _TATOEBA)
    for folder, name in (
        ("cmn", "cmn_sentences.tsv.bz2"), ("eng", "eng_sentences.tsv.bz2"), ("cmn", "cmn-eng_links.tsv.bz2"),
    )
}  # fmt: skip
NEWS_COMMENTARY = Download(
    name="news-commentary-v18.en-zh.tsv.gz",
    url="https://data.statmt.org/news-commentary/v18.1/training/news-commentary-v18.en-zh.tsv.gz",
    licence="News Commentary v18.1: WMT's training data, for research; the articles are Project Syndicate's",
)
_OPUS_PLACE = {"repo_id": "Helsinki-NLP/opus-100", "filename": "en-zh/train-00000-of-00001.parquet"}
OPUS_100 = Download(
    name="opus-100.en-zh.train.parquet",
    url=hf_hub_url(**_OPUS_PLACE, repo_type="dataset", revision="805090dc28bf78897da9641cdf08b61287580df9"),
    licence="OPUS-100 (hub:Helsinki-NLP/opus-100:en-zh): none of its own; its many sources keep theirs",
)
DOWNLOADS = (*test_sets.DOWNLOADS, *TATOEBA.values(), NEWS_COMMENTARY, OPUS_100)

_LEFT_OUT = (
    "of the benchmark are left out: AI Challenger (1,600 lines of dev and test; only after registration), TVsub (half "
    "of train; for research only), and documentation, games, captions and Bible, which have no archive to fetch"
)


def build(shelf: Shelf, to: Path) -> None:
    """Write dev, test and train, each with the origin of its pairs. Raises: MtrainError."""
    say(_LEFT_OUT)
    files = shelf.files(DOWNLOADS)
    corpora: dict[str, Callable[[], Iterable[tuple[str, str]]]] = {
        "tatoeba": lambda: _tatoeba(*(files[name] for name in TATOEBA)),
        "news_commentary": lambda: _news_commentary(files[NEWS_COMMENTARY.name]),
        "opus100": lambda: _opus_100(files[OPUS_100.name]),
    }
    sets = [_folded(pair, pair.origin) for test in test_sets.read_all(files).values() for pair in test]
    pairs = [_folded(pair, name) for name, read in corpora.items() for pair in _read(name, read)]
    lists = {split: read_list(f"zh-en.{split}") for split in ("dev", "test")}
    found = _find({mark for recorded in lists.values() for mark, _ in recorded}, (*sets, *pairs))
    for split, recorded in lists.items():
        chosen = [found[mark]._replace(origin=origin) for mark, origin in recorded if mark in found]
        _tell(split, [origin for _, origin in recorded], chosen)
        write_lines(to, split, test_sets.LANGUAGES, chosen, origin="source")
    held_out = HeldOut((*found.values(), *sets), sentence_key)
    write_train(to, (*test_sets.LANGUAGES, "source"), _train(pairs, held_out))


def _find(marks: set[str], pairs: Iterable[Pair]) -> dict[str, Pair]:
    """Return those of the pairs that have these keys."""
    by_key = ((key(pair.source, pair.target), pair) for pair in pairs)
    return {mark: pair for mark, pair in by_key if mark in marks}


def _folded(pair: tuple[str, ...], origin: str) -> Pair:
    return Pair(fold(pair[0]), fold(pair[1]), origin)


def _tell(split: str, recorded: Iterable[str], chosen: list[Pair]) -> None:
    found = Counter(pair.origin for pair in chosen)
    for origin, expected in Counter(recorded).items():
        line = f"{split}: {found[origin]:,} of {expected:,} {origin}"
        (say if found[origin] == expected else warn)(line)


def _read(name: str, read: Callable[[], Iterable[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    try:
        yield from progress(read(), f"reading {name}", unit="pairs")
    except (OSError, EOFError, zlib.error, ValueError, LookupError, pa.ArrowException) as error:
        raise MtrainError(f"{name} cannot be read: {error!s:.200}. Delete its files and run this again") from error


def _tatoeba(chinese: Path, english: Path, links: Path) -> Iterator[tuple[str, str]]:
    """Give the linked sentences: a Chinese one comes with each of its translations."""
    linked = [line.split("\t")[:2] for line in _tsv(links)]
    sources = _sentences(chinese, {link[0] for link in linked})
    targets = _sentences(english, {link[1] for link in linked})
    return ((sources[source], targets[target]) for source, target in linked if source in sources and target in targets)


def _sentences(file: Path, wanted: set[str]) -> dict[str, str]:
    rows = (line.split("\t") for line in _tsv(file))
    return {row[0]: row[2] for row in rows if row[0] in wanted}


def _tsv(file: Path) -> Iterator[str]:
    with bz2.open(file, "rt", encoding="utf-8", newline="\n") as lines:
        yield from (line.removesuffix("\n") for line in lines)


def _news_commentary(file: Path) -> Iterator[tuple[str, str]]:
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            english, tab, chinese = line.removesuffix("\n").partition("\t")
            if tab:
                yield chinese, english


def _opus_100(file: Path) -> Iterator[tuple[str, str]]:
    for batch in pq.ParquetFile(file).iter_batches(columns=["translation"]):
        for row in batch.column(0).to_pylist():
            yield row["zh"], row["en"]


def _train(pairs: list[Pair], held_out: HeldOut) -> list[Pair]:
    sieve = Sieve()
    rules: dict[str, Rule] = {
        "fewer than 2 Chinese characters, or no Latin letter": _not_both,
        "over 350 or 900 characters": lambda pair: len(pair.source) > 350 or len(pair.target) > 900,
        "characters 1 to less than 0.5 or more than 12": _ratio,
        "duplicates": seen_before(lambda pair: (sentence_key(pair.source), sentence_key(pair.target))),
        "a side is held out": held_out.has_side_of,
        "nearly a held-out source": held_out.nearly_has_source_of,
    }
    train = mixed(sieve.keep(progress(pairs, "cleaning", len(pairs), "pairs"), rules))
    sieve.tell(len(pairs), len(train))
    return train


def _ratio(pair: Pair) -> bool:
    return not 0.5 <= len(pair.target) / len(pair.source) <= 12


def _not_both(pair: Pair) -> bool:
    return len(han(pair.source)) < 2 or not any("a" <= letter <= "z" for letter in pair.target.casefold())
