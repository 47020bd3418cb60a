"""Figures as characters, for a terminal: bars and lines of eighths."""

from collections.abc import Sequence

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = "▁▂▃▄▅▆▇█"


def bar(share: float, width: int) -> str:
    """Return a horizontal bar that fills `share` of `width` characters, to an eighth of one."""
    full, rest = divmod(round(share * width * 8), 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Return a line whose height follows the values between the lowest and the highest, at most `width` of them."""
    if len(values) > width:
        values = [values[place * (len(values) - 1) // (width - 1)] for place in range(width)]
    if not values:
        return ""
    low, high = min(values), max(values)
    steps = len(_HEIGHTS) - 1
    return "".join(_HEIGHTS[round((value - low) / (high - low) * steps) if high > low else 0] for value in values)
