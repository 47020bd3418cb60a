"""Blocks are worked on by many processes, in order; whatever happens, one line is said and nobody stays behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mtrain.errors import WorkerError
from mtrain.parallel import in_order

FOR_EVER = "from mtrain.parallel import in_order; import time; list(in_order(time.sleep, [1000] * 10, 2))"


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_order(workers: int) -> None:
    blocks = [str(number) for number in range(100)]
    assert list(in_order(int, blocks, workers)) == list(range(100))
    assert multiprocessing.active_children() == []


def test_few_blocks_stay_in_this_process() -> None:
    assert set(in_order(lambda _: os.getpid(), range(5), 8)) == {os.getpid()}


def test_blocks_are_not_read_far_ahead() -> None:
    rest = iter(["1"] * 1000)
    results = in_order(int, rest, 2)
    for _ in range(50):
        next(results)
    assert len(list(rest)) >= 1000 - 50 - 10
    results.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


def test_a_process_that_dies_is_one_clear_line() -> None:
    with pytest.raises(WorkerError, match="has died; perhaps the memory was too small"):
        list(in_order(os._exit, [1] * 20, 2))
    assert multiprocessing.active_children() == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_there_is_an_exception_here() -> None:
    with pytest.raises(ValueError, match="invalid literal for int"):
        list(in_order(int, [*"123456789", "x", *"123456789"], 2))
    assert multiprocessing.active_children() == []


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to find the processes of others")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_no_process_survives_the_first_one(end: signal.Signals) -> None:
    # A block that is being worked on is finished after Ctrl-C: let it be short.
    program = FOR_EVER.replace("[1000] * 10", "[0.2] * 10_000") if end == signal.SIGINT else FOR_EVER
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL) as first:
        children: list[int] = []
        while len(children) < 3:  # two, and the one that multiprocessing keeps to clean up behind them
            time.sleep(0.1)
            tasks = Path(f"/proc/{first.pid}/task").glob("*/children")
            children = [int(child) for task in tasks for child in task.read_text().split()]
        time.sleep(1)
        first.send_signal(end)
        try:
            first.wait(30)
        finally:
            first.kill()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.1)
