"""What goes into a batch and what its loss is: held against the pairs and the formula, written out naively."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from mtrain.batches.collate import Batch
from mtrain.config.schema import TrainingConfig
from mtrain.diagnosis.finding import Finding, Findings, judged
from mtrain.diagnosis.probe import logits_of
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import BOS, EOS, PAD
from mtrain.training.objective import Loss

Ids = Sequence[int]

# Nats between the loss of a fresh model and ln V: tied weights and a wide model make it surer of itself, and wrong.
_ABOVE, _BELOW = 3.0, 0.5
_SAME_LOSS = 5e-5
# Of a tensor's gradient; smaller ones than this part of the whole are left to rounding.
_SAME_GRADIENT, _NEGLIGIBLE = 1e-3, 1e-3


def check_batch(batch: Batch, sources: Sequence[Ids], targets: Sequence[Ids]) -> Findings:
    """Compare a batch with the pairs that it is made of."""
    yield _sources(batch, sources, targets)
    yield _padding(batch)
    yield _inputs(batch, targets)
    yield _labels(batch, targets)


def _sources(batch: Batch, sources: Sequence[Ids], targets: Sequence[Ids]) -> Finding:
    rows = [_until_padding(row) for row in batch.source.src_BS.tolist()]
    wanted = [[*source, EOS] for source in sources]
    wrong = sum(row != want for row, want in zip(rows, wanted, strict=True))
    cause = ""
    if wrong:
        cause = _first_that_fits(
            rows,
            {
                "target_as_source": [[*target, EOS] for target in targets],
                "source_without_eos": [list(source) for source in sources],
            },
        )
        if not cause:
            cause = "sources_shuffled" if sorted(rows) == sorted(wanted) else _changed(rows, wanted)
    return judged("each row's source is that of its pair, closed by EOS", f"{wrong} of {len(rows)} rows are not", cause)


def _padding(batch: Batch) -> Finding:
    real_BS = batch.source.src_BS != PAD
    keep_BS = torch.ones_like(real_BS) if batch.source.keep_BS is None else batch.source.keep_BS
    wrong = int((keep_BS != real_BS).sum())
    inverted = bool((keep_BS == ~real_BS).all())
    measured = f"{wrong} of {keep_BS.numel()} places are not"
    cause = "" if not wrong else "keep_inverted" if inverted else "keep_wrong"
    return judged("keep is True exactly where a source token stands", measured, cause)


def _inputs(batch: Batch, targets: Sequence[Ids]) -> Finding:
    rows = [_until_padding(row) for row in batch.tgt_in_BT.tolist()]
    wanted = [[BOS, *target] for target in targets]
    wrong = sum(row != want for row, want in zip(rows, wanted, strict=True))
    slips = {
        "bos_missing": [list(target) for target in targets],
        "labels_not_shifted": [[*target, EOS] for target in targets],
    }
    cause = (_first_that_fits(rows, slips) or _changed(rows, wanted)) if wrong else ""
    if wrong and [row[1:] for row in rows] == [row[1:] for row in wanted]:
        cause = "bos_missing"
    return judged("each row's target input is BOS and its target", f"{wrong} of {len(rows)} rows are not", cause)


def _labels(batch: Batch, targets: Sequence[Ids]) -> Finding:
    T = batch.tgt_in_BT.size(1)
    rows: list[list[int]] = [[] for _ in targets]
    for place, label in zip(batch.real_M.tolist(), batch.labels_M.tolist(), strict=True):
        rows[place // T].append(label)
    wanted = [[*target, EOS] for target in targets]
    wrong = sum(row != want for row, want in zip(rows, wanted, strict=True))
    slips = {
        "eos_never_trained": [list(target) for target in targets],
        "labels_not_shifted": [[BOS, *target] for target in targets],
        "padding_trained": [want + [PAD] * (T - len(want)) for want in wanted],
    }
    cause = (_first_that_fits(rows, slips) or _changed(rows, wanted)) if wrong else ""
    return judged("labels are the target one token ahead, closed by EOS", f"{wrong} of {len(rows)} rows are not", cause)


def _first_that_fits(rows: list[list[int]], slips: dict[str, list[list[int]]]) -> str:
    return next((cause for cause, slip in slips.items() if rows == slip), "")


def _changed(rows: list[list[int]], wanted: list[list[int]]) -> str:
    """Return what has become of sentences that are neither right nor of another known kind."""
    if all(row[:-1] == want[: len(row) - 1] for row, want in zip(rows, wanted, strict=True)):
        return "sentences_truncated"
    for piece in {piece for want in wanted for piece in want}:
        if rows == [[other for other in want if other != piece] for want in wanted]:
            return "wrong_pad"
    return "sentences_changed"


def _until_padding(row: list[int]) -> list[int]:
    while row and row[-1] == PAD:
        row = row[:-1]
    return row


@torch.no_grad()
def check_loss(loss: Callable[[Batch], Loss], model: Transformer, batch: Batch, config: TrainingConfig) -> Findings:
    """Compare the loss of training with the formula and with the usual slips; the model is at rest."""
    smoothing = f"smoothing {config.label_smoothing:g} over {config.smoothing_over}"
    log_p_MV = _log_probabilities(model, batch)
    # Smoothing hardly shows where a fresh model finds all labels alike: there it does where they are its favourites.
    for labels_M, which in ((batch.labels_M, "the labels"), (log_p_MV.argmax(dim=1), "the likeliest tokens as labels")):
        here = replace(batch, labels_M=labels_M)
        found = loss(here)
        wanted_M = _smoothed(log_p_MV, labels_M, config.label_smoothing, config.smoothing_over == "all")
        cause = _slip(float(found.smoothed), here, wanted_M, log_p_MV, config)
        yield judged(f"loss of {which}: the formula's, {smoothing}", _compared(found.smoothed, wanted_M), cause)
    plain_M = _smoothed(log_p_MV, batch.labels_M, 0.0, False)
    nll = loss(batch).nll
    cause = "" if _near(float(nll), plain_M.sum()) else "loss_formula_wrong"
    yield judged("loss that is told: the formula's, without smoothing", _compared(nll, plain_M), cause)
    yield _gradient(loss, model, batch, config)


def _gradient(loss: Callable[[Batch], Loss], model: Transformer, batch: Batch, config: TrainingConfig) -> Finding:
    """Compare the gradient, which the loss computes itself, with what autograd makes of the naive formula."""
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    with torch.enable_grad():
        over_all = config.smoothing_over == "all"
        naive = _smoothed(_log_probabilities(model, batch), batch.labels_M, config.label_smoothing, over_all).sum()
        found, wanted = (
            torch.autograd.grad(value, list(trained.values()), allow_unused=True, materialize_grads=True)
            for value in (loss(batch).smoothed, naive)
        )
    norms = [float(gradient.norm()) for gradient in wanted]
    # Some gradients are 0 but for rounding, such as that of the keys' biases.
    least = _NEGLIGIBLE * math.hypot(*norms)
    gaps = {
        name: float((one - other).norm()) / max(norm, least)
        for name, one, other, norm in zip(trained, found, wanted, norms, strict=True)
    }
    worst = max(gaps, key=lambda name: gaps[name])
    off = f"by {gaps[worst]:.1g} of its norm (at most {_SAME_GRADIENT:.1g})"
    measured = f"of {len(gaps)} tensors, that of {worst} is farthest off, {off}"
    bad = not gaps[worst] <= _SAME_GRADIENT
    return judged("gradient of the loss: that of the formula", measured, "loss_gradient_wrong" if bad else "")


def _compared(found: Tensor, wanted_M: Tensor) -> str:
    off, tokens = float(found / wanted_M.sum().clamp_min(1e-9)) - 1, wanted_M.numel()
    return f"{float(found) / tokens:.4f} nats a token, {off:+.3%} off (within {_SAME_LOSS:.3%})"


def _near(found: float, wanted: Tensor) -> bool:
    return abs(found / max(float(wanted), 1e-9) - 1) <= _SAME_LOSS


def check_first_loss(model: Transformer, batch: Batch) -> Findings:
    """Whether a fresh model is nearly undecided; it is at rest.

    Each position's own token is no candidate: with tied weights and little between input and output, it is the
    likeliest one by far.
    """
    logits_MV = _real_rows(logits_of(model, batch).float(), batch)
    own_M1 = _real_rows(batch.tgt_in_BT[:, :, None], batch)
    others_MV = logits_MV.scatter(1, own_M1, float("-inf"))
    different = own_M1[:, 0] != batch.labels_M
    nll_M = -others_MV.log_softmax(dim=-1).gather(1, batch.labels_M[:, None])[:, 0]
    value, ln_V = float(nll_M[different].mean()), math.log(logits_MV.size(1))
    cause = "" if -_BELOW <= value - ln_V <= _ABOVE else "first_loss_high" if value > ln_V else "first_loss_low"
    measured = f"{value:.2f} nats, ln V is {ln_V:.2f} (from {_BELOW:g} below to {_ABOVE:g} above)"
    yield judged("a fresh model is nearly undecided", measured, cause, "suspicious" if value < ln_V else "broken")


def _slip(found: float, batch: Batch, wanted_M: Tensor, log_p_MV: Tensor, config: TrainingConfig) -> str:
    """Return which of the usual slips gives the loss that was found; none where it is the one wanted."""
    labels_M, smoothing, over_all = batch.labels_M, config.label_smoothing, config.smoothing_over == "all"
    slips = {
        "": wanted_M.sum(),
        "eos_never_trained": wanted_M[labels_M != EOS].sum(),
        "smoothing_wrong": _smoothed(log_p_MV, labels_M, smoothing, not over_all).sum(),
        "loss_divided": wanted_M.mean(),
        "labels_not_shifted": _smoothed(log_p_MV, _inputs_of(batch), smoothing, over_all).sum(),
    }
    for cause, value in slips.items():
        if _near(found, value):
            return cause
    if _near(found, _smoothed(log_p_MV, labels_M, 0.0, False).sum()):
        return "smoothing_wrong"
    pieces = sorted(set(labels_M.tolist()))
    if any(_near(found, wanted_M[labels_M != piece].sum()) for piece in pieces):
        return "wrong_pad"
    return "loss_formula_wrong"


def _smoothed(log_p_MV: Tensor, labels_M: Tensor, smoothing: float, over_all: bool) -> Tensor:
    """Return the loss of each position, the target distribution written out."""
    V = log_p_MV.size(1)
    share = smoothing / V if over_all else smoothing / (V - 1)
    target_MV = torch.full_like(log_p_MV, share)
    target_MV.scatter_(1, labels_M[:, None], 1 - smoothing + (share if over_all else 0.0))
    return -(target_MV * log_p_MV).sum(dim=1)


def _log_probabilities(model: Transformer, batch: Batch) -> Tensor:
    return _real_rows(logits_of(model, batch).float(), batch).log_softmax(dim=-1)


def _inputs_of(batch: Batch) -> Tensor:
    return _real_rows(batch.tgt_in_BT[:, :, None], batch)[:, 0]


def _real_rows(values_BTX: Tensor, batch: Batch) -> Tensor:
    return values_BTX.flatten(0, 1)[batch.real_M]
