"""Scores by length penalty: which one is best, and the table that shows it."""

from collections.abc import Mapping

from mtrain.console import table
from mtrain.evaluation.metrics import Scores


def best_penalty(scores: Mapping[float, Scores], usual: float) -> float:
    """Return the penalty with the highest BLEU; of those with the same two decimals the nearest to the usual one."""
    return max(scores, key=lambda penalty: (round(scores[penalty].bleu, 2), -abs(penalty - usual)))


def render_penalties(scores: Mapping[float, Scores], chosen: float) -> str:
    """Return a table with a row for each penalty; the one that is kept is marked."""
    head = ("length penalty", "BLEU", "brevity penalty", "length ratio", "")
    rows = [
        (f"{penalty:g}", f"{of.bleu:.2f}", f"{of.brevity_penalty:.3f}", f"{of.length_ratio:.3f}", mark)
        for penalty, of in scores.items()
        for mark in (" kept" if penalty == chosen else "",)
    ]
    return table(head, rows)
