"""What the person at the terminal sees: lines and progress bars, all on stderr (stdout is for results); tables."""

import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from tqdm import tqdm

T = TypeVar("T")

_silent = False

# A bar appears only on work that lasts: shorter steps would flicker.
_SECONDS_BEFORE_A_BAR = 2.0


def be_silent() -> None:
    """Print nothing from now on, because another process of the same run does."""
    global _silent  # noqa: PLW0603  there is one terminal
    _silent = True


def say(line: str = "") -> None:
    """Print one line to stderr without breaking a bar that is being drawn."""
    if _silent:
        return
    tqdm.write(line, file=sys.stderr)
    sys.stderr.flush()


def complain(line: str) -> None:
    """Print one line of an error, in whatever process it arose."""
    tqdm.write(f"error: {line}", file=sys.stderr)
    sys.stderr.flush()


def warn(line: str) -> None:
    """Print one line that the reader should act on."""
    say(f"warning: {line}")


def _one(_item: object) -> int:
    return 1


def progress(
    items: Iterable[T],
    label: str,
    total: int | None = None,
    unit: str = "it",
    size: Callable[[T], int] = _one,
) -> Iterator[T]:
    """Pass `items` through, drawing a bar with speed and time left once two seconds have gone by.

    `size` tells how many units an item is.
    """
    with progress_bar(label, total, unit) as bar:
        for item in items:
            yield item
            bar.update(size(item))


def progress_bar(label: str, total: int | None = None, unit: str = "it", done: int = 0) -> "tqdm[Any]":
    """Return a bar to be moved by hand (`bar.update(n)`), silent for its first two seconds."""
    return tqdm(
        desc=label,
        total=total,
        unit=f" {unit}",
        unit_scale=True,
        initial=done,
        file=sys.stderr,
        delay=_SECONDS_BEFORE_A_BAR,
        dynamic_ncols=True,
        mininterval=0.5,
        leave=False,
        disable=_silent,
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows below their head: names and what begins with a space to the left, figures to the right."""
    widths = [max(map(columns, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join("  ".join(map(_cell, row, widths, range(len(row)))).rstrip() for row in (head, *rows))


def columns(text: str) -> int:
    """Return how many columns of a terminal the text takes: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _cell(text: str, width: int, column: int) -> str:
    blank = " " * (width - columns(text))
    return text + blank if column == 0 or text.startswith(" ") else blank + text
