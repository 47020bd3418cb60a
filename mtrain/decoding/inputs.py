"""What is to be translated: the lines of files, of all files in folders, or of stdin."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from mtrain.config.forms import uncompressed
from mtrain.corpus.text_files import count_lines, decode_lines, open_text
from mtrain.errors import InputError


class Line(NamedTuple):
    """A line, where it stands, in which of several texts, what its translation has to begin with, and its tag."""

    text: str
    place: str
    of_text: int = 0
    prefix: str = ""
    tag: str = ""


@dataclass(frozen=True)
class Text:
    """A file, or stdin where it has no path; `name` is that of its translation in a folder, which is not compressed."""

    path: Path | None
    name: Path


STDIN = Text(None, Path("stdin"))


def find_texts(given: Sequence[Path]) -> list[Text]:
    """Return the files given and, of folders, all files in them and below, in the order of their names.

    Hidden ones are left out. Raises: InputError for what is not there, and for a folder without files.
    """
    return [text for path in given for text in _texts(path)]


def _texts(path: Path) -> list[Text]:
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    if not path.is_dir():
        return [Text(path, Path(uncompressed(path.name)))]
    names = sorted(file.relative_to(path) for file in path.rglob("*") if not file.is_dir())
    shown = [name for name in names if not any(part.startswith(".") for part in name.parts)]
    seen = [Text(path / name, Path(uncompressed(str(name)))) for name in shown]
    if not seen:
        raise InputError(f"{path}: there is no file in this folder")
    return seen


def count_all(texts: Sequence[Text]) -> int | None:
    """Return how many lines there are; None where that shows only in the end."""
    files = [text.path for text in texts if text.path is not None and text.path.is_file()]
    return sum(map(count_lines, files)) if len(files) == len(texts) else None


def read_all(texts: Sequence[Text]) -> Iterator[Line]:
    """Give the lines of all texts, one after the other, decompressed.

    Raises: InputError naming the line that is not UTF-8, or the file that is damaged.
    """
    for index, text in enumerate(texts):
        with nullcontext(sys.stdin.buffer) if text.path is None else open_text(text.path, InputError) as stream:
            # The name of a file may be any bytes; in messages and reports it is text.
            place = str(text.path or text.name).encode("utf-8", "backslashreplace").decode()
            for number, line in enumerate(decode_lines(stream, place, InputError), start=1):
                yield Line(line, f"{place}:{number}", index)


def with_prefixes(lines: Iterator[Line], file: Path) -> Iterator[Line]:
    """Give each line the beginning of its translation. Raises: InputError where the file has fewer lines, or more."""
    for line, prefix in zip_longest(lines, read_all(find_texts([file]))):
        if line is None or prefix is None:
            raise InputError(f"{file}: has {'more' if line is None else 'fewer'} lines than there are to translate")
        yield line._replace(prefix=prefix.text)
