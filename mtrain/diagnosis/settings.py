"""The config's own optimiser, rate and clipping, on a fresh model and real batches, for a few dozen updates."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mtrain.batches.collate import Batch
from mtrain.diagnosis.finding import Finding, Findings, Verdict, judged
from mtrain.training.step import Updater, UpdateReport

UPDATES = 40
_WARM_UP = 10
_TAIL = 8
# Nats by which the loss of the last updates must have fallen, and may have risen.
_LEAST_FALL = 0.05
# The norm before clipping over that after it: a model that has just begun has about 2 to 20.
_CLIPPED, _CRUSHED = 50.0, 500.0
# The share of its size by which an update changes a weight, on average.
_TOO_LARGE, _TOO_SMALL = 1.0, 1e-3
# Shorter warm-ups than this cannot be told from none; the paper smooths by 0.1.
_SHORT_WARM_UP, _MOST_SMOOTHING = 10, 0.3


def check_schedule(rates: Sequence[float], smoothing: float) -> Findings:
    """`rates` are those of the updates of the warm-up, in which the learning rate is to rise."""
    measured = f"from {rates[0]:.2g} at the first update to {max(rates):.2g}, within {len(rates):,} updates"
    flat = len(rates) >= _SHORT_WARM_UP and rates[0] > max(rates) / 2
    yield judged("the learning rate warms up", measured, "schedule_flat" if flat else "")
    cause: str = "smoothing_high" if smoothing > _MOST_SMOOTHING else ""
    measured = f"{smoothing:.0%} of the probability (at most {_MOST_SMOOTHING:.0%})"
    yield judged("label smoothing leaves the reference its part", measured, cause, "suspicious")


def check_settings(updater: Updater, batches: Sequence[Batch], rate: float, clip_norm: float) -> Findings:
    """Train a fresh model at the peak rate `rate`, after a rise over ten updates; the caller puts the weights back."""
    after_clip: list[float] = []
    step = updater.optimizer.step

    def heard_step() -> None:
        grads = [parameter.grad for parameter in updater.model.parameters() if parameter.grad is not None]
        after_clip.append(_norm(grads))
        step()

    updater.optimizer.step = heard_step  # type: ignore[method-assign]
    weights = [parameter for parameter in updater.model.parameters() if parameter.dim() > 1]
    before = [weight.detach().clone() for weight in weights]
    reports, change = [], 0.0
    for number, batch in enumerate(batches, start=1):
        here = rate * min(1.0, number / _WARM_UP)
        reports.append(updater.update(number, [batch], here))
        if number == 1:
            moved = [weight.detach() - old for weight, old in zip(weights, before, strict=True)]
            change = _WARM_UP * _norm(moved) / max(_norm(before), 1e-12)
            yield _obedience(updater, here)
    yield _rate(reports, rate, change)
    yield _clipping(reports, after_clip, clip_norm)


def _obedience(updater: Updater, rate: float) -> Finding:
    """Look at what the first update has left behind."""
    obeyed = sorted({float(group["lr"]) for group in updater.optimizer.param_groups})
    kept = [name for name, weight in updater.model.named_parameters() if weight.grad is not None and weight.grad.any()]
    measured = f"its rate is {obeyed[0]:.2g} to {obeyed[-1]:.2g} ({rate:.2g}), {len(kept)} gradients are kept (0)"
    cause = "rate_ignored" if obeyed != [rate] else "gradient_kept" if kept else ""
    return judged("an update obeys its rate and forgets its gradient", measured, cause)


def _rate(reports: list[UpdateReport], rate: float, change: float) -> Finding:
    losses = [float(report.nll) / report.target_tokens for report in reports]
    first, last = losses[0], sum(losses[-_TAIL:]) / len(losses[-_TAIL:])
    measured = (
        f"at the peak rate {rate:.2g} the loss goes from {first:.2f} to {last:.2f} in {len(losses)} updates (down by "
        f"{_LEAST_FALL:g} or more); an update changes weights by {change:.1%} of their size (at most {_TOO_LARGE:.0%})"
    )
    cause = ""
    if change > _TOO_LARGE or not last <= first + _LEAST_FALL:
        cause = "learning_rate_high"
    elif last > first - _LEAST_FALL:
        cause = "learning_rate_low" if change < _TOO_SMALL else "learning_rate_high"
    return judged("the learning rate makes the loss fall", measured, cause)


def _clipping(reports: list[UpdateReport], after_clip: list[float], clip_norm: float) -> Finding:
    norms = [float(report.gradient_norm) for report in reports]
    factors = sorted(norm / max(after, 1e-30) for norm, after in zip(norms, after_clip, strict=False))
    median = factors[len(factors) // 2] if factors else 1.0
    typical = sorted(norms)[len(norms) // 2]
    measured = f"gradients of norm {typical:.2g} are divided by {median:.2g} (at most {_CLIPPED:g}; medians)"
    if clip_norm and max(after_clip, default=0.0) > 1.01 * clip_norm:
        measured = f"a gradient of norm {max(after_clip):.2g} is left (at most {clip_norm:g})"
        return judged("clipping trims gradients", measured, "not_clipped")
    cause: str = "clip_norm_low" if median > _CLIPPED else ""
    verdict: Verdict = "broken" if median > _CRUSHED else "suspicious"
    return judged("clipping only trims gradients", measured, cause, verdict)


def _norm(tensors: Sequence[Tensor]) -> float:
    return float(torch.stack([tensor.norm() for tensor in tensors]).norm())
