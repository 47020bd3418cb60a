"""What the person at the terminal sees: lines and progress bars, all on stderr (stdout is for results)."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")

# A bar appears only on work that lasts: shorter steps would flicker.
_SECONDS_BEFORE_A_BAR = 2.0


def say(line: str = "") -> None:
    """Print one line to stderr without breaking a bar that is being drawn."""
    tqdm.write(line, file=sys.stderr)
    sys.stderr.flush()


def warn(line: str) -> None:
    """Print one line that the reader should act on."""
    say(f"warning: {line}")


def progress(items: Iterable[T], label: str, total: int | None = None, unit: str = "it") -> Iterator[T]:
    """Pass `items` through, drawing a bar with speed and time left once two seconds have gone by."""
    yield from progress_bar(label, total, unit, items)


def progress_bar(
    label: str, total: int | None = None, unit: str = "it", items: Iterable[T] | None = None, initial: int = 0
) -> "tqdm[T]":
    """Return a bar to be moved by hand (`bar.update(n)`), silent for its first two seconds."""
    return tqdm(
        items,
        desc=label,
        total=total,
        unit=unit,
        initial=initial,
        file=sys.stderr,
        delay=_SECONDS_BEFORE_A_BAR,
        dynamic_ncols=True,
        mininterval=0.5,
        leave=False,
    )
