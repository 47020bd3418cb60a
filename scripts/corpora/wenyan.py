"""Classical and modern Chinese: the benchmark's splits out of the NiuTrans Classical-Modern corpus.

What is held out was recorded pair by pair, as hashes. Which chapters it was drawn from follows from that, and these
stay out of train as wholes.
"""

import tarfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from corpora.downloads import Download, Shelf, digest
from corpora.leaks import HeldOut
from corpora.rules import Rule, Sieve, mixed, seen_before
from corpora.splits import read_list, write_lines, write_train
from corpora.text import Pair, fold, han, key

from mtrain.console import progress, say, warn
from mtrain.errors import MtrainError

# The state of March 2023: 972,467 pairs of 97 books. Before it there were quotation marks, where now there are spaces.
_COMMIT = "7d6ae3e646bc6b712b93a7e89224cec118397515"
ARCHIVE = Download(
    name=f"Classical-Modern-{_COMMIT[:12]}.tar.gz",
    url=f"https://github.com/NiuTrans/Classical-Modern/archive/{_COMMIT}.tar.gz",
    licence="NiuTrans Classical-Modern: MIT, (c) 2022 NiuTrans Open Source; 数据来源.txt says where chapters are from",
)
DOWNLOADS = (ARCHIVE,)

_BILINGUAL = "双语数据"
_SIDES = ("source.txt", "target.txt")
_LANGUAGES = ("lzh", "zh")
_ABSENT_BOOKS = {"论语", "孟子", "孙子兵法", "梦溪笔谈"}
_SHA256 = {
    "dev.lzh": "cf24681bd70c8cdf18210096083d45e98350844cca9baafbdd3400ff6ce18507",
    "dev.zh": "274dde813cb9277f0a06278ffbe95fe07a50a1577c92efdb1c3afa7a0ac01a7c",
    "dev.book": "47980c3f12a2aa42598536ff011439483e73f22967ea1a14e63d9b936eed1867",
    "test.lzh": "7462d58d164f85a8ff7d02828ec7a6e5ebf61d0767fb1a551ab1c6673c641ca1",
    "test.zh": "b0e8ff47354dc139eabafe8508cd1eb27068bd13e14ae376a626b6e5cd7066c0",
    "test.book": "0a2703256d36614a100d85f5041a3fb34a528fb4e94657371dfd82e8d4be4b12",
}
_BENCHMARK_TRAIN_PAIRS = 926_525

# A chapter's folder below 双语数据, and its files' bytes by name.
_Chapters = dict[str, dict[str, bytes]]


def build(shelf: Shelf, to: Path) -> None:
    """Write dev, test (exactly the benchmark's) and train (by the same rules). Raises: MtrainError."""
    chapters = _read(shelf)
    names = progress(sorted(chapters), "reading chapters", len(chapters))
    raw = {name: list(_pairs(name, chapters[name])) for name in names}
    lists = {split: [mark for mark, _ in read_list(f"wenyan.{split}")] for split in ("dev", "test")}
    held_out, its_chapters = _held_out({recorded for split in lists.values() for recorded in split}, raw)
    for split, recorded in lists.items():
        write_lines(to, split, _LANGUAGES, [held_out[pair] for pair in recorded], origin="book")
    _verify(to)
    rest = [pair for name, pairs in raw.items() if name not in its_chapters for pair in pairs]
    train = _train(rest, HeldOut(held_out.values(), han), sum(map(len, raw.values())), len(its_chapters))
    write_train(to, (*_LANGUAGES, "book"), train)
    say(f"{len(train):,} pairs in train; the benchmark's own has {_BENCHMARK_TRAIN_PAIRS:,}")


def _read(shelf: Shelf) -> _Chapters:
    """Read the corpus from its repository's folder, or from the archive."""
    inside = (folder for folder in (shelf.folder, shelf.folder / _BILINGUAL) if folder.name == _BILINGUAL)
    folder = next((folder for folder in inside if folder.is_dir()), None)
    if folder is None and not shelf.may_fetch and not (shelf.folder / ARCHIVE.name).is_file():
        raise MtrainError(
            f"{shelf.folder} has neither {_BILINGUAL}/ (a clone, or the archive unpacked) nor {ARCHIVE.name} "
            f"(from {ARCHIVE.url})"
        )
    chapters = _from_folder(folder) if folder else _from_archive(shelf.files([ARCHIVE])[ARCHIVE.name])
    if not chapters:
        place = folder or shelf.folder / ARCHIVE.name
        raise MtrainError(f"{place} has no {_BILINGUAL}/BOOK/CHAPTER/{_SIDES[0]}: is it the right one?")
    return chapters


