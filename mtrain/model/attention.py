"""Scaled dot-product attention over several heads (paper section 3.2)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtrain.model.dropout import Dropout
from mtrain.model.positions import BlindAttention

# On a CPU, PyTorch's fused attention overtakes the plain products only beyond these source lengths (measured on two
# Zen 5 cores, heads of width 64, forward and backward: at 30 positions the plain form takes a quarter of the time in
# bf16 and six tenths in fp32).
_PLAIN_UP_TO = {torch.float32: 128, torch.bfloat16: 512}


class Sight(NamedTuple):
    """What queries may see, and with what favour: of S keys the real ones (None: all), causal: none after itself."""

    keep_BS: Tensor | None = None
    causal: bool = False
    bias_HTS: Tensor | None = None


Kernel = Callable[[Tensor, Tensor, Tensor, Sight, Dropout], Tensor]


class MultiHeadAttention(nn.Module):
    """softmax(Q K^T / sqrt(d_k)) V in each head, the heads side by side through one more matrix (section 3.2.2).

    Projecting the queries and projecting what they look at are separate steps, so that decoding can keep the latter.
    `positions` is what it knows of them by itself; `kernel` computes eq. 1.
    """

    def __init__(
        self, d_model: int, heads: int, head_width: int, dropout: float, positions: BlindAttention, kernel: Kernel
    ) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(d_model, heads * head_width)
        self.key_value = nn.Linear(d_model, 2 * heads * head_width)
        self.output = nn.Linear(heads * head_width, d_model)
        self.dropout = Dropout(dropout)
        self.positions = positions
        self.kernel = kernel

    def forward(self, x_BTD: Tensor, memory_BSD: Tensor, keep_BS: Tensor | None, causal: bool = False) -> Tensor:
        """Let every position of `x_BTD` attend to `memory_BSD`; `causal` hides the positions after its own.

        `keep_BS` None means that every position is real; with `causal` it must be None, since padding after a
        sentence lies in its future anyway.
        """
        q_BHTK, (k_BHSK, v_BHSK) = self.project_query(x_BTD), self.project_memory(memory_BSD)
        bias_HTS = self.positions.bias(0, x_BTD.size(1), memory_BSD.size(1), q_BHTK)
        return self.attend(q_BHTK, k_BHSK, v_BHSK, Sight(keep_BS, causal, bias_HTS))

    def project_query(self, x_BTD: Tensor, first: int = 0) -> Tensor:
        """Return q_BHTK of positions `first`, `first` + 1, …"""
        return self.positions.turn(self._split_heads(self.query(x_BTD)), first)

    def project_memory(self, memory_BSD: Tensor, first: int = 0) -> tuple[Tensor, Tensor]:
        """Return k_BHSK and v_BHSK of what will be attended, positions `first`, `first` + 1, …"""
        k_BSE, v_BSE = self.key_value(memory_BSD).chunk(2, dim=-1)
        return self.positions.turn(self._split_heads(k_BSE), first), self._split_heads(v_BSE)

    def attend(self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, sight: Sight) -> Tensor:
        """Return what each query gathers, as out_BTD."""
        out_BHTK = self.kernel(q_BHTK, k_BHSK, v_BHSK, sight, self.dropout)
        out_BTD: Tensor = self.output(out_BHTK.transpose(1, 2).flatten(2))
        return out_BTD

    def _split_heads(self, x_BTE: Tensor) -> Tensor:
        B, T, _ = x_BTE.shape
        return x_BTE.view(B, T, self.heads, -1).transpose(1, 2)


def reference_attention(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, sight: Sight, dropout: Dropout) -> Tensor:
    """Eq. 1 for reading, checking and pictures."""
    weights_BHTS: Tensor = dropout(attention_weights(q_BHTK, k_BHSK, sight))
    return weights_BHTS @ v_BHSK


def attention_weights(q_BHTK: Tensor, k_BHSK: Tensor, sight: Sight) -> Tensor:
    """Return softmax(Q K^T / sqrt(d_k)) over what is in sight, each step written out."""
    d_k = q_BHTK.size(-1)
    scores_BHTS = q_BHTK @ k_BHSK.transpose(-1, -2) / d_k**0.5
    if sight.bias_HTS is not None:
        scores_BHTS = scores_BHTS + sight.bias_HTS
    if sight.keep_BS is not None:
        scores_BHTS = scores_BHTS.masked_fill(~sight.keep_BS[:, None, None, :], float("-inf"))
    if sight.causal:
        T, S = scores_BHTS.shape[-2:]
        past_TS = torch.ones(T, S, dtype=torch.bool, device=q_BHTK.device).tril()
        scores_BHTS = scores_BHTS.masked_fill(~past_TS, float("-inf"))
    exponentials_BHTS = (scores_BHTS - scores_BHTS.amax(dim=-1, keepdim=True)).exp()
    weights_BHTS: Tensor = exponentials_BHTS / exponentials_BHTS.sum(dim=-1, keepdim=True)
    return weights_BHTS


def fast_attention(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, sight: Sight, dropout: Dropout) -> Tensor:
    """Eq. 1 by whatever was measured to be fastest for this device, type and length."""
    if q_BHTK.device.type == "cpu" and k_BHSK.size(2) <= _PLAIN_UP_TO[q_BHTK.dtype]:
        return plain_attention(q_BHTK, k_BHSK, v_BHSK, sight, dropout)
    # The fused kernels know a causal order, or one mask, but not both.
    fused_causal = sight.causal and sight.bias_HTS is None
    return F.scaled_dot_product_attention(
        q_BHTK,
        k_BHSK,
        v_BHSK,
        attn_mask=_added_to_scores(sight._replace(causal=sight.causal and not fused_causal), q_BHTK, k_BHSK.size(2)),
        dropout_p=dropout.p if dropout.training else 0.0,
        is_causal=fused_causal,
    )


def plain_attention(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, sight: Sight, dropout: Dropout) -> Tensor:
    """Eq. 1 as two batched products with PyTorch's softmax between them."""
    # Autocast would cast what need not be cast. The softmax alone is computed in fp32: PyTorch's in bf16 takes up to
    # four times as long where the length is no multiple of 16.
    with torch.autocast(q_BHTK.device.type, enabled=False):
        scores_BHTS = (q_BHTK * q_BHTK.size(-1) ** -0.5) @ k_BHSK.transpose(-1, -2)
        added = _added_to_scores(sight, q_BHTK, k_BHSK.size(2))
        if added is not None:
            scores_BHTS = scores_BHTS + added
        weights_BHTS: Tensor = dropout(scores_BHTS.softmax(dim=-1, dtype=torch.float32).to(q_BHTK.dtype))
        return weights_BHTS @ v_BHSK


