"""The test that a model can learn at all: twenty pairs by heart, said again word for word by decoding alone."""

import time
from collections.abc import Sequence

import torch

from mtrain.batches.collate import Batch, collate
from mtrain.decoding.beam import Beam, beam_search
from mtrain.decoding.length import length_penalty, longest_translation
from mtrain.decoding.steps import TransformerSteps
from mtrain.diagnosis.finding import Finding, Findings, Verdict, judged
from mtrain.diagnosis.probe import weights_put_back, without_dropout
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import EOS
from mtrain.training.step import BatchLoss, Updater, batch_loss
from mtrain.training.validation import dev_losses

Ids = Sequence[int]

PAIRS = 20
_LEARNED = 0.05  # nats a token
_MOST_UPDATES, _BETWEEN_LOOKS = 1000, 20
# What a peak rate for d_model 256 and no warm-up was found to bear; narrower models bear and need more.
_RATE, _RATE_WIDTH = 1e-3, 256
_COLD = 0.5


def check_overfitting(model: Transformer, sources: Sequence[Ids], targets: Sequence[Ids], seconds: float) -> Findings:
    """Train on these pairs, without dropout, smoothing and schedule, for at most so many seconds, and put all back."""
    batch = collate(sources, targets).to(model.output.weight.device)
    with weights_put_back(model), without_dropout(model):
        began = time.perf_counter()
        updates, right = _learn(model, batch, targets, began + seconds)
        in_time = time.perf_counter() < began + seconds
        loss, gain = dev_losses(model, [batch], torch.float32)
        first, rest = _first_and_rest(model, batch)
        told = f"{updates} updates, {time.perf_counter() - began:.0f} s"
    learned, cold = loss <= _LEARNED, first > max(_COLD, 3 * rest)
    cause = "" if learned else "first_token_cold" if cold else "cannot_learn" if in_time else "time_is_up"
    verdict: Verdict = "suspicious" if cause == "time_is_up" else "broken"
    measured = f"loss {loss:.3f} nats after {told} (at most {_LEARNED:g})"
    yield judged(f"{len(targets)} pairs can be learnt by heart", measured, cause, verdict)
    cause = "" if right == len(targets) else cause or "decoding_differs"
    measured = f"{right} of {len(targets)} word for word, step by step from BOS (all)"
    yield judged("what was learnt by heart is translated rightly", measured, cause, verdict)
    measured = f"loss {first:.3f} at the first target token, {rest:.3f} at the others ({_COLD:g}, or 3 times that)"
    yield judged("the first token is learnt from the source", measured, "first_token_cold" if cold else "")
    if learned:
        yield _gain(gain)


def _gain(gain: float | None) -> Finding:
    worth = 0.0 if gain is None else gain
    measured = f"the loss with another pair's source is {worth:.2f} nats higher (at least 0.5)"
    return judged("what was learnt by heart hangs on the source", measured, "source_ignored" if worth < 0.5 else "")


def _learn(model: Transformer, batch: Batch, targets: Sequence[Ids], until: float) -> tuple[int, int]:
    """Return the updates made and the pairs that come out right at the end."""
    width = model.output.weight.size(1)
    rate = _RATE * (_RATE_WIDTH / width) ** 0.5
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98), fused=True)
    updater, right = Updater(BatchLoss(model, 0.0, torch.float32), optimizer, 1.0, seed=1), 0
    for number in range(1, _MOST_UPDATES + 1):
        updater.update(number, [batch], rate)
        if number % _BETWEEN_LOOKS:
            continue
        loss = _loss(model, batch)
        over = loss < _LEARNED / 10 or time.perf_counter() > until
        if loss < _LEARNED or over:
            right = _reproduced(model, batch, targets)
        if over or (loss < _LEARNED and right == len(targets)):
            return number, right
    return _MOST_UPDATES, right


@torch.no_grad()
def _loss(model: Transformer, batch: Batch) -> float:
    model.eval()
    return float(batch_loss(model, batch, 0.0, torch.float32).nll) / batch.target_tokens


@torch.no_grad()
def _reproduced(model: Transformer, batch: Batch, targets: Sequence[Ids]) -> int:
    """Return how many pairs greedy decoding gives back."""
    model.eval()
    real_B = torch.tensor([len(target) for target in targets], device=batch.tgt_in_BT.device)
    longest_B = longest_translation(real_B, 1.0, 5)
    greedy = Beam(width=1, penalty=length_penalty("gnmt", 0.0))
    hypotheses = beam_search(TransformerSteps(model, batch.source), longest_B, greedy)
    return sum(found.tokens == list(target) for (found,), target in zip(hypotheses, targets, strict=True))


def _first_and_rest(model: Transformer, batch: Batch) -> tuple[float, float]:
    """Return the mean loss of first target tokens, and of all others."""
    T = batch.tgt_in_BT.size(1)
    first_M = batch.real_M % T == 0
    return _loss(model, _only(batch, first_M)), _loss(model, _only(batch, ~first_M))


def _only(batch: Batch, some_M: torch.Tensor) -> Batch:
    return Batch(batch.source, batch.tgt_in_BT, batch.labels_M[some_M], batch.real_M[some_M], batch.source_tokens)


def choose_pairs(pairs: Sequence[tuple[Ids, Ids]]) -> tuple[list[Ids], list[Ids]]:
    """Return the first twenty short pairs that can be told apart by what is in their sources, in whatever order.

    Where the training data have too few short ones, longer ones take their place, and then those of a word or two.
    """
    seen: set[tuple[int, ...]] = set()
    sources: list[Ids] = []
    targets: list[Ids] = []
    for source, target in sorted(pairs, key=_usefulness):
        kind = tuple(sorted(source))
        if len(sources) < PAIRS and kind not in seen and EOS not in target:
            seen.add(kind)
            sources.append(source)
            targets.append(target)
    return sources, targets


def _usefulness(pair: tuple[Ids, Ids]) -> tuple[bool, int]:
    """Return what sorts the best pairs to the front."""
    lengths = [len(side) for side in pair]
    return min(lengths) <= 2, max(10, *lengths)
