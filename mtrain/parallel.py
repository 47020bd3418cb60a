"""All cores for work that falls into blocks: the results come in the order of the blocks, however many processes."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

from mtrain.errors import WorkerError

A = TypeVar("A")
B = TypeVar("B")

# Starting processes takes a second or so: for less than these blocks it is not worth while.
_FEWEST_BLOCKS = 6
# Blocks that are read, at work or waiting to be taken, for each process.
_WINDOW = 3


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(work: Callable[[A], B], blocks: Iterable[A], workers: int) -> Iterator[B]:
    """Give `work` of each block, in their order, done by so many processes; 0: as many as there are cores.

    `work`, which is sent to each process once, the blocks and the results must be such as can be sent; few blocks stay
    here. What it raises is raised here; however this ends, no process stays behind.
    Raises: WorkerError where a process dies.
    """
    blocks = iter(blocks)
    workers = workers or usable_cores()
    first = list(islice(blocks, _FEWEST_BLOCKS))
    if workers == 1 or len(first) < _FEWEST_BLOCKS:
        yield from map(work, chain(first, blocks))
        return
    # Not forked: threads of libraries that hold a lock just then would leave it locked for ever.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _begin, (work,))
    try:
        yield from _results(pool, chain(first, blocks), _WINDOW * workers)
    except BrokenProcessPool as error:
        raise WorkerError(
            "a process that helped has died; perhaps the memory was too small for so many. Run the same command "
            "again, or with fewer of them: --set run.threads=1"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _results(pool: ProcessPoolExecutor, blocks: Iterable[Any], window: int) -> Iterator[Any]:
    waiting: deque[Future[Any]] = deque()
    for block in blocks:
        with _no_ctrl_c():
            waiting.append(pool.submit(_do, block))
        if len(waiting) > window:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@contextmanager
def _no_ctrl_c() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started here: it is for that which has the terminal, and which ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_work: Callable[[Any], Any]


def _begin(work: Callable[[Any], Any]) -> None:
    global _work  # noqa: PLW0603  a process does one kind of work all its life
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End where the process that all this is for was killed and cannot say so."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(block: Any) -> Any:
    return _work(block)
