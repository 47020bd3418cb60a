"""The decoder: masked self-attention, attention to the source, feed-forward (paper section 3.1)."""

from collections.abc import Sequence

from torch import Tensor, nn

from mtrain.model.attention import MultiHeadAttention, Sight
from mtrain.model.cache import DecoderCache, GrowingKeyValues, LayerCache
from mtrain.model.feedforward import FeedForward, GatedFeedForward
from mtrain.model.sublayer import Residual


class DecoderLayer(nn.Module):
    """One layer: each target position looks at those before it, then at the source, then thinks for itself."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward | GatedFeedForward,
        residuals: tuple[Residual, Residual, Residual],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.self_residual, self.cross_residual, self.feed_forward_residual = residuals

    def forward(self, x_BTD: Tensor, memory_BSD: Tensor, keep_BS: Tensor | None) -> Tensor:
        """All target positions at once, as in training.

        Padding on the target side needs no mask: it stands after every real token, where no real token looks.
        """
        x_BTD = self.self_residual(x_BTD, lambda y_BTD: self.self_attention(y_BTD, y_BTD, None, causal=True))
        x_BTD = self.cross_residual(x_BTD, lambda y_BTD: self.cross_attention(y_BTD, memory_BSD, keep_BS))
        x_BTD = self.feed_forward_residual(x_BTD, self.feed_forward)
        return x_BTD

    def start(self, memory_BSD: Tensor) -> LayerCache:
        """Project the source once, for all steps to come, laid out as the products of each step read it."""
        k_BHSK, v_BHSK = self.cross_attention.project_memory(memory_BSD)
        return LayerCache(GrowingKeyValues(), k_BHSK.contiguous(), v_BHSK.contiguous())

    def step(self, x_BND: Tensor, cache: LayerCache, keep_BS: Tensor | None) -> Tensor:
        """One position of N hypotheses of each sentence.

        Towards the source, the N hypotheses of a sentence are N queries of one sequence: its keys are not repeated.
        """

        def attend_to_past(y_BND: Tensor) -> Tensor:
            y_R1D, here = y_BND.flatten(0, 1)[:, None], cache.past.length
            q_RH1K = self.self_attention.project_query(y_R1D, here)
            k_RHTK, v_RHTK = cache.past.append(*self.self_attention.project_memory(y_R1D, here))
            bias_H1T = self.self_attention.positions.bias(here, 1, here + 1, q_RH1K)
            return self.self_attention.attend(q_RH1K, k_RHTK, v_RHTK, Sight(bias_HTS=bias_H1T)).view_as(y_BND)

        def attend_to_source(y_BND: Tensor) -> Tensor:
            q_BHNK = self.cross_attention.project_query(y_BND)
            return self.cross_attention.attend(q_BHNK, cache.source_k_BHSK, cache.source_v_BHSK, Sight(keep_BS))

        x_BND = self.self_residual(x_BND, attend_to_past)
        x_BND = self.cross_residual(x_BND, attend_to_source)
        x_BND = self.feed_forward_residual(x_BND, self.feed_forward)
        return x_BND


class Decoder(nn.Module):
    """All layers in turn, and the final norm where the residuals leave their sum unnormalised."""

    def __init__(self, layers: Sequence[DecoderLayer], final_norm: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def forward(self, x_BTD: Tensor, memory_BSD: Tensor, keep_BS: Tensor | None) -> Tensor:
        """Return hidden_BTD, from which the output layer makes logits."""
        for layer in self.layers:
            x_BTD = layer(x_BTD, memory_BSD, keep_BS)
        hidden_BTD: Tensor = self.final_norm(x_BTD)
        return hidden_BTD

    def start(self, memory_BSD: Tensor, keep_BS: Tensor | None) -> DecoderCache:
        """Return the cache of a decoding that has not begun."""
        layers: list[LayerCache] = [layer.start(memory_BSD) for layer in self.stack]
        return DecoderCache(layers, keep_BS)

    def step(self, x_BND: Tensor, cache: DecoderCache) -> Tensor:
        """Decode one more position and return its hidden_BND."""
        for layer, layer_cache in zip(self.stack, cache.layers, strict=True):
            x_BND = layer.step(x_BND, layer_cache, cache.keep_BS)
        hidden_BND: Tensor = self.final_norm(x_BND)
        return hidden_BND

    @property
    def stack(self) -> list[DecoderLayer]:
        """The layers by their type, which `layers` does not know."""
        return [layer for layer in self.layers if isinstance(layer, DecoderLayer)]

    @property
    def self_attentions(self) -> list[MultiHeadAttention]:
        """Each layer's attention to the positions before its own."""
        return [layer.self_attention for layer in self.stack]

    @property
    def aligning_layer(self) -> int:
        """Which layer's attention to the source says best what is a translation of what: the last but one.

        The last one looks ahead to what comes next. Source: Garg et al. 2019, "Jointly Learning to Align and
        Translate", section 4.3.
        """
        return max(0, len(self.layers) - 2)

    @property
    def cross_attentions(self) -> list[MultiHeadAttention]:
        """Each layer's attention to the source."""
        return [layer.cross_attention for layer in self.stack]
