"""The learning rate as pure functions of the update."""


def noam(update: int, d_model: int, warmup_updates: int) -> float:
    """Return d_model^-0.5 * min(update^-0.5, update * warmup_updates^-1.5); updates count from 1.

    Source: paper section 5.3, eq. 3.
    """
    return float(d_model**-0.5 * min(update**-0.5, update * warmup_updates**-1.5))


def cooldown_factor(update: int, total_updates: int, share: float) -> float:
    """Return 1, falling in a straight line towards 0 over the last `share` of all updates; 1 while that is unknown.

    Update `total_updates` is the last and still learns a little.
    """
    if not total_updates or not share:
        return 1.0
    return min(1.0, max(total_updates + 1 - update, 0) / (share * total_updates))