def _from_folder(folder: Path) -> _Chapters:
    chapters: _Chapters = defaultdict(dict)
    for file in progress(folder.rglob("*.txt"), f"reading {folder}", unit="files"):
        if file.name in _SIDES:
            chapters[file.parent.relative_to(folder).as_posix()][file.name] = file.read_bytes()
    return chapters


def _from_archive(archive: Path) -> _Chapters:
    chapters: _Chapters = defaultdict(dict)
    try:
        with tarfile.open(archive, "r|gz") as stream:
            for member in progress(stream, f"reading {archive.name}", unit="files"):
                folder, _, name = member.name.rpartition("/")
                _, found, chapter = folder.partition(f"/{_BILINGUAL}/")
                content = stream.extractfile(member) if found and name in _SIDES else None
                if content:
                    chapters[chapter][name] = content.read()
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise MtrainError(f"{archive} cannot be read: {error}. Delete it and run this again") from error
    return chapters


def _pairs(chapter: str, files: dict[str, bytes]) -> Iterator[Pair]:
    """Give a chapter's pairs; a chapter whose sides cannot belong together is passed over with a warning."""
    sides = [_lines(chapter, name, files.get(name, b"")) for name in _SIDES]
    if len(sides[0]) != len(sides[1]):
        warn(f"{chapter}: {len(sides[0])} sentences and {len(sides[1])} translations; the chapter is left out")
        return
    book = chapter.partition("/")[0]
    for source, target in zip(*sides, strict=True):
        yield Pair(fold(source), fold(target), book)


def _lines(chapter: str, name: str, content: bytes) -> list[str]:
    try:
        return content.decode("utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise MtrainError(f"{chapter}/{name}: not UTF-8 at byte {error.start}; is this the right corpus?") from error


def _held_out(recorded: set[str], raw: dict[str, list[Pair]]) -> tuple[dict[str, Pair], set[str]]:
    """Return the recorded pairs by their keys, and the chapters that were held out for them.

    A pair that stands in one chapter only tells that chapter; one that stands in several is taken from one of these.
    """
    places: dict[str, dict[str, Pair]] = defaultdict(dict)
    for chapter, pairs in raw.items():
        for pair in pairs:
            if (mark := key(pair.source, pair.target)) in recorded:
                places[mark].setdefault(chapter, pair)
    if missing := len(recorded) - len(places):
        raise MtrainError(
            f"{missing:,} of the {len(recorded):,} sentences of dev and test are not in this corpus: it is not that of "
            f"commit {_COMMIT} of github.com/NiuTrans/Classical-Modern. Nothing was written"
        )
    chapters = {chapter for where in places.values() if len(where) == 1 for chapter in where}
    return {
        mark: next((pair for chapter, pair in where.items() if chapter in chapters), next(iter(where.values())))
        for mark, where in places.items()
    }, chapters


def _verify(to: Path) -> None:
    wrong = [name for name, published in _SHA256.items() if digest(to / name) != published]
    for name in wrong:
        warn(f"{to / name} differs from the benchmark's (sha256 {_SHA256[name]}): do not compare scores on it")
    if not wrong:
        say("dev and test are the benchmark's, byte by byte (sha256)")


def _train(pairs: list[Pair], held_out: HeldOut, read: int, chapters: int) -> list[Pair]:
    sieve = Sieve()
    rules: dict[str, Rule] = {
        f"books {' '.join(sorted(_ABSENT_BOOKS))}": lambda pair: pair.origin in _ABSENT_BOOKS,
        "fewer than 2 Chinese characters": lambda pair: min(len(han(pair.source)), len(han(pair.target))) < 2,
        "over 200 or 300 characters": lambda pair: len(pair.source) > 200 or len(pair.target) > 300,
        "Chinese characters 1 to more than 6, or more than 3 to 1": _ratio,
        "duplicates": seen_before(lambda pair: (han(pair.source), han(pair.target))),
        "a side is held out": held_out.has_side_of,
        "nearly a held-out source": held_out.nearly_has_source_of,
    }
    sieve.counts[f"{chapters:,} chapters of dev and test"] = read - len(pairs)
    train = mixed(sieve.keep(progress(pairs, "cleaning", len(pairs), "pairs"), rules))
    sieve.tell(read, len(train))
    return train


def _ratio(pair: Pair) -> bool:
    source, target = len(han(pair.source)), len(han(pair.target))
    return target > 6 * source or source > 3 * target
