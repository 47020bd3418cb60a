"""The whole model: embeddings, encoder, decoder, output (paper figure 1)."""

from torch import Tensor, nn

from mtrain.model.cache import DecoderCache
from mtrain.model.decoder import Decoder
from mtrain.model.embedding import OutputLayer, TokenEmbedding
from mtrain.model.encoder import Encoder


class Transformer(nn.Module):
    """An encoder-decoder Transformer over token ids; the parts may share matrices."""

    def __init__(
        self,
        source_embedding: TokenEmbedding,
        target_embedding: TokenEmbedding,
        encoder: Encoder,
        decoder: Decoder,
        output: OutputLayer,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.encoder = encoder
        self.decoder = decoder
        self.output = output
        self.d_model = output.weight.size(1)

    def encode(self, src_BS: Tensor, keep_BS: Tensor | None) -> Tensor:
        """Return memory_BSD; `keep_BS` None means that no sentence is padded."""
        memory_BSD: Tensor = self.encoder(self.source_embedding(src_BS), keep_BS)
        return memory_BSD

    def decode(self, tgt_in_BT: Tensor, memory_BSD: Tensor, keep_BS: Tensor | None) -> Tensor:
        """Return hidden_BTD; position t has seen the target tokens up to and including t."""
        hidden_BTD: Tensor = self.decoder(self.target_embedding(tgt_in_BT), memory_BSD, keep_BS)
        return hidden_BTD

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the unnormalised log-probability of every piece; shapes (…, D) to (…, V)."""
        logits: Tensor = self.output(hidden)
        return logits

    def forward(self, src_BS: Tensor, keep_BS: Tensor | None, tgt_in_BT: Tensor) -> Tensor:
        """Return hidden_BTD of every target position, given the reference tokens before it."""
        return self.decode(tgt_in_BT, self.encode(src_BS, keep_BS), keep_BS)

    def start(self, src_BS: Tensor, keep_BS: Tensor | None) -> DecoderCache:
        """Read the source and return the cache that `step` goes on from."""
        return self.decoder.start(self.encode(src_BS, keep_BS), keep_BS)

    def step(self, tokens_BN: Tensor, cache: DecoderCache) -> Tensor:
        """Take the latest token of each hypothesis and return the logits_BNV of the next."""
        x_R1D: Tensor = self.target_embedding(tokens_BN.flatten()[:, None], cache.length)
        return self.logits(self.decoder.step(x_R1D.view(*tokens_BN.shape, self.d_model), cache))
