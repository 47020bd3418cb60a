"""SIGTERM and Ctrl-C as a request: the update in hand is finished and saved before the process ends."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from mtrain.console import say

_REQUESTS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Whether somebody has asked for an end, and by which signal; 0 while nobody has."""

    signal: int = 0


@contextlib.contextmanager
def interruption(repeats_end_at_once: bool) -> Iterator[Interruption]:
    """Take requests to end until this context is left. The first one waits; a second one may end at once.

    Where a launcher passes signals on, the second may be the first once more.
    """
    asked = Interruption()
    if threading.current_thread() is not threading.main_thread():  # which alone may take signals
        yield asked
        return
    before = {number: signal.getsignal(number) for number in _REQUESTS}

    def note(number: int, _: FrameType | None) -> None:
        asked.signal = number
        if repeats_end_at_once:
            restore()
        again = " (the same again ends at once, unsaved)" if repeats_end_at_once else ""
        say(f"stopping: this update is finished and saved first{again}")

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in _REQUESTS:
        signal.signal(number, note)
    try:
        yield asked
    finally:
        restore()
