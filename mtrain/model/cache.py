"""What incremental decoding remembers, so that each step computes only its own position.

The rows of a step are N hypotheses of each of B sentences, R = B * N of them, a sentence's side by side. The keys
and values of the source stand once per sentence: all its hypotheses look at the same ones.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

# Room for this many more positions is made at a time: growing at each step would copy the whole past each time.
_GROWTH = 32


class GrowingKeyValues:
    """Keys and values of one layer's decoder self-attention, position by position."""

    def __init__(self) -> None:
        self.length = 0
        self._keys = torch.empty(0)
        self._values = torch.empty(0)

    def append(self, k_RH1K: Tensor, v_RH1K: Tensor) -> tuple[Tensor, Tensor]:
        """Store one more position and return all so far, k_RHTK and v_RHTK."""
        if self.length == 0:
            self._keys, self._values = _with_room(k_RH1K[:, :, :0]), _with_room(v_RH1K[:, :, :0])
        elif self.length == self._keys.size(2):
            self._keys, self._values = _with_room(self._keys), _with_room(self._values)
        self._keys[:, :, self.length] = k_RH1K[:, :, 0]
        self._values[:, :, self.length] = v_RH1K[:, :, 0]
        self.length += 1
        return self._keys[:, :, : self.length], self._values[:, :, : self.length]

    def reorder(self, rows: Tensor) -> None:
        """Let row i continue what row `rows[i]` was; fewer rows than before let the others go."""
        self._keys = _with_room(self._keys[:, :, : self.length].index_select(0, rows))
        self._values = _with_room(self._values[:, :, : self.length].index_select(0, rows))


def _with_room(past_RHTK: Tensor) -> Tensor:
    rows, heads, length, width = past_RHTK.shape
    roomy = past_RHTK.new_empty(rows, heads, length - length % _GROWTH + _GROWTH, width)
    roomy[:, :, :length] = past_RHTK
    return roomy


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
