"""The whole model: embeddings, encoder, decoder, output (paper figure 1)."""

import math

import torch.nn.functional as F
from torch import Tensor, nn

from mtrain.model.cache import DecoderCache
from mtrain.model.decoder import Decoder
from mtrain.model.dropout import Dropout
from mtrain.model.encoder import Encoder
from mtrain.model.positions import SinusoidalPositions


class Transformer(nn.Module):
    """An encoder-decoder Transformer over token ids.

    The output layer has no bias and may share its matrix with the embeddings, which are scaled by sqrt(d_model)
    (paper section 3.4).
    """

    def __init__(
        self,
        source_embedding: nn.Embedding,
        target_embedding: nn.Embedding,
        output: nn.Embedding,
        encoder: Encoder,
        decoder: Decoder,
        dropout: float,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.output = output
        self.encoder = encoder
        self.decoder = decoder
        self.d_model = source_embedding.embedding_dim
        self.positions = SinusoidalPositions(self.d_model)
        self.dropout = Dropout(dropout)

    def encode(self, src_BS: Tensor, keep_BS: Tensor | None) -> Tensor:
        """Return memory_BSD; `keep_BS` None means that no sentence is padded."""
        memory_BSD: Tensor = self.encoder(self._embed(self.source_embedding, src_BS), keep_BS)
        return memory_BSD

    def decode(self, tgt_in_BT: Tensor, memory_BSD: Tensor, keep_BS: Tensor | None) -> Tensor:
        """Return hidden_BTD; position t has seen the target tokens up to and including t."""
        hidden_BTD: Tensor = self.decoder(self._embed(self.target_embedding, tgt_in_BT), memory_BSD, keep_BS)
        return hidden_BTD

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the unnormalised log-probability of every piece; shapes (…, D) to (…, V)."""
        return F.linear(hidden, self.output.weight)

    def forward(self, src_BS: Tensor, keep_BS: Tensor | None, tgt_in_BT: Tensor) -> Tensor:
        """Return hidden_BTD of every target position, given the reference tokens before it."""
        return self.decode(tgt_in_BT, self.encode(src_BS, keep_BS), keep_BS)

    def start(self, src_BS: Tensor, keep_BS: Tensor | None) -> DecoderCache:
        """Read the source and return the cache that `step` goes on from."""
        return self.decoder.start(self.encode(src_BS, keep_BS), keep_BS)

    def step(self, tokens_BN: Tensor, cache: DecoderCache) -> Tensor:
        """Take the latest token of each hypothesis and return the logits_BNV of the next."""
        x_BND = self._embed(self.target_embedding, tokens_BN.flatten()[:, None], cache.length).view(
            *tokens_BN.shape, self.d_model
        )
        return self.logits(self.decoder.step(x_BND, cache))

    def _embed(self, embedding: nn.Embedding, tokens_BT: Tensor, first: int = 0) -> Tensor:
        x_BTD: Tensor = self.dropout(self.positions(embedding(tokens_BT) * math.sqrt(self.d_model), first))
        return x_BTD
