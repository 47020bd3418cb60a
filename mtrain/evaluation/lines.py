"""Text files to be scored: lines in, exactly as many lines out."""

from collections.abc import Sequence
from pathlib import Path

from mtrain.corpus.text_files import decode_lines
from mtrain.errors import InputError


def read_to_score(path: Path) -> list[str]:
    r"""Return the lines of a UTF-8 file, split at "\n" only and without the "\r" of CRLF; empty lines are kept.

    Raises: InputError naming the file, and the line that cannot be decoded.
    """
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    if path.is_dir():
        raise InputError(f"{path}: is a folder. Name a file in it")
    with path.open("rb") as stream:
        lines = list(decode_lines(stream, str(path), InputError))
    if not lines:
        raise InputError(f"{path}: the file is empty")
    return lines


def read_aligned(paths: Sequence[Path]) -> list[list[str]]:
    """Return the lines of files, or of pipes, that must be aligned, line by line.

    Raises: InputError naming two files of unequal length and both counts.
    """
    files = [read_to_score(path) for path in paths]
    for path, lines in zip(paths, files, strict=True):
        if len(lines) != len(files[0]):
            raise InputError(
                f"{paths[0]} has {len(files[0])} lines, but {path} has {len(lines)}; "
                "line N of one must belong to line N of the other"
            )
    return files