def _added_to_scores(sight: Sight, q_BHTK: Tensor, S: int) -> Tensor | None:
    """Return all of `sight` as one bias, minus infinity where nothing is seen; its shape broadcasts to (B, H, T, S)."""
    added = None if sight.bias_HTS is None else sight.bias_HTS[None]
    if sight.causal:
        ahead_TS = q_BHTK.new_full((q_BHTK.size(2), S), float("-inf")).triu(1)
        added = ahead_TS if added is None else added + ahead_TS
    if sight.keep_BS is not None:
        padding_B11S = q_BHTK.new_zeros(sight.keep_BS.shape).masked_fill(~sight.keep_BS, float("-inf"))[:, None, None]
        added = padding_B11S if added is None else added + padding_B11S
    return added


@contextmanager
def watched(attentions: Sequence[MultiHeadAttention]) -> Iterator[list[list[Tensor]]]:
    """Give, one list for each of `attentions`, the weights_BHTS of every call of it inside the `with`."""
    seen: list[list[Tensor]] = [[] for _ in attentions]
    kernels = [attention.kernel for attention in attentions]

    def watching(weights: list[Tensor]) -> Kernel:
        def kernel(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, sight: Sight, dropout: Dropout) -> Tensor:
            weights.append(attention_weights(q_BHTK, k_BHSK, sight))
            dropped_BHTS: Tensor = dropout(weights[-1])
            return dropped_BHTS @ v_BHSK

        return kernel

    try:
        for attention, weights in zip(attentions, seen, strict=True):
            attention.kernel = watching(weights)
        yield seen
    finally:
        for attention, kernel in zip(attentions, kernels, strict=True):
            attention.kernel = kernel


KERNELS: dict[str, Kernel] = {"fast": fast_attention, "reference": reference_attention}
