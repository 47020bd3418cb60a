"""Scaled dot-product attention over several heads (paper section 3.2)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtrain.model.dropout import Dropout

# On a CPU, PyTorch's fused attention overtakes the plain products only beyond these source lengths (measured on two
# Zen 5 cores, heads of width 64, forward and backward: at 30 positions the plain form takes a quarter of the time in
# bf16 and six tenths in fp32).
_PLAIN_UP_TO = {torch.float32: 128, torch.bfloat16: 512}


class MultiHeadAttention(nn.Module):
    """softmax(Q K^T / sqrt(d_k)) V in each head, the heads side by side through one more matrix (section 3.2.2).

    Projecting the queries and projecting what they look at are separate steps, so that decoding can keep the latter.
    """

    def __init__(self, d_model: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(d_model, d_model)
        self.key_value = nn.Linear(d_model, 2 * d_model)
        self.output = nn.Linear(d_model, d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x_BTD: Tensor, memory_BSD: Tensor, keep_BS: Tensor | None, causal: bool = False) -> Tensor:
        """Let every position of `x_BTD` attend to `memory_BSD`; `causal` hides the positions after its own."""
        return self.attend(self.project_query(x_BTD), *self.project_memory(memory_BSD), keep_BS, causal)

    def project_query(self, x_BTD: Tensor) -> Tensor:
        """Return q_BHTK."""
        return self._split_heads(self.query(x_BTD))

    def project_memory(self, memory_BSD: Tensor) -> tuple[Tensor, Tensor]:
        """Return k_BHSK and v_BHSK of what will be attended."""
        k_BSD, v_BSD = self.key_value(memory_BSD).chunk(2, dim=-1)
        return self._split_heads(k_BSD), self._split_heads(v_BSD)

    def attend(self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, keep_BS: Tensor | None, causal: bool) -> Tensor:
        """Return what each query gathers, as out_BTD.

        `keep_BS` None means that every position is real; with `causal` it must be None, since padding after a
        sentence lies in its future anyway.
        """
        if q_BHTK.device.type == "cpu" and k_BHSK.size(2) <= _PLAIN_UP_TO[q_BHTK.dtype]:
            out_BHTK = plain_attention(q_BHTK, k_BHSK, v_BHSK, keep_BS, causal, self.dropout)
        else:
            out_BHTK = F.scaled_dot_product_attention(
                q_BHTK,
                k_BHSK,
                v_BHSK,
                attn_mask=None if keep_BS is None else keep_BS[:, None, None, :],
                dropout_p=self.dropout.p if self.training else 0.0,
                is_causal=causal,
            )
        out_BTD: Tensor = self.output(out_BHTK.transpose(1, 2).flatten(2))
        return out_BTD

    def _split_heads(self, x_BTD: Tensor) -> Tensor:
        B, T, D = x_BTD.shape
        return x_BTD.view(B, T, self.heads, D // self.heads).transpose(1, 2)


def plain_attention(
    q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, keep_BS: Tensor | None, causal: bool, dropout: Dropout
) -> Tensor:
    """Eq. 1 as it is written, products and softmax one by one."""
    # Autocast would send the softmax through fp32 copies; the kernel already sums in fp32 inside.
    with torch.autocast(q_BHTK.device.type, enabled=False):
        scores_BHTS = (q_BHTK * q_BHTK.size(-1) ** -0.5) @ k_BHSK.transpose(-1, -2)
        if keep_BS is not None:
            scores_BHTS = scores_BHTS.masked_fill(~keep_BS[:, None, None, :], float("-inf"))
        if causal:
            ahead_TS = torch.full(scores_BHTS.shape[-2:], float("-inf"), dtype=q_BHTK.dtype, device=q_BHTK.device)
            scores_BHTS = scores_BHTS + ahead_TS.triu(1)
        weights_BHTS: Tensor = dropout(scores_BHTS.softmax(dim=-1))
        return weights_BHTS @ v_BHSK
