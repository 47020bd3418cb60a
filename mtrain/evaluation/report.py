"""Scores for people and for machines, and translations to look at."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from mtrain.console import table
from mtrain.evaluation.groups import GroupTable
from mtrain.evaluation.metrics import Scores
from mtrain.evaluation.significance import SURE_BELOW, Comparison, Measured, System


def render(scores: Scores) -> str:
    """Return the scores as a small table with signatures, and a line for each thing that makes them misleading."""
    lines = [
        f"BLEU   {scores.bleu:6.2f}   {scores.bleu_signature}",
        f"chrF2  {scores.chrf:6.2f}   {scores.chrf_signature}",
    ]
    if scores.copy_bleu is not None:
        lines.append(f"copy   {scores.copy_bleu:6.2f}   BLEU of handing the source back (chrF2 {scores.copy_chrf:.2f})")
    lines.append(
        f"{scores.sentences} sentences, brevity penalty {scores.brevity_penalty:.3f}, "
        f"length ratio {scores.length_ratio:.3f}, {scores.empty_hypotheses} empty translations"
    )
    return "\n".join([*lines, *scores.warnings.values()])


def render_groups(groups: GroupTable) -> str:
    """Return the scores by group as a table, with what its columns mean."""
    rows = [
        [row.name or "(none)", f"{row.sentences:,}", *_cells(row.bleu), *_cells(row.chrf), *_copy(row.copy_bleu)]
        for row in groups.rows
    ]
    copy = ["copy"] if rows and len(rows[0]) > 6 else []
    return "\n".join(
        [
            table([f"by {groups.by}", "sentences", "BLEU", "± 95%", "chrF2", "± 95%", *copy], rows),
            "±: of 100 tests with other sentences of the kind, some 95 would come so near; –: too few sentences to say",
            f"BLEU   {groups.bleu_signature}",
            f"chrF2  {groups.chrf_signature}",
        ]
    )


def _cells(figure: Measured) -> list[str]:
    return [f"{figure.score:.2f}", "–" if figure.interval is None else f"{figure.interval:.2f}"]


def _copy(bleu: float | None) -> list[str]:
    return [] if bleu is None else [f"{bleu:.2f}"]


def render_comparison(comparison: Comparison) -> str:
    """Return systems side by side as a table, and a sentence about each difference to the first."""
    head = ["", "BLEU", "± 95%", "p", "chrF2", "± 95%", "p"]
    first, *others = comparison.systems
    rows = [[system.name, *_p_cells(system.bleu), *_p_cells(system.chrf)] for system in comparison.systems]
    lines = [table(head, rows), f"BLEU   {comparison.bleu_signature}", f"chrF2  {comparison.chrf_signature}"]
    lines += [_verdict(other, first, comparison.sentences) for other in others]
    if len(others) > 1:
        lines.append(
            f"Of {len(others)} comparisons at once one may well come out by luck: ask for p below {SURE_BELOW} / "
            f"{len(others)} = {SURE_BELOW / len(others):.3f}."
        )
    return "\n".join(lines)


def _p_cells(figure: Measured) -> list[str]:
    return [*_cells(figure), "" if figure.p is None else f"{figure.p:.3f}"]


def _verdict(other: System, first: System, sentences: int) -> str:
    difference, p = other.bleu.score - first.bleu.score, other.bleu.p or 0.0
    if abs(difference) < 0.005:
        return f"{other.name} and {first.name}: no difference in BLEU."
    which = "better" if difference > 0 else "worse"
    what = f"{other.name} is {abs(difference):.2f} BLEU {which} than {first.name} (p = {p:.3f})"
    if p < SURE_BELOW:
        return f"{what}: two equally good systems would differ so much on {p:.1%} of such tests only. Believe it."
    return (
        f"{what}: two equally good systems would differ so much on {p:.0%} of such tests. It may be luck: "
        f"{sentences:,} sentences cannot tell these two apart."
    )


def to_json(scores: Scores, groups: GroupTable | None = None) -> str:
    """Return all the figures as JSON."""
    return _json(asdict(scores) if groups is None else {**asdict(scores), "groups": asdict(groups)})


def comparison_to_json(comparison: Comparison) -> str:
    """Return all the figures of a comparison as JSON."""
    return _json(asdict(comparison))


def _json(figures: object) -> str:
    return json.dumps(figures, ensure_ascii=False, indent=2)


def render_samples(sources: Sequence[str], references: Sequence[str], hypotheses: Sequence[str], count: int = 3) -> str:
    """Return a few translations, evenly spread over the set, each below its source and reference."""
    total = len(sources)
    chosen = sorted({(2 * place + 1) * total // (2 * count) for place in range(count)}) if total else []
    return "\n\n".join(
        f"source       {sources[row]}\nreference    {references[row]}\ntranslation  {hypotheses[row]}" for row in chosen
    )
