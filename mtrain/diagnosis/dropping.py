"""Whether training drops values, at every place as many as configured (paper section 5.4)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mtrain.batches.collate import Batch
from mtrain.config.schema import ModelConfig
from mtrain.diagnosis.finding import Finding, Findings, judged
from mtrain.diagnosis.probe import listening, logits_of, opened_gates, rms
from mtrain.model.attention import MultiHeadAttention
from mtrain.model.dropout import Dropout
from mtrain.model.embedding import TokenEmbedding
from mtrain.model.feedforward import FeedForward, GatedFeedForward
from mtrain.model.sublayer import PostNorm, PreNorm
from mtrain.model.transformer import Transformer
from mtrain.runtime import seed_from
from mtrain.training.step import Updater

# On a CPU, shares are whole 256ths; beside that, chance moves them by a few standard deviations.
_STEP, _DEVIATIONS = 1 / 256, 6
# None dropped means that none ever is where so many were to be expected.
_EXPECTED, _MANY = 20, 10**9


class _Place(NamedTuple):
    """A dropout, the share that the settings ask for, and whether it may be left to a kernel of PyTorch's own."""

    name: str
    dropout: Dropout
    p: float
    hidden: bool


class _Seen(NamedTuple):
    """How many values could be dropped, the share that was, and the factor by which the others grew."""

    values: int
    share: float
    growth: float


def check_dropout(model: Transformer, config: ModelConfig, updater: Updater, batch: Batch) -> Findings:
    """Run the model in train(), and let `updater` begin two updates; nothing is changed."""
    places = list(_places(model, config))
    seen: dict[nn.Module, _Seen] = {}
    with opened_gates(model):
        seed_from(1, "dropout")
        model.train()
        with torch.no_grad(), listening([place.dropout for place in places], lambda *call: _look(seen, *call)):
            logits_of(model, batch)
        yield _as_configured(places, seen)
        if any(place.p for place in places):
            yield _in_updates(updater, batch)
    model.eval()


def _places(model: Transformer, config: ModelConfig) -> Iterator[_Place]:
    shares = {
        TokenEmbedding: config.embedding_dropout,
        PreNorm: config.residual_dropout,
        PostNorm: config.residual_dropout,
        FeedForward: config.feed_forward_dropout,
        GatedFeedForward: config.feed_forward_dropout,
        MultiHeadAttention: config.attention_dropout,
    }
    for name, module in model.named_modules():
        if type(module) in shares and isinstance(module.dropout, Dropout):
            share = shares[type(module)]
            p = config.dropout if share < 0 else share
            yield _Place(f"{name}.dropout", module.dropout, p, hidden=isinstance(module, MultiHeadAttention))


def _look(seen: dict[nn.Module, _Seen], dropout: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
    values, kept = inputs[0] != 0, output != 0
    count, growth = int(values.sum()), rms(output[kept]) / max(rms(inputs[0][kept]), 1e-12) if bool(kept.any()) else 1.0
    seen[dropout] = _Seen(count, 1 - int((values & kept).sum()) / count if count else 0.0, growth)


def _as_configured(places: list[_Place], seen: dict[nn.Module, _Seen]) -> Finding:
    found = {place: seen.get(place.dropout) or _unheard(place) for place in places}
    causes = {place: _cause(place, found[place]) for place in places}
    worst = max(places, key=lambda place: (bool(causes[place]), abs(found[place].share - place.p)))
    measured = (
        f"of {len(places)} places, {worst.name} is farthest off: it zeroes {found[worst].share:.1%} and multiplies the "
        f"others by {found[worst].growth:.3f} ({worst.p:.1%}, {1 / (1 - worst.p):.3f})"
    )
    return judged("train() drops as many values as configured", measured, causes[worst])


def _unheard(place: _Place) -> _Seen:
    """Return what is known of a dropout that was not called: a hidden one does as it is told, others do nothing."""
    share = place.dropout.p if place.hidden else 0.0
    return _Seen(_MANY, share, 1 / (1 - share))


def _cause(place: _Place, seen: _Seen) -> str:
    p = place.p
    chance = _DEVIATIONS * (p * (1 - p) / max(seen.values, 1)) ** 0.5
    if seen.share == 0 and p > _STEP and seen.values * p > _EXPECTED:
        return "dropout_missing"
    unlike = abs(seen.share - p) > chance + _STEP / 2
    unscaled = seen.values > 0 and abs(seen.growth * (1 - p) - 1) > _STEP / (1 - p)
    return "dropout_wrong" if unlike or unscaled else ""


def _in_updates(updater: Updater, batch: Batch) -> Finding:
    one, other = (float(updater.gradient(number, [batch]).loss) for number in (1, 2))
    updater.model.zero_grad()
    measured = f"the loss of one batch is {one:.6g} in one update, {other:.6g} in the next (not the same)"
    return judged("each update drops other values", measured, "dropout_repeats" if one == other else "")
