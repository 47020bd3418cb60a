"""What `mtrain prepare` has to tell: in figures for machines, in tables for people."""

from dataclasses import dataclass

from mtrain.batches.survey import SideSurvey
from mtrain.console import table
from mtrain.corpus.report import CleaningReport, render_cleaning
from mtrain.corpus.sources import SIDES, Side, Split


@dataclass(frozen=True)
class PrepareReport(CleaningReport):
    """All figures of one preparation.

    `vocabulary_sizes` are one, or the source's and the target's; `over_limit` counts training pairs that are too long
    to be trained on.
    """

    vocabulary_sizes: list[int]
    surveys: dict[Split, dict[Side, SideSurvey]]
    max_tokens_per_sentence: int
    over_limit: int


def render_report(report: PrepareReport) -> str:
    """Return the report as text of several lines."""
    parts = [
        *render_cleaning(report),
        _lengths(report),
        _coverage(report),
        _rare(report),
        f"{report.over_limit:,} training pairs have a side of more than {report.max_tokens_per_sentence} tokens "
        "(batches.max_tokens_per_sentence): they stay here, training leaves them out",
    ]
    return "\n\n".join(parts)


def _lengths(report: PrepareReport) -> str:
    head = ["lengths (median, 95%, longest)", "characters or words", "tokens", "tokens/character", "tokens/word"]
    rows = [
        [
            name,
            f"{survey.units.median} {survey.units.p95:>4} {survey.units.longest:>5}",
            f"{survey.tokens.median} {survey.tokens.p95:>4} {survey.tokens.longest:>5}",
            f"{survey.tokens_per_character:.3f}",
            f"{survey.tokens_per_unit:.3f}",
        ]
        for name, survey in _named(report)
    ]
    return table(head, rows)


def _coverage(report: PrepareReport) -> str:
    sizes = " and ".join(f"{size:,}" for size in report.vocabulary_sizes)
    head = [
        f"{'vocabulary' if len(report.vocabulary_sizes) == 1 else 'vocabularies'} of {sizes}",
        "different characters",
        "spelt in bytes",
        "share of text",
        "byte tokens",
        "unknown",
    ]
    rows = [
        [
            name,
            f"{survey.different_characters:,}",
            f"{survey.different_without_piece:,}",
            f"{survey.share_without_piece:.3%}",
            f"{survey.share_byte_tokens:.3%}",
            f"{survey.unknown_tokens:,}",
        ]
        for name, survey in _named(report)
    ]
    return table(head, rows)


def _rare(report: PrepareReport) -> str:
    """Tell of characters that are too rare to be learnt well; only in training can they be."""
    rows = [
        [
            f"{report.languages[side]} {often}",
            f"{rarity.different:,}",
            f"{rarity.without_piece:,}",
            "  " + rarity.examples,
        ]
        for side in SIDES
        for often, rarity in report.surveys["train"][side].rare.items()
    ]
    return table(["characters that train has", "different", "spelt in bytes", "  for example"], rows)


def _named(report: PrepareReport) -> list[tuple[str, SideSurvey]]:
    return [
        (f"{split} {report.languages[side]}", surveys[side])
        for split, surveys in report.surveys.items()
        for side in SIDES
    ]
