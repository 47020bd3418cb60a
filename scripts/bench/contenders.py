"""The trainers that `train_speed.py` compares: one of them in this process, training whenever a line on stdin says so.

    python scripts/bench/contenders.py mtrain|Marian|torch fp32|bf16 DEVICE THREADS BATCHES

A line "FIRST COUNT" trains on these batches; the answer, on stdout, is a line of JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

if sys.argv[1] == "mtrain":
    import mtrain  # noqa: F401  before torch, because it sets how OpenMP's threads wait; the others keep the default

import numpy as np  # isort: skip
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtrain.batches.collate import Batch, collate
from mtrain.batches.sampler import Lengths, epoch_batches
from mtrain.config.schema import ModelConfig, TrainingConfig
from mtrain.model.build import build_model
from mtrain.runtime import keep_freed_memory, set_threads
from mtrain.tokenizer import BOS, EOS, PAD
from mtrain.training.optimizer import build_optimizer
from mtrain.training.step import BatchLoss, Updater

VOCABULARY, WIDTH, HEADS, INNER, LAYERS = 8000, 256, 4, 1024, 3
DROPOUT, SMOOTHING, CLIP, RATE = 0.1, 0.1, 1.0, 1e-4
TOKENS_PER_BATCH = 4096
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}

Train = Callable[[Batch], object]


def make_batches(count: int) -> list[Batch]:
    """Return batches with the lengths of ordinary text: about 25 tokens, long tail, sides correlated."""
    generator = np.random.default_rng(0)
    target = np.clip(generator.gamma(2.5, 11.0, 40_000), 3, 200).astype(np.int32)
    source = np.clip(target * generator.normal(0.8, 0.1, 40_000), 2, 200).astype(np.int32)
    lengths = Lengths(source + 1, target + 1)
    order = epoch_batches(lengths, np.arange(40_000), TOKENS_PER_BATCH, seed=1, epoch=0)[:count]
    return [
        collate(
            [generator.integers(260, VOCABULARY, source[i]) for i in indices],
            [generator.integers(260, VOCABULARY, target[i]) for i in indices],
        )
        for indices in order
    ]


def mtrain_contender(precision: str, device: torch.device) -> Train:
    """Train as `mtrain fit` does."""
    keep_freed_memory()
    config = ModelConfig(
        d_model=WIDTH, heads=HEADS, d_ff=INNER, encoder_layers=LAYERS, decoder_layers=LAYERS, dropout=DROPOUT
    )
    model = build_model(config, VOCABULARY, VOCABULARY).to(device)
    loss = BatchLoss(model, SMOOTHING, DTYPES[precision])
    updater = Updater(loss, build_optimizer(model, TrainingConfig()), CLIP, seed=1)
    return lambda batch: updater.update(1, [batch], RATE)


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with the embeddings and the output layer that it lacks."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(512, WIDTH)
        self.transformer = nn.Transformer(
            WIDTH, HEADS, LAYERS, LAYERS, INNER, DROPOUT, batch_first=True, norm_first=True
        )
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, src_BS: Tensor, hidden_BS: Tensor, tgt_in_BT: Tensor) -> Tensor:
        """Return logits_BTV; `hidden_BS` is True at padding, as nn.Transformer has it."""
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
        out: Tensor = self.dropout(self.embedding(tokens) * WIDTH**0.5 + self.positions(places))
        return out


def torch_contender(precision: str, device: torch.device) -> Train:
    """Train torch.nn.Transformer in a plain loop."""
    model = TorchTransformer().to(device)
    return _plain_loop(model, lambda b: model(b.source.src_BS, b.source.src_BS == PAD, b.tgt_in_BT), precision)


def hugging_face_contender(precision: str, device: torch.device) -> Train:
    """Train MarianMTModel in a plain loop. Raises: ImportError where transformers is not installed."""
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER,
        dropout=DROPOUT,
        activation_dropout=DROPOUT,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        use_cache=False,
    )
    model: nn.Module = MarianMTModel(config)
    model.to(device)

    def logits(batch: Batch) -> Tensor:
        source = batch.source.src_BS
        out: Tensor = model(
            input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=batch.tgt_in_BT
        ).logits
        return out

    return _plain_loop(model, logits, precision)


def _plain_loop(model: nn.Module, logits_of: Callable[[Batch], Tensor], precision: str) -> Train:
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9, fused=True)
    model.train()

    def train(batch: Batch) -> None:
        with torch.autocast(batch.tgt_in_BT.device.type, torch.bfloat16, enabled=precision == "bf16"):
            logits_BTV = logits_of(batch)
            labels_BT = torch.full_like(batch.tgt_in_BT, -100).flatten().index_put((batch.real_M,), batch.labels_M)
            loss = F.cross_entropy(logits_BTV.flatten(0, 1), labels_BT, ignore_index=-100, label_smoothing=SMOOTHING)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()

    return train


CONTENDERS = {"mtrain": mtrain_contender, "Marian": hugging_face_contender, "torch": torch_contender}


def model_flops(batch: Batch) -> float:
    """Return the floating-point operations of an update: 6 per matrix weight and real token it serves, no attention."""
    source, target = batch.source_tokens, batch.target_tokens
    square, feed_forward = WIDTH * WIDTH, 2 * WIDTH * INNER
    encoder = LAYERS * (4 * square + feed_forward) * source
    decoder = LAYERS * ((4 + 2) * square + feed_forward) * target + LAYERS * 2 * square * source
    return 6.0 * (encoder + decoder + VOCABULARY * WIDTH * target)


def peak_memory(device: torch.device) -> int:
    """Return the most bytes that this process ever held; on a GPU, there."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    status = Path("/proc/self/status").read_text("utf-8")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) * 1024


def timed(work: Callable[[], object], device: torch.device) -> float:
    """Return the seconds that `work` takes, the device's queue included."""
    began = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def main() -> None:
    """Train when told to."""
    name, precision, device_name, threads, count = sys.argv[1:]
    device = torch.device(device_name)
    set_threads(int(threads))
    train = CONTENDERS[name](precision, device)
    batches = [batch.to(device) for batch in make_batches(int(count))]
    for line in sys.stdin:
        first, number = map(int, line.split())
        mine = batches[first : first + number]
        seconds = timed(lambda: [train(batch) for batch in mine], device)  # noqa: B023
        answer = {
            "tokens_per_second": sum(batch.target_tokens for batch in mine) / seconds,
            "flops_per_second": sum(map(model_flops, mine)) / seconds,
            "peak_memory": peak_memory(device),
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
