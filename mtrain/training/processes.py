"""Several processes that train one model together (PyTorch's DistributedDataParallel, started by torchrun).

Every process holds the whole model (or with `share_weights` its part, see sharding.py), takes its share of each
update's micro-batches, and has the same gradient in the end: the sum over all of them, divided once by all their target
tokens. So the number of processes changes nothing but the time. What is decided by a clock or a measurement is decided
by the first process, and it alone writes.
"""

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

T = TypeVar("T")

# The first process validates and translates while the others wait.
_PATIENCE = timedelta(hours=2)

# What is sent where only being there matters. It lives as long as the program: gloo's threads may let go of what they
# sent only when Python has begun to end, and whoever is last to let go of a tensor then is aborted (pytorch#179291).
_NOTHING = torch.zeros(1)


@dataclass(frozen=True)
class Processes:
    """This process among those of the run; alone it is the first of one, and nothing is sent anywhere."""

    rank: int = 0
    count: int = 1
    share_weights: bool = False

    @property
    def is_first(self) -> bool:
        """Whether it is this process that writes and speaks."""
        return self.rank == 0

    def is_silence_of_another(self, error: RuntimeError) -> bool:
        """Whether this is how PyTorch says that another process does not answer."""
        of_gloo = any(sign in str(error) for sign in ("onnection", "Timed out"))
        return self.count > 1 and (of_gloo or isinstance(error, dist.DistError))

    def wait(self) -> None:
        """Go on when all processes have come to this place."""
        self.total(_NOTHING)

    def agree(self, value: T) -> T:
        """Return the first process's value, in every process."""
        if self.count == 1:
            return value
        values = [value]
        dist.broadcast_object_list(values, device=torch.device("cpu"))
        return values[0]

    def largest(self, *numbers: float) -> tuple[float, ...]:
        """Return the largest of all processes' numbers, each for itself, in every process."""
        if self.count == 1:
            return numbers
        values = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(values, dist.ReduceOp.MAX)
        return tuple(values.tolist())

    def total(self, values: Tensor) -> Tensor:
        """Return the sum of all processes' tensors, in every process; nobody waits for the device."""
        if self.count > 1:
            dist.all_reduce(values)
        return values

    def parallel(self, module: nn.Module) -> nn.Module:
        """Return the module with gradients that are the mean over all processes."""
        return DistributedDataParallel(module) if self.count > 1 and not self.share_weights else module

    def silence(self, module: nn.Module) -> AbstractContextManager[None]:
        """Return a context in which gradients only add up here, to be exchanged by the next backward outside it."""
        return module.no_sync() if isinstance(module, DistributedDataParallel) else nullcontext()


ALONE = Processes()


def join_processes(device: torch.device, share_weights: bool) -> Processes:
    """Return this process's place among those that torchrun has started, once all are there."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        return ALONE
    if device.type == "cuda":
        torch.cuda.set_device(device)  # where PyTorch puts what it gathers
    dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=_PATIENCE)
    return Processes(dist.get_rank(), count, share_weights)


def leave_processes(processes: Processes) -> None:
    """Part from the others; nothing can be sent afterwards."""
    if processes.count > 1:
        dist.destroy_process_group()

