import platform

import pytest

from mtrain.runtime import keep_freed_memory

resource = pytest.importorskip("resource", reason="counts page faults, which only Unix tells")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator is asked to keep memory")
def test_memory_that_was_freed_is_used_again():
    import torch

    def faults_of_a_tensor() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(16 << 20)  # 64 MiB are 16,384 pages of 4 KiB
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    assert keep_freed_memory()
    faults_of_a_tensor()
    assert faults_of_a_tensor() < 1000
