"""How much of a score, or of a difference, is luck? Bootstrap resampling (Koehn 2004), as sacreBLEU does it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from mtrain.evaluation.metrics import bleu_metric

SURE_BELOW = 0.05
# Resampling so few sentences hardly moves the figure, which says nothing about how sure it is.
_FEWEST_FOR_AN_INTERVAL = 20


@dataclass(frozen=True)
class Measured:
    """One figure of one system.

    `interval` is half the width of its 95 % interval, None for too few sentences; `p` the probability of so large a
    difference to the first system by luck alone, None for that itself.
    """

    score: float
    interval: float | None
    p: float | None


@dataclass(frozen=True)
class System:
    """A set of translations and what it is worth."""

    name: str
    bleu: Measured
    chrf: Measured


@dataclass(frozen=True)
class Comparison:
    """Systems on one test set; the first is what the others are compared with."""

    systems: list[System]
    sentences: int
    bleu_signature: str
    chrf_signature: str


def compare(systems: Sequence[tuple[str, Sequence[str]]], references: Sequence[str], tokenizer: str) -> Comparison:
    """Return what the systems, (name, translations), are worth, and how the others differ from the first.

    Raises: InputError where the tokenizer is not installed.
    """
    metrics: dict[str, Metric] = {"BLEU": bleu_metric(tokenizer), "chrF2": CHRF()}
    signatures, found = PairedTest(list(systems), metrics, [references], test_type="bs")()
    sure = len(references) >= _FEWEST_FOR_AN_INTERVAL
    rows = [
        System(name, _measured(bleu, found["BLEU"][0], sure), _measured(chrf, found["chrF2"][0], sure))
        for (name, _), bleu, chrf in zip(systems, found["BLEU"], found["chrF2"], strict=True)
    ]
    return Comparison(rows, len(references), str(signatures["BLEU"]), str(signatures["chrF2"]))


def _measured(found: Any, first: Any, sure: bool) -> Measured:
    # Resampling two equal systems never gives a difference, which sacreBLEU's formula takes for certainty of one.
    p = 1.0 if found is not first and found.score == first.score else found.p_value
    return Measured(float(found.score), float(found.ci) if sure else None, p)
