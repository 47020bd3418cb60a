"""Scores of a test set by group (book, source, topic, ...), each with how far chance may have moved it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mtrain.console import progress
from mtrain.evaluation.metrics import bleu_metric
from mtrain.evaluation.significance import Comparison, Measured, compare

_WHOLE = "all"


class Texts(NamedTuple):
    """What is scored, a line each: translations, right translations, and perhaps what was translated."""

    hypotheses: Sequence[str]
    references: Sequence[str]
    sources: Sequence[str] | None

    def of(self, rows: Sequence[int]) -> "Texts":
        """Return these lines only."""
        hypotheses, references = ([side[row] for row in rows] for side in (self.hypotheses, self.references))
        return Texts(hypotheses, references, None if self.sources is None else [self.sources[row] for row in rows])


@dataclass(frozen=True)
class GroupScores:
    """What the translations of one group are worth, and what copying their sources would be."""

    name: str
    sentences: int
    bleu: Measured
    chrf: Measured
    copy_bleu: float | None


@dataclass(frozen=True)
class GroupTable:
    """The scores of all groups, the largest first, below those of the whole; and how they were computed."""

    by: str
    rows: list[GroupScores]
    bleu_signature: str
    chrf_signature: str


def score_groups(texts: Texts, groups: Sequence[str], by: str, tokenizer: str) -> GroupTable:
    """Return the scores of the translations of each group, where `groups` names that of each line."""
    members: dict[str, list[int]] = defaultdict(list)
    for row, group in enumerate(groups):
        members[group].append(row)
    largest_first = sorted(members.items(), key=lambda group: (-len(group[1]), group[0]))
    parts = [(_WHOLE, list(range(len(groups)))), *largest_first]
    shown = progress(parts, "resample", len(parts), "group")
    scored = [_score(name, texts.of(rows), tokenizer) for name, rows in shown]
    whole = scored[0][0]
    return GroupTable(by, [scores for _, scores in scored], whole.bleu_signature, whole.chrf_signature)


def _score(name: str, texts: Texts, tokenizer: str) -> tuple[Comparison, GroupScores]:
    alone = compare([(name, texts.hypotheses)], texts.references, tokenizer)
    copied = None
    if texts.sources is not None:
        copied = bleu_metric(tokenizer).corpus_score(texts.sources, [texts.references]).score
    return alone, GroupScores(name, len(texts.references), alone.systems[0].bleu, alone.systems[0].chrf, copied)
