"""What the person at the terminal sees: lines and progress bars, all on stderr (stdout is for results)."""

import sys
from collections.abc import Iterable, Iterator
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


def progress(items: Iterable[T], label: str, total: int | None = None, unit: str = "it") -> Iterator[T]:
    """Pass `items` through, drawing a bar with speed and time left once two seconds have gone by."""
    with progress_bar(label, total, unit) as bar:
        for item in items:
            yield item
            bar.update(1)


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
