import platform

import pytest

from mtrain.runtime import keep_freed_memory

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
