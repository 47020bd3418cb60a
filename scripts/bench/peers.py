"""The models of other toolkits and the plain loop that trains them, for `contenders.py` and `same_time.py`."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtrain.batches.collate import Batch
from mtrain.tokenizer import BOS, EOS, PAD

CLIP, SMOOTHING = 1.0, 0.1


@dataclass(frozen=True)
class Shape:
    """What all contenders have in common."""

    vocabulary: int = 8000
    width: int = 256
    heads: int = 4
    inner: int = 1024
    encoder_layers: int = 3
    decoder_layers: int = 3
    dropout: float = 0.1


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with the embeddings and the output layer that it lacks."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.scale = shape.width**0.5
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.positions = nn.Embedding(512, shape.width)
        self.transformer = nn.Transformer(
            shape.width,
            shape.heads,
            shape.encoder_layers,
            shape.decoder_layers,
            shape.inner,
            shape.dropout,
            batch_first=True,
            norm_first=True,
        )
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, batch: Batch) -> Tensor:
        """Return logits_BTV."""
        src_BS, tgt_in_BT = batch.source.src_BS, batch.tgt_in_BT
        hidden_BS = src_BS == PAD  # True at padding, as nn.Transformer has it
        ahead = nn.Transformer.generate_square_subsequent_mask(tgt_in_BT.size(1), device=tgt_in_BT.device)
        out_BTD = self.transformer(
            self._embed(src_BS),
            self._embed(tgt_in_BT),
            tgt_mask=ahead,
            tgt_is_causal=True,
            src_key_padding_mask=hidden_BS,
            memory_key_padding_mask=hidden_BS,
        )
        return F.linear(out_BTD, self.embedding.weight)

    def _embed(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.size(1), device=tokens.device)
        out: Tensor = self.dropout(self.embedding(tokens) * self.scale + self.positions(places))
        return out


class Marian(nn.Module):
    """Hugging Face's MarianMTModel. Raises: ImportError where transformers is not installed."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel

        config = MarianConfig(
            vocab_size=shape.vocabulary,
            d_model=shape.width,
            encoder_layers=shape.encoder_layers,
            decoder_layers=shape.decoder_layers,
            encoder_attention_heads=shape.heads,
            decoder_attention_heads=shape.heads,
            encoder_ffn_dim=shape.inner,
            decoder_ffn_dim=shape.inner,
            dropout=shape.dropout,
            activation_dropout=shape.dropout,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=PAD,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            forced_eos_token_id=None,
        )
        self.model: nn.Module = MarianMTModel(config)

    def forward(self, batch: Batch) -> Tensor:
        """Return logits_BTV."""
        source = batch.source.src_BS
        mask = (source != PAD).long()
        said = self.model(input_ids=source, attention_mask=mask, decoder_input_ids=batch.tgt_in_BT, use_cache=False)
        out: Tensor = said.logits
        return out


def plain_loop(
    model: nn.Module, precision: torch.dtype, smoothing: float = SMOOTHING
) -> Callable[[Batch, float], Tensor]:
    """Return an update as everybody writes it, of a batch at a learning rate; it returns the loss."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    model.train()

    def train(batch: Batch, rate: float) -> Tensor:
        optimizer.param_groups[0]["lr"] = rate
        with torch.autocast(batch.tgt_in_BT.device.type, torch.bfloat16, enabled=precision == torch.bfloat16):
            logits_BTV = model(batch)
            labels_BT = torch.full_like(batch.tgt_in_BT, -100).flatten().index_put((batch.real_M,), batch.labels_M)
            loss = F.cross_entropy(logits_BTV.flatten(0, 1), labels_BT, ignore_index=-100, label_smoothing=smoothing)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return train
