r"""Where pairs come from: two aligned text files, TSV, JSONL, parquet, or a data set of the hub.

Text is read strictly: only "\n" ends a line, and bytes that are not UTF-8 are an error that names the line.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from itertools import repeat
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from mtrain.config.schema import CorpusConfig
from mtrain.config.shipped import expand_home, find_data
from mtrain.console import say
from mtrain.corpus.lines import one_line
from mtrain.corpus.tables import Row, hub_pairs, parquet_pairs
from mtrain.errors import CorpusError, MtrainError

Split = Literal["train", "dev", "test"]
Side = Literal["source", "target"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")
SIDES: tuple[Side, ...] = ("source", "target")

# How many rows there are, and the rows.
Rows = tuple[int, Iterator[Row]]

_BLOCK_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_HUB = "hub:"


class Pair(NamedTuple):
    """A line of text, its translation, and what it belongs to, such as its book; empty: nothing."""

    source: str
    target: str
    group: str = ""


class Pairs:
    """The pairs of one split, to be read once; `mended` counts the lines in which a stray control became a space."""

    def __init__(self, total: int, rows: Iterable[Row]) -> None:
        self.total = total
        self.mended = 0
        self._rows = rows

    def __iter__(self) -> Iterator[Pair]:
        for source, target, group in self._rows:
            pair = Pair(one_line(source), one_line(target), one_line(group))
            self.mended += (pair.source is not source) + (pair.target is not target)
            yield pair


def entries(corpus: CorpusConfig, split: Split) -> tuple[str, ...]:
    """Return what the config names for a split; empty where the split is to be taken out of train."""
    return {"train": corpus.train, "dev": corpus.dev, "test": corpus.test}[split]


def input_files(corpus: CorpusConfig, split: Split) -> list[Path]:
    """Return the local files that a split is read from; none for a data set that the hub keeps.

    Raises: CorpusError where one is missing.
    """
    root = find_data(corpus.root)
    names = entries(corpus, split)
    if _is_hub(names):
        folder = root / names[0].removeprefix(_HUB).split(":")[0]
        return sorted(file for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else []
    return [_existing(root, name, split) for name in names]


def read_pairs(corpus: CorpusConfig, split: Split) -> Pairs:
    """Return the pairs of a split, one at least. Raises: CorpusError here, or while they are read."""
    pairs = Pairs(*_rows(corpus, split))
    if not pairs.total:
        raise CorpusError(f"corpus.{split}: {', '.join(entries(corpus, split))} holds not a single pair")
    return pairs


def _rows(corpus: CorpusConfig, split: Split) -> Rows:
    names = entries(corpus, split)
    if _is_hub(names):
        return hub_pairs(names[0].removeprefix(_HUB), find_data(corpus.root), split, corpus)
    files = input_files(corpus, split)
    for file in files:
        if file.stat().st_size == 0:
            raise CorpusError(f"{file}: the file is empty")
    if len(files) > 1:
        return _text_pairs(*files)
    if files[0].suffix not in _FORMS:
        raise CorpusError(
            f"corpus.{split}: {files[0].name} alone is no parallel text. Give two aligned text files, one "
            f"{', '.join(_FORMS)} file, or {_HUB}NAME"
        )
    return _FORMS[files[0].suffix](files[0], corpus)


def decode_lines(stream: BinaryIO, name: str, error: type[MtrainError] = CorpusError) -> Iterator[str]:
    r"""Give the lines of a UTF-8 stream without "\n" and the "\r" of CRLF, and without a byte order mark.

    Raises: `error`, naming the line and the byte that cannot be decoded.
    """
    for number, line in enumerate(stream, start=1):
        raw = line.removeprefix(_BOM) if number == 1 else line
        try:
            yield raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as found:
            encoding = "utf-16" if number == 1 and raw.startswith(_UTF_16) else "gb18030"
            raise error(
                f"{name}:{number}: not UTF-8 (byte 0x{found.object[found.start]:02x} at column {found.start + 1}): "
                f"convert it, e.g. iconv -f {encoding} -t utf-8"
            ) from found


def read_lines(file: Path) -> Iterator[str]:
    """Give the lines of a file. Raises: CorpusError as `decode_lines`."""
    with file.open("rb") as stream:
        yield from decode_lines(stream, str(file))


def count_lines(file: Path) -> int:
    """Return how many lines a file has; a last one without its line feed counts."""
    lines, last = 0, b"\n"
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            lines += block.count(b"\n")
            last = block[-1:]
    return lines + (last != b"\n")


def _is_hub(names: tuple[str, ...]) -> bool:
    return len(names) == 1 and names[0].startswith(_HUB)


def _existing(root: Path, name: str, split: Split) -> Path:
    file = root / expand_home(name)
    if file.is_file():
        return file
    if file.is_dir():
        raise CorpusError(f"corpus.{split}: {file} is a folder. Name the files in it")
    if not root.is_dir():
        raise CorpusError(f"corpus.root: there is no folder {root.absolute()} (to look for corpus.{split}: {name} in)")
    there = [other.name for other in file.parent.iterdir()] if file.parent.is_dir() else []
    near = get_close_matches(file.name, there, n=3)
    cure = f"Did you mean {' or '.join(near)}?" if near else "Set corpus.root to the folder of your corpus."
    raise CorpusError(f"corpus.{split}: there is no file {name} in {root.absolute()} (corpus.root). {cure}")


def _text_pairs(source: Path, target: Path, group: Path | None = None) -> Rows:
    files = (source, target, group) if group else (source, target)
    for file in files:
        next(read_lines(file))  # of UTF-16, which shows in the first line, even the number of lines would be wrong
    lines = [count_lines(file) for file in files]
    for file, count in zip(files, lines, strict=True):
        if count != lines[0]:
            what = "group" if file == group else "translation"
            raise CorpusError(
                f"{source} has {lines[0]:,} lines, but {file} has {count:,}: "
                f"line N of one must be the {what} of line N of the other"
            )
    groups = read_lines(group) if group else repeat("", lines[0])
    return lines[0], zip(read_lines(source), read_lines(target), groups, strict=True)


def _tsv_pairs(file: Path, corpus: CorpusConfig) -> Rows:
    head = next(read_lines(file)).split("\t")
    names = (corpus.source_column or corpus.source_language, corpus.target_column or corpus.target_language)
    if all(name in head for name in names):
        say(f"{file}: reading the columns {names[0]} and {names[1]}")
        places = [head.index(name) for name in names]
        if corpus.group_column in head:
            places.append(head.index(corpus.group_column))
        elif corpus.group_column:
            places.append(_tsv_position(file, head, corpus.group_column, "corpus.group_column"))
        return count_lines(file) - 1, _tsv_rows(file, places, first_row=2)
    columns = (corpus.source_column or "1", corpus.target_column or "2", corpus.group_column)
    wanted = dict(zip(("source", "target", "group"), columns, strict=True))
    places = [_tsv_position(file, head, column, f"corpus.{key}_column") for key, column in wanted.items() if column]
    say(f"{file}: reading columns {places[0] + 1} and {places[1] + 1}, line 1 included, for it names no columns")
    return count_lines(file), _tsv_rows(file, places, first_row=1)


def _tsv_position(file: Path, head: list[str], column: str, key: str) -> int:
    if column.isdecimal() and int(column) > 0:
        return int(column) - 1
    raise CorpusError(f"{file}:1: no column {column} ({key}); there are: {', '.join(head)}")


def _tsv_rows(file: Path, places: list[int], first_row: int) -> Iterator[Row]:
    needed = max(places) + 1
    source, target, *group = places
    for number, line in enumerate(read_lines(file), start=1):
        cells = line.split("\t")
        if len(cells) < needed:
            found = f"{len(cells)} columns between tabs" if line else "an empty line"
            raise CorpusError(f"{file}:{number}: found {found}, column {needed} is needed")
        if number >= first_row:
            yield cells[source], cells[target], cells[group[0]] if group else ""


def _jsonl_pairs(file: Path, corpus: CorpusConfig) -> Rows:
    source = corpus.source_column or corpus.source_language
    target = corpus.target_column or corpus.target_language
    return count_lines(file), _jsonl_rows(file, source, target, corpus.group_column)


def _jsonl_rows(file: Path, source: str, target: str, group: str) -> Iterator[Row]:
    for number, line in enumerate(read_lines(file), start=1):
        if not line.strip():
            raise CorpusError(f"{file}:{number}: found an empty line, a JSON object is needed")
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise CorpusError(f"{file}:{number}: not JSON ({error.msg} at column {error.colno})") from error
        place = f"{file}:{number}"
        yield _json_text(row, source, place), _json_text(row, target, place), group and _json_text(row, group, place)


def _json_text(row: object, key: str, place: str) -> str:
    if not isinstance(row, dict):
        raise CorpusError(f"{place}: expects a JSON object with the key {key}, found {json.dumps(row)[:40]}")
    # The hub's own form of parallel text, {"translation": {"zh": …, "en": …}}, is read as well.
    cells = row["translation"] if key not in row and isinstance(row.get("translation"), dict) else row
    if key not in cells:
        raise CorpusError(
            f"{place}: no key {key} (corpus.source_column, target_column, group_column); there are: {', '.join(cells)}"
        )
    text = "" if cells[key] is None else cells[key]  # as in parquet
    if not isinstance(text, str):
        raise CorpusError(f"{place}: {key} must be text, found {json.dumps(text)[:40]}")
    return text


_FORMS: dict[str, Callable[[Path, CorpusConfig], Rows]] = {
    ".tsv": _tsv_pairs,
    ".jsonl": _jsonl_pairs,
    ".parquet": parquet_pairs,
}
