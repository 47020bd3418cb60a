"""Where translations go: to stdout, into one file, or of each text into a file of its own."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from pathlib import Path
from typing import TextIO, TypeVar

from mtrain.decoding.inputs import Text
from mtrain.errors import InputError
from mtrain.storage import replaced_when_done

T = TypeVar("T")


def find_outputs(given: Sequence[Path], texts: Sequence[Text], output: Path | None) -> list[Path | None]:
    """Return where the translations go: one place for all texts, None for stdout, or a file for each.

    Each text gets a file of its own name in the folder `output` if that is a folder, or one was given to translate.
    Raises: InputError where files would get into each other's way.
    """
    folders = [path for path in given if path.is_dir()]
    if not folders and (output is None or not output.is_dir()):
        return [output]
    if output is None:
        raise InputError(f"{folders[0]}: is a folder; name one for its translations with --output")
    if not given:
        raise InputError(f"{output}: is a folder; name a file in it for the translation of stdin")
    if output.exists() and not output.is_dir():
        raise InputError(f"{output}: is a file; the translations of a folder need a folder")
    for folder in folders:
        if output.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{output}: is in the folder that is to be translated; name another one")
    named = Counter(text.name for text in texts)
    name, files = named.most_common(1)[0]
    if files > 1:
        raise InputError(f"{name}: {files} files have this name, and one translation would replace the other")
    return [output / text.name for text in texts]


def check_each_its_own(files: Iterable[Path | None]) -> None:
    """Raise: InputError where one file is named twice; what is no file, a pipe or a device, may be."""
    named = Counter(file.resolve() for file in files if file and (file.is_file() or not file.exists()))
    for file, times in named.items():
        if times > 1:
            raise InputError(f"{file}: --output, --report and --alignment cannot go into the same file; name another")


def each_in_its_place(
    items: Iterable[T], place_of: Callable[[T], int], outputs: Sequence[Path | None]
) -> Iterator[tuple[TextIO, int, T]]:
    """Give each item with the stream that it goes to and its number there, from 1.

    They come in the order of their places, some of which stay empty.

    A file that is there already is replaced when its last item has been written.
    """
    done = 0
    for place, of_place in groupby(items, place_of if len(outputs) > 1 else lambda _: 0):
        _leave_empty(outputs[done:place])
        with _opened(outputs[place]) as stream:
            for number, item in enumerate(of_place, start=1):
                yield stream, number, item
        done = place + 1
    _leave_empty(outputs[done:])


def _leave_empty(outputs: Sequence[Path | None]) -> None:
    for output in outputs:
        with _opened(output):
            pass


def _opened(output: Path | None) -> AbstractContextManager[TextIO]:
    return nullcontext(sys.stdout) if output is None else replaced_when_done(output)
