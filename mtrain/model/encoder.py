"""The encoder: self-attention and feed-forward, layer upon layer (paper section 3.1)."""

from collections.abc import Sequence

from torch import Tensor, nn

from mtrain.model.attention import MultiHeadAttention
from mtrain.model.feedforward import FeedForward, GatedFeedForward
from mtrain.model.sublayer import Residual


class EncoderLayer(nn.Module):
    """One layer: each source position looks at all others, then thinks for itself."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: FeedForward | GatedFeedForward,
        residuals: tuple[Residual, Residual],
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.attention_residual, self.feed_forward_residual = residuals

    def forward(self, x_BSD: Tensor, keep_BS: Tensor | None) -> Tensor:
        """Shapes: (B, S, D) in and out."""
        x_BSD = self.attention_residual(x_BSD, lambda y_BSD: self.attention(y_BSD, y_BSD, keep_BS))
        x_BSD = self.feed_forward_residual(x_BSD, self.feed_forward)
        return x_BSD


class Encoder(nn.Module):
    """All layers in turn, and the final norm where the residuals leave their sum unnormalised."""

    def __init__(self, layers: Sequence[EncoderLayer], final_norm: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    @property
    def stack(self) -> list[EncoderLayer]:
        """The layers by their type, which `layers` does not know."""
        return [layer for layer in self.layers if isinstance(layer, EncoderLayer)]

    @property
    def self_attentions(self) -> list[MultiHeadAttention]:
        """Each layer's attention."""
        return [layer.attention for layer in self.stack]

    def forward(self, x_BSD: Tensor, keep_BS: Tensor | None) -> Tensor:
        """Return the memory that the decoder attends to, memory_BSD."""
        for layer in self.layers:
            x_BSD = layer(x_BSD, keep_BS)
        memory_BSD: Tensor = self.final_norm(x_BSD)
        return memory_BSD
