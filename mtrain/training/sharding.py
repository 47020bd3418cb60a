"""Weights that processes hold in shares (PyTorch's `fully_shard`), for a model too large to be trained in one GPU.

The weights of a layer are gathered while it computes, and its gradient is handed out in shares again; the optimiser and
the moving average see shares only. Checkpoints and translating need tensors whole: gathering them is a matter of all
processes. Tensors that are not shared out, as in any other run, pass through these functions as they are.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeGuard

import torch
import torch.distributed as dist
from torch import Tensor, nn

if TYPE_CHECKING:  # not every build of PyTorch has it
    from torch.distributed.tensor import DTensor


def share_out(root: nn.Module, layers: Iterable[nn.Module], device: torch.device) -> None:
    """Leave this process its share of all parameters: gathered layer by layer, what is not in `layers` as one."""
    from torch.distributed.device_mesh import init_device_mesh  # noqa: PLC0415
    from torch.distributed.fsdp import fully_shard  # noqa: PLC0415

    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    for module in (*layers, root):
        fully_shard(module, mesh=mesh)


def gathered(tensor: Tensor) -> Tensor:
    """Return all of a tensor, in every process, and every process must ask."""
    return tensor.full_tensor() if _is_share(tensor) else tensor


def gathered_in_first(tensor: Tensor) -> Tensor:
    """Return all of a tensor in the first process, off the GPU; the others, which must ask too, get an empty one."""
    if not _is_share(tensor):
        return tensor
    everything = gathered(tensor)
    return everything.cpu() if dist.get_rank() == 0 else everything.new_empty(0)


def share_like(tensor: Tensor, own: Tensor | None) -> Tensor:
    """Return a whole tensor as `own` is: this process's share of it where that is one of the same shape."""
    if not _is_share(own) or own.shape != tensor.shape:
        return tensor
    from torch.distributed.tensor import distribute_tensor  # noqa: PLC0415

    return distribute_tensor(tensor.to(own.device), own.device_mesh, own.placements)


def _is_share(tensor: Tensor | None) -> "TypeGuard[DTensor]":
    return hasattr(tensor, "full_tensor")
