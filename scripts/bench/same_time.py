"""Hugging Face's MarianMTModel, trained as long as a run of mtrain was: which translates better?

    python scripts/bench/same_time.py --config wenyan-small --minutes 30 [--rate 1e-3] [--set section.key=value]

The same prepared data, batches, shape, vocabulary, label smoothing, threads and precision as `mtrain fit` with that
config, in the plain loop that everybody writes: Adam, a warm-up and a rate that falls to zero when the minutes end. The
test split is then translated by `generate`, with the length penalty that is best on 200 pairs of dev, and scored as
`mtrain bleu` scores.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import mtrain  # noqa: F401  before torch, because it sets how OpenMP's threads wait

import torch  # isort: skip
from peers import Marian, Shape, plain_loop

from mtrain.batches.store import Prepared, open_prepared
from mtrain.batches.stream import TrainingStream
from mtrain.config.load import load_config
from mtrain.config.schema import Config
from mtrain.corpus.sources import SIDES, Split
from mtrain.evaluation.metrics import Scores, score
from mtrain.evaluation.report import render
from mtrain.runtime import choose_device, choose_precision, keep_freed_memory, set_threads
from mtrain.tokenizer import BOS, EOS, PAD

WARM_UP = 400
BEAM, AT_ONCE = 4, 32
PENALTIES = (0.6, 1.0, 1.5, 2.0)
DEV_PAIRS = 200


def shape_of(config: Config, vocabulary: int) -> Shape:
    """Return the config's shape."""
    model = config.model
    layers = model.encoder_layers, model.decoder_layers
    return Shape(vocabulary, model.d_model, model.heads, model.d_ff, *layers, model.dropout)


def train(model: Marian, stream: TrainingStream, config: Config, minutes: float, peak: float) -> None:
    """Train until the minutes are over."""
    device = choose_device(config.run.device)
    precision = choose_precision(config.training.precision, device)
    update = plain_loop(model.to(device), precision, config.training.label_smoothing)
    epoch = position = updates = tokens = 0
    began = time.perf_counter()
    while (spent := (time.perf_counter() - began) / (60 * minutes)) < 1:
        if position == stream.epoch_length(epoch):
            epoch, position = epoch + 1, 0
        (batch,) = stream.take(epoch, position, 1)
        loss = update(batch.to(device), peak * min((updates + 1) / WARM_UP, 1.0) * (1 - spent))
        position, updates, tokens = position + 1, updates + 1, tokens + batch.target_tokens
        if updates % 100 == 0:
            print(f"{updates} updates, {tokens:,} target tokens, {spent:.0%} of the time, loss {loss:.2f}", flush=True)


@torch.no_grad()
def translate(model: Marian, prepared: Prepared, lines: Sequence[str], penalty: float) -> list[str]:
    """Return the lines' translations by `generate`, lines of like length together."""
    tokenizers, device = prepared.tokenizers(), next(model.parameters()).device
    ids = tokenizers["source"].encode_batch(lines)
    found: dict[int, str] = {}
    order = sorted(range(len(lines)), key=lambda i: len(ids[i]))
    for first in range(0, len(lines), AT_ONCE):
        some = order[first : first + AT_ONCE]
        source = torch.nn.utils.rnn.pad_sequence([torch.tensor([*ids[i], EOS]) for i in some], True, PAD).to(device)
        said = model.model.generate(
            input_ids=source,
            attention_mask=(source != PAD).long(),
            num_beams=BEAM,
            length_penalty=penalty,
            max_length=2 * source.size(1) + 50,
        )
        rows = [[token for token in row if token not in (PAD, BOS, EOS)] for row in said.tolist()]
        found.update(zip(some, map(tokenizers["target"].decode, rows), strict=True))
    return [found[i] for i in range(len(lines))]


def main() -> None:
    """Train, translate, score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", required=True)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=1e-3, help="the highest learning rate")
    options = parser.parse_args()
    config = load_config(options.config, options.set)
    set_threads(config.run.threads)
    keep_freed_memory()
    torch.manual_seed(config.run.seed)
    prepared = open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)
    stream = TrainingStream(prepared.examples("train"), config.batches, config.run.seed)
    model = Marian(shape_of(config, prepared.tokenizers()["target"].vocabulary_size))
    train(model, stream, config, options.minutes, options.rate)
    stream.close()
    model.eval()

    def scored(split: Split, penalty: float, pairs: int | None = None) -> Scores:
        sources, references = (prepared.lines(split, side)[:pairs] for side in SIDES)
        translations = translate(model, prepared, sources, penalty)
        return score(translations, references, sources, config.corpus.target_language)

    on_dev = {penalty: scored("dev", penalty, DEV_PAIRS).bleu for penalty in PENALTIES}
    best = max(on_dev, key=lambda penalty: on_dev[penalty])
    print(f"length penalty {best:g}, of {', '.join(f'{p:g}: {bleu:.2f}' for p, bleu in on_dev.items())}")
    print(render(scored("test", best)))


if __name__ == "__main__":
    main()
