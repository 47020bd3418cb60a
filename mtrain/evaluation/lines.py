"""Text files to be scored: lines in, exactly as many lines out."""

from collections.abc import Sequence
from pathlib import Path

from mtrain.errors import InputError


def read_lines(path: Path) -> list[str]:
    r"""Return the lines of a UTF-8 file, split at "\n" only and without the "\r" of CRLF; empty lines are kept.

    Raises: InputError naming the file, and the line that cannot be decoded.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    if not content:
        raise InputError(f"{path}: the file is empty")
    return [
        _decode(line, f"{path}:{number}").removesuffix("\r")
        for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), start=1)
    ]


def _decode(line: bytes, place: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte 0x{line[error.start]:02x} at position {error.start + 1}"
        raise InputError(f"{place}: not UTF-8 text, {found}; save the file as UTF-8") from error


def read_aligned(paths: Sequence[Path]) -> list[list[str]]:
    """Return the lines of files that must be aligned, line by line.

    Raises: InputError naming two files of unequal length and both counts.
    """
    files = [read_lines(path) for path in paths]
    for path, lines in zip(paths, files, strict=True):
        if len(lines) != len(files[0]):
            raise InputError(
                f"{paths[0]} has {len(files[0])} lines, but {path} has {len(lines)}; "
                "line N of one must belong to line N of the other"
            )
    return files
