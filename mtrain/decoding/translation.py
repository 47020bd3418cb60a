"""What comes back for a line: its translation, other candidates, what about it deserves a look, and alignments."""

from collections.abc import Sequence
from dataclasses import dataclass

from mtrain.decoding.flags import text_flags
from mtrain.decoding.glossary import Met

# A translation with fewer tokens than this share of its source's is short, if the source has as many as that.
_SHORT_SHARE, _SHORT_FROM = 0.3, 8

# What a flag means, in the words of a summary.
FLAGS = {
    "empty": "came out empty",
    "loop": "say something again and again, or reached the longest length allowed",
    "short": f"have less than {_SHORT_SHARE:.0%} of their source's tokens",
    "split": "were too long, translated in parts and joined",
    "copied": "are their source again",
    "unknown": "had characters that are not in the vocabulary and were spelt in bytes",
    "numbers_differ": "have other numbers than their source",
    "untranslated_han": "have Chinese characters left in them",
}


@dataclass(frozen=True)
class Candidate:
    """One way to translate a line.

    `score` is the search's, the `log_probability` (nats) over the length penalty, both summed over parts; `cut` says
    that a part reached the longest length allowed; `pieces` are its tokens as the vocabulary has them.
    """

    text: str
    score: float
    log_probability: float
    cut: bool
    pieces: tuple[str, ...]


@dataclass(frozen=True)
class Translation:
    """One translated line.

    `candidates` are the best ones found, best first, as many as were asked for and found; `pieces` are the source's
    tokens; `parts` is above 1 where the input was too long and translated in pieces; `spelt` are the characters of the
    input that have no piece in the vocabulary; `flags` are the keys of `FLAGS` that apply to the best candidate.
    `alignment`, where it was asked for, has the place of a source piece and of a piece of the best candidate in pairs.
    `terms`, where there is a glossary, are those of it that the source has.
    """

    source: str
    candidates: tuple[Candidate, ...]
    pieces: tuple[str, ...]
    parts: int
    spelt: str
    flags: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...] | None = None
    terms: tuple[Met, ...] | None = None

    @property
    def text(self) -> str:
        """The best candidate's text."""
        return self.candidates[0].text

    @property
    def score(self) -> float:
        """The best candidate's score."""
        return self.candidates[0].score


def flags_of(source: str, best: Candidate, tokens: int, parts: int, target_language: str) -> set[str]:
    """Return the flags of a translation; `tokens` are the source's."""
    found = set(text_flags(source, best.text, target_language))
    if best.cut and best.text:
        found.add("loop")
    if best.text and tokens >= _SHORT_FROM and len(best.pieces) < _SHORT_SHARE * tokens:
        found.add("short")
    if parts > 1:
        found.add("split")
    return found


def in_order(flags: set[str]) -> tuple[str, ...]:
    """Return flags as they are listed in `FLAGS`."""
    return tuple(name for name in FLAGS if name in flags)


def pharaoh(alignment: Sequence[tuple[int, int]]) -> str:
    """Return an alignment in the Pharaoh format: `0-0 1-2`, source piece and target piece, counted from 0."""
    return " ".join(f"{source}-{target}" for source, target in alignment)
