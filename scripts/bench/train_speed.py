"""How fast training is, against peers of the same shape on the same batches.

    python scripts/bench/train_speed.py [--rounds 7] [--device cpu]

mtrain, Hugging Face's MarianMTModel (where `transformers` is installed) and torch.nn.Transformer, each in fp32 and in
bf16 autocast, take turns (A B C A B C ...), so that a machine that changes its speed changes it for all. Printed for
each: median real target tokens per second, the ratio of mtrain to it round by round, model-FLOPs utilisation against
the speed of plain matrix products measured in the same run, and peak memory of a process that trains nothing else.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import mtrain  # noqa: F401  before torch: it sets how OpenMP waits

import numpy as np  # isort: skip
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtrain.batches.collate import Batch, collate
from mtrain.batches.sampler import Lengths, epoch_batches
from mtrain.config.schema import ModelConfig, TrainingConfig
from mtrain.model.build import build_model
from mtrain.runtime import set_threads
from mtrain.tokenizer import BOS, EOS, PAD
from mtrain.training.optimizer import build_optimizer
from mtrain.training.step import Updater

VOCABULARY, WIDTH, HEADS, INNER, LAYERS = 8000, 256, 4, 1024, 3
DROPOUT, SMOOTHING, CLIP, RATE = 0.1, 0.1, 1.0, 1e-4
TOKENS_PER_BATCH, BATCHES_PER_TURN = 4096, 3
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}

Train = Callable[[Batch], None]


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
    config = ModelConfig(WIDTH, HEADS, INNER, LAYERS, LAYERS, DROPOUT)
    model = build_model(config, VOCABULARY).to(device)
    updater = Updater(model, build_optimizer(model, TrainingConfig()), SMOOTHING, CLIP, DTYPES[precision], seed=1)
    return lambda batch: updater.update(1, [batch], RATE) and None


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
    model = MarianMTModel(config).to(device)

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


def product_speed(dtype: torch.dtype, device: torch.device) -> float:
    """Return FLOP/s of square matrix products, the best of a few."""
    size = 2048 if device.type == "cpu" else 8192
    a, b = (torch.randn(size, size, dtype=dtype, device=device) for _ in range(2))
    best = 0.0
    for _ in range(6):
        seconds = timed(lambda: a @ b, device)
        best = max(best, 2 * size**3 / seconds)
    return best


def timed(work: Callable[[], object], device: torch.device) -> float:
    """Return the seconds that `work` takes, the device's queue included."""
    began = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def peak_memory(name: str, precision: str, device: str) -> str:
    """Return the peak memory of a fresh process that makes a few updates with one contender."""
    command = [sys.executable, __file__, "--memory-of", name, precision, "--device", device]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def print_memory_of(name: str, precision: str, device: torch.device) -> None:
    """Train a little and print this process's peak memory."""
    train = CONTENDERS[name](precision, device)
    for batch in make_batches(6):
        train(batch.to(device))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if device.type == "cuda":
        peak = torch.cuda.max_memory_allocated() / 2**20
    print(f"{peak:,.0f} MiB")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: all cores")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    device = torch.device(options.device)
    threads = set_threads(options.threads)
    if options.memory_of:
        print_memory_of(*options.memory_of, device)
        return
    contenders: dict[tuple[str, str], Train] = {}
    for name, make in CONTENDERS.items():
        for precision in DTYPES:
            try:
                contenders[name, precision] = make(precision, device)
            except ImportError as error:
                print(f"without {name}: {error}", file=sys.stderr)
    batches = [batch.to(device) for batch in make_batches(BATCHES_PER_TURN * options.rounds + 1)]
    for train in contenders.values():
        train(batches[-1])
    speeds: dict[tuple[str, str], list[float]] = {key: [] for key in contenders}
    flops: dict[tuple[str, str], list[float]] = {key: [] for key in contenders}
    for turn in range(options.rounds):
        mine = batches[turn * BATCHES_PER_TURN : (turn + 1) * BATCHES_PER_TURN]
        for key, train in contenders.items():
            seconds = timed(lambda: [train(batch) for batch in mine], device)  # noqa: B023
            speeds[key].append(sum(batch.target_tokens for batch in mine) / seconds)
            flops[key].append(sum(map(model_flops, mine)) / seconds)
    ceilings = {precision: product_speed(dtype, device) for precision, dtype in DTYPES.items()}
    print(f"{device}, {threads} threads, torch {torch.__version__}; matrix products: ", end="")
    print(", ".join(f"{precision} {speed / 1e9:,.0f} GFLOP/s" for precision, speed in ceilings.items()))
    print(f"{'':14}{'target tok/s':>14}{'mtrain is':>12}{'utilisation':>13}{'peak memory':>14}")
    for (name, precision), measured in speeds.items():
        ratio = statistics.median(a / b for a, b in zip(speeds["mtrain", precision], measured, strict=True))
        share = statistics.median(flops[name, precision]) / ceilings[precision]
        memory = peak_memory(name, precision, options.device)
        print(f"{name:8}{precision:6}{statistics.median(measured):>14,.0f}{ratio:>11.2f}x{share:>13.0%}{memory:>14}")


if __name__ == "__main__":
    main()
