import platform

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
