"""The learning rate as a pure function of the update."""


def noam(update: int, d_model: int, warmup_updates: int) -> float:
    """Return d_model^-0.5 * min(update^-0.5, update * warmup_updates^-1.5); updates count from 1.

    Source: paper section 5.3, eq. 3.
    """
    return float(d_model**-0.5 * min(update**-0.5, update * warmup_updates**-1.5))
