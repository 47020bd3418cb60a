"""Pairs in text files: two aligned ones, TSV, CSV and JSONL."""

import csv
import json
from collections.abc import Callable, Iterator
from itertools import islice, repeat
from pathlib import Path

from mtrain.config.schema import CorpusConfig
from mtrain.console import say, warn
from mtrain.corpus.tables import Row, Rows, wanted_columns
from mtrain.corpus.text_files import count_lines, read_lines
from mtrain.errors import CorpusError

# What gives the records of a table, each with the number of the line that it begins in.
_Reader = Callable[[Path], Iterator[tuple[int, list[str]]]]


def aligned_pairs(source: Path, target: Path, group: Path | None = None) -> Rows:
    """Return how many lines two aligned files have, and their pairs; a third one has the group of each."""
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


def tsv_pairs(file: Path, corpus: CorpusConfig) -> Rows:
    """Return how many pairs a TSV file has, and the pairs."""
    return _table_pairs(file, corpus, _tsv_records, exactly=False)


def csv_pairs(file: Path, corpus: CorpusConfig) -> Rows:
    """Return about how many pairs a CSV file has, for a cell can have several lines, and the pairs.

    Source: RFC 4180, but for line ends, which may be of either kind.
    """
    return _table_pairs(file, corpus, _csv_records, exactly=True)


def _table_pairs(file: Path, corpus: CorpusConfig, read: _Reader, exactly: bool) -> Rows:
    _, head = next(read(file))
    width = len(head) if exactly else 0
    wanted = wanted_columns(corpus)
    if wanted["source"] in head and wanted["target"] in head:
        say(f"{file}: reading the columns {wanted['source']} and {wanted['target']}")
        places = [_place(file, head, name, key) for key, name in wanted.items()]
        records = islice(read(file), 1, None)
        told = records if exactly else _with_surplus_told(file, records, len(head))
        return count_lines(file) - 1, _table_rows(file, told, places, width)
    columns = {**wanted, "source": corpus.source_column or "1", "target": corpus.target_column or "2"}
    places = [_position(file, head, name, key) for key, name in columns.items()]
    say(f"{file}: reading columns {places[0] + 1} and {places[1] + 1}, line 1 included, for it names no columns")
    return count_lines(file), _table_rows(file, read(file), places, width)


def _place(file: Path, head: list[str], column: str, key: str) -> int:
    return head.index(column) if column in head else _position(file, head, column, key)


def _position(file: Path, head: list[str], column: str, key: str) -> int:
    if column.isdecimal() and int(column) > 0:
        return int(column) - 1
    raise CorpusError(f"{file}:1: no column {column} (corpus.{key}_column); there are: {', '.join(head)}")


def _with_surplus_told(
    file: Path, records: Iterator[tuple[int, list[str]]], width: int
) -> Iterator[tuple[int, list[str]]]:
    """Give the records, and warn at their end of those with more cells than there are names: a tab within a text?"""
    longer = first = 0
    for number, cells in records:
        if any(cells[width:]):
            longer, first = longer + 1, first or number
        yield number, cells
    if longer:
        warn(
            f"{file}:{first}: {longer:,} lines, of which this is the first, have more than the {width} columns that "
            "line 1 names. What is behind these is not read; a text with a tab in it is cut there"
        )


def _table_rows(
    file: Path, records: Iterator[tuple[int, list[str]]], places: list[int], exactly: int
) -> Iterator[Row]:
    needed = max(places) + 1
    source, target, *group = places
    for number, cells in records:
        if len(cells) < needed:
            between = "commas" if exactly else "tabs"
            found = f"{len(cells)} columns between {between}" if any(cells) else "an empty line"
            raise CorpusError(f"{file}:{number}: found {found}, column {needed} is needed")
        if exactly and len(cells) != exactly:
            raise CorpusError(
                f"{file}:{number}: found {len(cells)} columns, line 1 has {exactly}. A cell with a comma in it must "
                'stand between quotes ("…")'
            )
        yield cells[source], cells[target], cells[group[0]] if group else ""


def _tsv_records(file: Path) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(read_lines(file), start=1):
        yield number, line.split("\t")


def _csv_records(file: Path) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader((line + "\n" for line in read_lines(file)), strict=True)
    while True:
        begin = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise CorpusError(
                f"{file}:{begin}: the record that begins here is not CSV ({error}). A cell with a comma, a quote or a "
                'line end in it stands between quotes ("…"), and each quote inside is doubled'
            ) from error
        if cells is None:
            return
        yield begin, cells


def jsonl_pairs(file: Path, corpus: CorpusConfig) -> Rows:
    """Return how many pairs a JSONL file has, and the pairs."""
    return count_lines(file), _jsonl_rows(file, list(wanted_columns(corpus).values()))


def _jsonl_rows(file: Path, keys: list[str]) -> Iterator[Row]:
    source, target, *group = keys
    for number, line in enumerate(read_lines(file), start=1):
        if not line.strip():
            raise CorpusError(f"{file}:{number}: found an empty line, a JSON object is needed")
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise CorpusError(f"{file}:{number}: not JSON ({error.msg} at column {error.colno})") from error
        except (ValueError, RecursionError) as error:
            what = "brackets in brackets without end" if isinstance(error, RecursionError) else "a number far too long"
            raise CorpusError(f"{file}:{number}: found {what}, a JSON object of texts is needed") from error
        place = f"{file}:{number}"
        belongs = _json_cell(row, group[0], place) if group else ""
        yield (
            _json_text(row, source, place),
            _json_text(row, target, place),
            str(belongs) if isinstance(belongs, int) else _text(belongs, group[0] if group else "", place),
        )


def _json_text(row: object, key: str, place: str) -> str:
    return _text(_json_cell(row, key, place), key, place)


def _text(cell: object, key: str, place: str) -> str:
    if cell is None:  # as in parquet
        return ""
    if not isinstance(cell, str):
        raise CorpusError(f"{place}: {key} must be text, found {json.dumps(cell)[:40]}")
    return cell


def _json_cell(row: object, key: str, place: str) -> object:
    if not isinstance(row, dict):
        raise CorpusError(f"{place}: expects a JSON object with the key {key}, found {json.dumps(row)[:40]}")
    # The hub's own form of parallel text, {"translation": {"zh": …, "en": …}}, is read as well.
    cells = row["translation"] if key not in row and isinstance(row.get("translation"), dict) else row
    if key not in cells:
        raise CorpusError(
            f"{place}: no key {key} (corpus.source_column, target_column, group_column); there are: {', '.join(cells)}"
        )
    found: object = cells[key]
    return found
