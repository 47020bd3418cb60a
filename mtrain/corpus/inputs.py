"""What a corpus was read from, so that a change of it is noticed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mtrain.config.schema import CorpusConfig
from mtrain.console import say
from mtrain.corpus.sources import SPLITS, Split, input_files
from mtrain.storage import sha256

_SAID_FROM_BYTES = 1 << 28  # about a second


@dataclass(frozen=True)
class Input:
    """One file of a split, or a data set of the hub, of which only the name can be told."""

    split: Split
    path: str
    size: int = 0
    modified_ns: int = 0
    sha256: str = ""


def describe_inputs(corpus: CorpusConfig) -> list[Input]:
    """Return what the splits would be read from now. Raises: CorpusError where a file is missing."""
    return [
        Input(split, name) if file is None else Input(split, name, *_stamp(file), _hash(file))
        for split, name, file in _inputs(corpus)
    ]


def changed_inputs(recorded: list[Input], corpus: CorpusConfig) -> list[str]:
    """Return a phrase for each split that would be read from other contents now than those recorded.

    A file is read again only where its place, size or time is another one; moved or copied, it has not changed.
    """
    changes = []
    for split in SPLITS:
        old = [one for one in recorded if one.split == split]
        new = [(name, file) for one, name, file in _inputs(corpus) if one == split]
        if len(old) != len(new):
            changes.append(f"corpus.{split} names other files")
        both = zip(old, new, strict=False)
        changes += [f"{name} has changed" for one, (name, file) in both if not _same(one, name, file)]
    return changes


def _inputs(corpus: CorpusConfig) -> Iterator[tuple[Split, str, Path | None]]:
    for split in SPLITS:
        yield from ((split, name, file) for name, file in input_files(corpus, split))


def _same(recorded: Input, name: str, file: Path | None) -> bool:
    if file is None:
        return recorded == Input(recorded.split, name)
    if (recorded.path, recorded.size, recorded.modified_ns) == (name, *_stamp(file)):
        return True
    return recorded.size == file.stat().st_size and recorded.sha256 == _hash(file)


def _hash(file: Path) -> str:
    if file.stat().st_size >= _SAID_FROM_BYTES:
        say(f"reading all of {file}, to know it again ...")
    return sha256(file)


def _stamp(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns
