"""The machine: device, precision, threads, random numbers, and a record of what a run ran on."""

import ctypes
import hashlib
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import torch

from mtrain.errors import ConfigError
from mtrain.parallel import usable_cores
from mtrain.version import __version__

_NO_CPU_MEMORY = re.compile("can't allocate memory|not enough memory")  # on Linux; on Windows

Item = TypeVar("Item")
Result = TypeVar("Result")

resource: ModuleType | None
try:
    import resource
except ImportError:  # Windows
    resource = None


def choose_device(name: str) -> torch.device:
    """Return the device of `run.device`. Raises: ConfigError where there is none of this name."""
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("run.device: cuda: this machine has no usable CUDA device. Use auto or cpu.")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda":
        return torch.device("cuda", _own_gpu())
    try:
        return torch.device(name)
    except RuntimeError:
        raise ConfigError(f"run.device: {name}: no device has this name. Use auto, cuda or cpu.") from None


def _own_gpu() -> int:
    """Return which GPU torchrun, which starts a process for each, has meant for this one."""
    own, there = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if own >= there:
        raise ConfigError(
            f"run.device: process {own + 1} of this machine finds {there} GPUs. Start as many processes as there are "
            "GPUs, or use run.device=cpu."
        )
    return own


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """Return the dtype of matrix products for `training.precision`; auto: bf16 where the hardware computes in it."""
    if name == "auto":
        name = "bf16" if _computes_in_bf16(device) else "fp32"
    return {"fp32": torch.float32, "bf16": torch.bfloat16}[name]


def _computes_in_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return any(capabilities.get(unit, False) for unit in ("avx512_bf16", "amx_bf16"))


def set_threads(threads: int) -> int:
    """Use `threads` CPU threads, or for 0 this process's share of the cores that it may use; return how many that is.

    The number is part of a result: sums are split differently with another one.
    """
    threads = threads or max(1, usable_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    torch.set_num_threads(threads)
    return threads


def side_by_side(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield `work(item)` for each item, in order, with as many items at work at a time as there are CPU threads.

    Many small products done so are twice as fast as each product by all threads, which wait for each other after each.
    """
    threads = torch.get_num_threads()
    at_once = min(threads, len(items))
    if at_once < 2:
        yield from map(work, items)
        return
    each = threads // at_once
    torch.set_num_threads(each)
    try:
        with ThreadPoolExecutor(at_once, initializer=torch.set_num_threads, initargs=(each,)) as pool:
            yield from pool.map(work, items)
    finally:
        torch.set_num_threads(threads)


def keep_freed_memory() -> bool:
    """Ask glibc to keep what is freed for the next tensor, and return whether this system's C library understood.

    Otherwise it hands each large tensor back to the kernel, which clears it again, page by page, for the next update:
    training was measured to be an eighth slower.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    trim_threshold, mmap_threshold, never = -1, -3, 1 << 30  # malloc.h: M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
    set_option = ctypes.CDLL(None).mallopt
    return bool(set_option(mmap_threshold, never)) and bool(set_option(trim_threshold, never))


def is_out_of_memory(error: RuntimeError) -> bool:
    """Tell whether PyTorch says by this that it got no memory, of the GPU or of the machine."""
    return isinstance(error, torch.OutOfMemoryError) or bool(_NO_CPU_MEMORY.search(str(error)))


def peak_memory(device: torch.device) -> int:
    """Return the most bytes that this process has held so far: of the GPU, or of the machine; 0 where nobody knows."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else 1024 * int(peak)


def release_memory() -> None:
    """Give back what PyTorch holds of the GPU's memory for tensors to come."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def seed_from(*parts: int | str) -> None:
    """Seed PyTorch's generators by a hash of `parts`.

    Randomness is a function of where training stands (seed, update, micro-batch), never a state that has to be saved.
    """
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    torch.manual_seed(int.from_bytes(digest[:8], "little"))


def environment(device: torch.device, precision: torch.dtype) -> dict[str, str | int]:
    """Return what a reader needs to judge or repeat a run's figures."""
    packages = ("torch", "sentencepiece", "sacrebleu", "datasets", "numpy")
    return {
        "mtrain": __version__,
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
        "system": platform.platform(),
        "processor": _processor(),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "precision": str(precision).removeprefix("torch."),
        "threads": torch.get_num_threads(),
        "command": " ".join(sys.argv),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8").split("\n"):
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
