"""The learning rate as pure functions of the update; updates count from 1."""

import math

from mtrain.config.schema import TrainingConfig


def learning_rate(config: TrainingConfig, update: int, total_updates: int, d_model: int) -> float:
    """Return the learning rate of one update; `total_updates` is 0 while the end of the run is not known."""
    warmup = config.warmup_updates
    if config.schedule == "noam":
        rate = noam(update, d_model, warmup)
    else:
        fall = _fall_factor(config.schedule, update, warmup, total_updates)
        rate = config.learning_rate * warmup_factor(update, warmup) * fall
    return config.learning_rate_scale * rate * cooldown_factor(update, total_updates, config.cooldown)


def noam(update: int, d_model: int, warmup_updates: int) -> float:
    """Return d_model^-0.5 * min(update^-0.5, update * warmup_updates^-1.5).

    Source: paper section 5.3, eq. 3.
    """
    return float(d_model**-0.5 * min(update**-0.5, update * warmup_updates**-1.5))


def warmup_factor(update: int, warmup_updates: int) -> float:
    """Return what rises in a straight line from almost 0 to 1 at update `warmup_updates`, and stays.

    Source: Goyal et al. 2017, "Accurate, Large Minibatch SGD", section 2.2.
    """
    return min(1.0, update / warmup_updates)


def inverse_sqrt_factor(update: int, warmup_updates: int) -> float:
    """Return 1 up to the end of warm-up, then sqrt(warmup_updates / update).

    Source: Raffel et al. 2020, "Exploring the Limits of Transfer Learning" (T5), section 3.1.2.
    """
    return math.sqrt(warmup_updates / max(update, warmup_updates))


def cosine_factor(update: int, warmup_updates: int, total_updates: int) -> float:
    """Return 1 up to the end of warm-up, then half a cosine wave that ends as `linear_factor` does.

    Source: Loshchilov & Hutter 2017, "SGDR", eq. 5, with a lowest rate of 0 and no restarts.
    """
    return (1 - math.cos(math.pi * linear_factor(update, warmup_updates, total_updates))) / 2


def linear_factor(update: int, warmup_updates: int, total_updates: int) -> float:
    """Return 1 up to the end of warm-up, and while the total is unknown; then fall in a straight line towards 0.

    Update `total_updates` is the last and still learns a little.
    Source: Devlin et al. 2019, "BERT", appendix A.2.
    """
    if not total_updates or update <= warmup_updates:
        return 1.0
    return max(total_updates + 1 - update, 0) / max(total_updates + 1 - warmup_updates, 1)


def cooldown_factor(update: int, total_updates: int, share: float) -> float:
    """Return 1, falling in a straight line towards 0 over the last `share` of all updates; 1 while that is unknown.

    Update `total_updates` is the last and still learns a little.
    Source: Zhai et al. 2022, "Scaling Vision Transformers", on the learning-rate schedule.
    """
    if not total_updates or not share:
        return 1.0
    return min(1.0, max(total_updates + 1 - update, 0) / (share * total_updates))


def _fall_factor(schedule: str, update: int, warmup_updates: int, total_updates: int) -> float:
    match schedule:
        case "inverse_sqrt":
            return inverse_sqrt_factor(update, warmup_updates)
        case "cosine":
            return cosine_factor(update, warmup_updates, total_updates)
        case "linear":
            return linear_factor(update, warmup_updates, total_updates)
        case _:  # constant
            return 1.0
