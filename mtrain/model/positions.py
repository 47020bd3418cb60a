"""How the model learns where a token stands: beside the embeddings, as in the paper, or inside self-attention.

The former are added to the embeddings, the latter turn queries and keys or put a bias on the scores. Attention to the
source knows nothing of positions by itself: the two sentences have no common count.
"""

import math

import torch
from torch import Tensor, nn

# Distances of the learned bias: as many buckets for keys before the query as for those after it, one for each near
# distance, then wider and wider ones up to this distance, beyond which all are alike.
_BUCKETS_PER_SIDE = 16
_FARTHEST_BUCKET = 128


class NoPositions(nn.Module):
    """Adds nothing to the embeddings."""

    def forward(self, x_BTD: Tensor, first: int = 0) -> Tensor:  # noqa: ARG002
        """Return `x_BTD`."""
        return x_BTD


def sinusoids(positions: int, d_model: int) -> Tensor:
    """Return PE(pos, 2i) = sin(pos / 10000^(2i/d)) and PE(pos, 2i+1) = cos of the same.

    Shapes: (positions, d_model). Source: paper section 3.5.
    """
    angles = _angles(positions, d_model)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


class SinusoidalPositions(nn.Module):
    """Adds the sinusoids to the embeddings; the table grows as far as a sentence needs, so there is no longest one.

    The table is no buffer of the module: several processes would exchange it, and theirs differ in length.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.table_TD = sinusoids(512, d_model)

    def forward(self, x_BTD: Tensor, first: int = 0) -> Tensor:
        """Add positions `first`, `first` + 1, … along the T dimension."""
        end = first + x_BTD.size(1)
        table_TD = self.table_TD  # several threads may come here at once
        if end > table_TD.size(0):
            table_TD = sinusoids(2 * end, self.d_model)
        self.table_TD = table_TD = table_TD.to(x_BTD.device)
        return x_BTD + table_TD[first:end]


class LearnedPositions(nn.Module):
    """Adds a learned vector a position (paper table 3, row E); positions beyond the last one share its vector."""

    def __init__(self, positions: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(positions, d_model))

    def forward(self, x_BTD: Tensor, first: int = 0) -> Tensor:
        """Add positions `first`, `first` + 1, … along the T dimension."""
        positions_T = torch.arange(first, first + x_BTD.size(1), device=x_BTD.device)
        return x_BTD + self.weight[positions_T.clamp(max=self.weight.size(0) - 1)]


class BlindAttention(nn.Module):
    """What self-attention knows of positions by itself: nothing. The other kinds replace one of the two."""

    def turn(self, x_BHTK: Tensor, first: int = 0) -> Tensor:  # noqa: ARG002
        """Return the queries or keys of positions `first`, `first` + 1, … as they are to be compared."""
        return x_BHTK

    def bias(self, first: int, queries: int, keys: int, like: Tensor) -> Tensor | None:  # noqa: ARG002
        """Return the bias_HTS to add to the scores, on the device and in the type of `like`; None for no bias.

        So many `queries` stand at positions `first`, `first` + 1, …, so many `keys` at 0, 1, …
        """
        return None


class RotaryPositions(BlindAttention):
    """Turns each pair of a query's or key's values by an angle that grows with its position.

    The product of two so turned vectors depends on the distance of their positions. The pairs are values i and
    i + K/2, not neighbours, which is the same up to the order of the rows of the projections.
    Source: Su et al. 2021, "RoFormer", eq. 34.
    """

    def turn(self, x_BHTK: Tensor, first: int = 0) -> Tensor:
        """Shapes: (B, H, T, K) in and out."""
        end, K = first + x_BHTK.size(2), x_BHTK.size(3)
        angles = _angles(end, K, x_BHTK.device)[first:]
        cos, sin = angles.cos().to(x_BHTK.dtype), angles.sin().to(x_BHTK.dtype)
        left, right = x_BHTK.chunk(2, dim=-1)
        return torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1)


class AlibiPositions(BlindAttention):
    """Lowers a score in proportion to the distance, in each head at another rate: 2^(-8h/H) for head h of H.

    The source looks back only. For keys ahead, which an encoder has as well, the heads take these rates in reverse
    order: with the same rate on both sides a sentence and its mirror image would look alike.
    Source: Press et al. 2022, "Train Short, Test Long", section 3.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self._heads = heads

    def bias(self, first: int, queries: int, keys: int, like: Tensor) -> Tensor:
        """Shapes: (H, T, S)."""
        ahead_TS = _distances(first, queries, keys, like.device).to(like.dtype)
        # Made where they are used: a copy to the GPU would be waited for.
        heads_H = torch.arange(1, self._heads + 1, device=like.device)
        rates_H11 = torch.exp2(heads_H * (-8 / self._heads)).to(like.dtype)[:, None, None]
        return rates_H11 * ahead_TS.clamp(max=0) - rates_H11.flip(0) * ahead_TS.clamp(min=0)


class RelativeBias(BlindAttention):
    """Adds to a score what has been learned for its head and the bucket of its distance.

    Source: Raffel et al. 2020 (T5), section 2.1; here each layer learns its own.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2 * _BUCKETS_PER_SIDE, heads))

    def bias(self, first: int, queries: int, keys: int, like: Tensor) -> Tensor:
        """Shapes: (H, T, S)."""
        buckets_TS = distance_buckets(_distances(first, queries, keys, like.device))
        return self.weight[buckets_TS].permute(2, 0, 1).to(like.dtype)


def distance_buckets(ahead: Tensor) -> Tensor:
    """Return the bucket of each distance (key minus query): first those of keys not ahead, then those ahead.

    Half the buckets of a side are for one distance each, the others grow in geometric progression.
    """
    distance, single = ahead.abs(), _BUCKETS_PER_SIDE // 2
    growth = torch.log(distance.clamp(min=1) / single) / math.log(_FARTHEST_BUCKET / single)
    wide = (single + (growth * single).long()).clamp(max=_BUCKETS_PER_SIDE - 1)
    return torch.where(distance < single, distance, wide) + _BUCKETS_PER_SIDE * (ahead > 0)


def _distances(first: int, queries: int, keys: int, device: torch.device) -> Tensor:
    """Return how far ahead of each query each key stands; shapes (T, S)."""
    queries_T = first + torch.arange(queries, device=device)
    return torch.arange(keys, device=device) - queries_T[:, None]


def _angles(positions: int, width: int, device: torch.device | None = None) -> Tensor:
    """Return pos / 10000^(2i/width) for each position and each i below width / 2."""
    frequencies = torch.exp(torch.arange(0, width, 2, device=device) * (-math.log(10000.0) / width))
    return torch.arange(positions, device=device)[:, None] * frequencies
