"""What incremental decoding remembers, so that each step computes only its own position.

The rows of a step are N hypotheses of each of B sentences, R = B * N of them, a sentence's side by side. The keys
and values of the source stand once per sentence: all its hypotheses look at the same ones.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

# Room for this many more positions is made at a time: growing at each step would copy the whole past each time, and
# much unused room would be copied along at each reordering.
_GROWTH = 8


class GrowingKeyValues:
    """Keys and values of one layer's decoder self-attention, position by position."""

    def __init__(self) -> None:
        self.length = 0
        self._keys = self._values = torch.empty(0, 0, 0, 0)

    def append(self, k_RH1K: Tensor, v_RH1K: Tensor) -> tuple[Tensor, Tensor]:
        """Store one more position and return all so far, k_RHTK and v_RHTK."""
        if self.length == self._keys.size(2):
            self._keys, self._values = self._with_room(self._keys, k_RH1K), self._with_room(self._values, v_RH1K)
            # Reordering copies between these and the buffers in use: fresh memory at each step is slower than copying.
            self._other_keys, self._other_values = torch.empty_like(self._keys), torch.empty_like(self._values)
        self._keys[:, :, self.length] = k_RH1K[:, :, 0]
        self._values[:, :, self.length] = v_RH1K[:, :, 0]
        self.length += 1
        return self._keys[:, :, : self.length], self._values[:, :, : self.length]

    def reorder(self, rows: Tensor) -> None:
        """Let row i continue what row `rows[i]` was; fewer rows than before let the others go."""
        self._keys, self._other_keys = _select(self._keys, rows, self._other_keys), self._keys
        self._values, self._other_values = _select(self._values, rows, self._other_values), self._values

    def _with_room(self, past_RHTK: Tensor, new_RH1K: Tensor) -> Tensor:
        rows, heads, _, width = new_RH1K.shape
        roomy = new_RH1K.new_empty(rows, heads, self.length + _GROWTH, width)
        if self.length:
            roomy[:, :, : self.length] = past_RHTK
        return roomy


def _select(buffer: Tensor, rows: Tensor, into: Tensor) -> Tensor:
    if into.size(0) < rows.numel():
        return buffer.index_select(0, rows)
    return torch.index_select(buffer, 0, rows, out=into[: rows.numel()])


@dataclass
class LayerCache:
    """One decoder layer's memory."""

    past: GrowingKeyValues
    source_k_BHSK: Tensor
    source_v_BHSK: Tensor


@dataclass
class DecoderCache:
    """All layers' memory, and which source positions are real."""

    layers: list[LayerCache]
    keep_BS: Tensor | None

    @property
    def length(self) -> int:
        """Target positions decoded so far."""
        return self.layers[0].past.length

    @property
    def sentences(self) -> int:
        """Sentences still being decoded."""
        return self.layers[0].source_k_BHSK.size(0)

    def reorder(self, rows_R: Tensor) -> None:
        """Reorder the hypotheses: row i goes on from row `rows_R[i]`."""
        for layer in self.layers:
            layer.past.reorder(rows_R)

    def keep_sentences(self, sentences: Tensor) -> None:
        """Go on with these sentences only (their hypotheses are reordered by `reorder`)."""
        if self.keep_BS is not None:
            self.keep_BS = self.keep_BS.index_select(0, sentences)
        for layer in self.layers:
            layer.source_k_BHSK = layer.source_k_BHSK.index_select(0, sentences)
            layer.source_v_BHSK = layer.source_v_BHSK.index_select(0, sentences)
