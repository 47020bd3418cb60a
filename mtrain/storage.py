"""Writing so that a kill at any moment leaves either the old thing or the new one, never half of it."""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from mtrain.console import say
from mtrain.errors import BusyError, WorkerError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

# Names of open files, which may well be those of a disk, as where a shell has redirected stdout.
_OPEN = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")


@contextlib.contextmanager
def folder_written_whole(folder: Path, key: str = "") -> Iterator[Path]:
    """Give a folder beside `folder` to write into; at the end it takes its place.

    On an exception what was there before stays as it was. What a kill leaves behind half-written has a hidden name,
    which no reader looks at. Only one process may write a folder at a time (see `held_alone`). It is empty, but where
    a kill, Ctrl-C or a full disk has ended the making of a folder with the same `key`: then what was made is there.
    """
    partial, old = _hidden(folder, "partial"), _hidden(folder, "old")
    if old.exists() and not folder.exists():  # killed between the two renames below
        old.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    made_with = _hidden(folder, "made-with")
    if not (key and made_with.is_file() and made_with.read_text("utf-8") == key):
        shutil.rmtree(partial, ignore_errors=True)
        made_with.unlink(missing_ok=True)
    if key:
        write_whole(made_with, key)
    partial.mkdir(parents=True, exist_ok=True)
    try:
        yield partial
        for file in partial.iterdir():
            _flush(file)
        _flush(partial)
    except BaseException as error:
        # A full disk or too small a memory can be mended, as a kill can: what was made is as good as before.
        mendable = not isinstance(error, Exception) or isinstance(error, (WorkerError, OSError, MemoryError))
        if not (key and mendable):
            shutil.rmtree(partial, ignore_errors=True)
            made_with.unlink(missing_ok=True)
        raise
    made_with.unlink(missing_ok=True)
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    _flush(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def standing_folder(folder: Path) -> Path:
    """Return where a folder of `folder_written_whole` is to be read: between its two renames, that is the old one."""
    if folder.exists():
        return folder
    old = _hidden(folder, "old")
    return old if old.exists() else folder


@contextlib.contextmanager
def held_alone(folder: Path) -> Iterator[None]:
    """Keep a second process from working on the same folder. Raises: BusyError where one already does.

    The lock goes with the process, however it ends; systems without `fcntl` go without.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _hidden(folder, "lock").open("a") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BusyError(f"{folder}: another mtrain is working here. Wait for it, or end it.") from None
        yield


def write_whole(file: Path, text: str) -> None:
    """Write a text file beside, flush it to the disk, then rename it into place."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = _hidden(file, "partial")
    partial.write_text(text, encoding="utf-8", newline="\n")
    _flush(partial)
    partial.replace(file)
    _flush(file.parent)


class Journal:
    """What of a long work is done: each finished step with its figures, in a file that a kill leaves whole."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._steps: dict[str, Any] = json.loads(file.read_bytes()) if file.is_file() else {}

    def done(self, step: str) -> Any:
        """Return the figures of a step that is done, None where it is not."""
        return self._steps.get(step)

    def note(self, step: str, figures: object) -> None:
        """Note that a step is done; its figures are such as JSON can hold."""
        self._steps[step] = figures
        write_whole(self._file, json.dumps(self._steps, ensure_ascii=False))

    def end(self) -> None:
        """Remove the file: the work is done."""
        self._file.unlink(missing_ok=True)


@contextlib.contextmanager
def replaced_when_done(file: Path) -> Iterator[TextIO]:
    """Give a stream into a text file beside `file`, whose place it takes when all is written.

    On an exception it stays there, and that is said. What is no file, a pipe or a device, is written itself, and so is
    what a process has open; a link stays one.
    """
    if (file.exists() and not file.is_file()) or str(file.absolute()).startswith(_OPEN):
        with file.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    file = file.resolve()
    partial = file.with_name(file.name + ".partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
    except BaseException:
        say(f"what was written until then is in {partial}")
        raise
    partial.replace(file)


def sha256(file: Path) -> str:
    """Return the hash of a file's contents."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _hidden(path: Path, purpose: str) -> Path:
    """Return a name beside `path` that no person chooses for a file of his own."""
    return path.with_name(f".{path.name}.mtrain-{purpose}")


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
