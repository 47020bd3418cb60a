import ctypes
import platform
import subprocess
import sys

import pytest
import torch

from mtrain.runtime import keep_freed_memory, side_by_side

resource = pytest.importorskip("resource", reason="counts page faults, which only Unix tells")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator is asked to keep memory")
def test_memory_that_was_freed_is_used_again():
    def page_faults_of_64_mebibytes() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        b"x" * (64 << 20)  # 16,384 pages of 4 KiB
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

    assert keep_freed_memory()
    page_faults_of_64_mebibytes()
    assert page_faults_of_64_mebibytes() < 1000


GROWTH_OVER_NEW_SHAPES = """
import ctypes
import mtrain
import torch

class Heap(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"  # malloc.h
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

mallinfo2 = ctypes.CDLL(None).mallinfo2
mallinfo2.restype = Heap
weight = torch.randn(64, 64, dtype=torch.bfloat16)

def in_use_after(shapes):
    for rows in shapes:
        torch.nn.functional.linear(torch.zeros(rows, 64, dtype=torch.bfloat16), weight)
    return mallinfo2().uordblks

before = in_use_after(range(100, 300))
print(in_use_after(range(300, 700)) - before)
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not hasattr(ctypes.CDLL(None), "mallinfo2"),
    reason="only glibc, since 2.33, counts what is in use",
)
def test_batches_of_ever_new_shapes_leave_nothing_behind():
    counted = subprocess.run([sys.executable, "-c", GROWTH_OVER_NEW_SHAPES], capture_output=True, text=True, check=True)
    assert int(counted.stdout) < 10 << 20  # 217 MiB where oneDNN keeps as much as it likes


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_items_are_worked_on_side_by_side_in_order(threads: int) -> None:
    torch.set_num_threads(threads)
    seen = list(side_by_side(lambda item: (item, torch.get_num_threads()), range(7)))
    assert [item for item, _ in seen] == list(range(7))
    assert {there for _, there in seen} == {1}
    assert torch.get_num_threads() == threads
    assert list(side_by_side(lambda item: torch.get_num_threads(), [1])) == [threads]


def test_an_error_in_one_item_comes_through_and_threads_are_given_back() -> None:
    torch.set_num_threads(2)
    with pytest.raises(ZeroDivisionError):
        list(side_by_side(lambda item: 1 / item, [2, 1, 0, 1]))
    assert torch.get_num_threads() == 2
