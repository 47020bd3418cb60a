"""The trainers that `train_speed.py` compares: one of them in this process, training whenever a line on stdin says so.

    python scripts/bench/contenders.py mtrain|Marian|torch fp32|bf16 DEVICE THREADS BATCHES

A line "FIRST COUNT" trains on these batches; the answer, on stdout, is a line of JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

if sys.argv[1] == "mtrain":
    import mtrain  # noqa: F401  before torch, because it sets how OpenMP's threads wait; the others keep the default

import numpy as np  # isort: skip
import torch
from peers import CLIP, SMOOTHING, Marian, Shape, TorchTransformer, plain_loop
from torch import nn

from mtrain.batches.collate import Batch, collate
from mtrain.batches.sampler import Lengths, epoch_batches
from mtrain.config.schema import ModelConfig, TrainingConfig
from mtrain.model.build import build_model
from mtrain.runtime import keep_freed_memory, set_threads
from mtrain.training.optimizer import build_optimizer
from mtrain.training.step import BatchLoss, Updater

SHAPE = Shape()
RATE = 1e-4
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
            [generator.integers(260, SHAPE.vocabulary, source[i]) for i in indices],
            [generator.integers(260, SHAPE.vocabulary, target[i]) for i in indices],
        )
        for indices in order
    ]


def mtrain_contender(precision: str, device: torch.device) -> Train:
    """Train as `mtrain fit` does."""
    keep_freed_memory()
    config = ModelConfig(
        d_model=SHAPE.width,
        heads=SHAPE.heads,
        d_ff=SHAPE.inner,
        encoder_layers=SHAPE.encoder_layers,
        decoder_layers=SHAPE.decoder_layers,
        dropout=SHAPE.dropout,
    )
    model = build_model(config, SHAPE.vocabulary, SHAPE.vocabulary).to(device)
    loss = BatchLoss(model, SMOOTHING, DTYPES[precision])
    updater = Updater(loss, build_optimizer(model, TrainingConfig()), CLIP, seed=1)
    return lambda batch: updater.update(1, [batch], RATE)


def peer(kind: Callable[[Shape], nn.Module], precision: str, device: torch.device) -> Train:
    """Train another toolkit's model in a plain loop."""
    train = plain_loop(kind(SHAPE).to(device), DTYPES[precision])
    return lambda batch: train(batch, RATE)


CONTENDERS: dict[str, Callable[[str, torch.device], Train]] = {
    "mtrain": mtrain_contender,
    "Marian": partial(peer, Marian),
    "torch": partial(peer, TorchTransformer),
}


def model_flops(batch: Batch) -> float:
    """Return the floating-point operations of an update: 6 per matrix weight and real token it serves, no attention."""
    source, target = batch.source_tokens, batch.target_tokens
    square, feed_forward = SHAPE.width**2, 2 * SHAPE.width * SHAPE.inner
    encoder = SHAPE.encoder_layers * (4 * square + feed_forward) * source
    decoder = SHAPE.decoder_layers * ((4 + 2) * square + feed_forward) * target
    memory = SHAPE.decoder_layers * 2 * square * source  # keys and values of cross-attention
    return 6.0 * (encoder + decoder + memory + SHAPE.vocabulary * SHAPE.width * target)


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
