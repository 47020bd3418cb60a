"""A glossary: how its terms are read and found in a line, and whether a translation obeys them.

Text is read from the left, the longest term first, and no character counts for two terms. Where words are parted by
spaces a term is whole words; Chinese, Japanese, Thai and their like have no such bounds, nor has Hangul, whose
particles join the word.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mtrain.corpus.lines import normalise
from mtrain.corpus.text_files import decode_lines
from mtrain.errors import InputError
from mtrain.tokenizer import Tokenizers

_COMMENT = "#"
# Han, kana, bopomofo and their extensions; Thai and Lao; Burmese; Khmer; Hangul.
_UNSPACED = re.compile(
    "[\u2e80-\u2fdf\u3005-\u3007\u3021-\u30ff\u3100-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\uac00-\ud7af]"
)


def in_word(character: str) -> bool:
    """Tell whether the character is part of a word that spaces or punctuation end."""
    return unicodedata.category(character)[0] in "LMN" and not _UNSPACED.match(character)


def at_edge(before: str, after: str) -> bool:
    """Tell whether a term may end or begin between two characters, either of which may be empty."""
    return not (before and after and in_word(before) and in_word(after))


class Finder:
    """Terms to be found in texts."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._terms = frozenset(terms)
        lengths: dict[str, set[int]] = {}
        for term in self._terms:
            lengths.setdefault(term[0], set()).add(len(term))
        self._lengths = {first: sorted(of_first, reverse=True) for first, of_first in lengths.items()}

    def count(self, *readings: str) -> Counter[str]:
        """Return how often each term stands in a text, of which there may be several readings of the same length."""
        found: Counter[str] = Counter()
        place = 0
        while place < len(readings[0]):
            term = max((self._at(reading, place) for reading in readings), key=len)
            if term:
                found[term] += 1
            place += len(term) or 1
        return found

    def _at(self, text: str, place: int) -> str:
        for length in self._lengths.get(text[place], ()):
            term, before, after = text[place : place + length], text[place - 1 : place], text[place + length :][:1]
            if term in self._terms and at_edge(before, term[0]) and at_edge(term[-1], after):
                return term
        return ""


@dataclass(frozen=True)
class Met:
    """A term that a source has so many times, and how often the translation says one of its targets."""

    source: str
    targets: tuple[str, ...]
    times: int
    said: int

    @property
    def missed(self) -> int:
        """How often it is left unsaid."""
        return self.times - self.said


@dataclass(frozen=True)
class Demand:
    """Texts of which a translation has to say one, or several, so many times in all."""

    texts: frozenset[str]
    times: int


def says(text: str, demands: Sequence[Demand]) -> bool:
    """Tell whether a translation says all that is demanded."""
    said = Finder(wanted for demand in demands for wanted in demand.texts).count(text)
    return all(sum(said[wanted] for wanted in demand.texts) >= demand.times for demand in demands)


class Glossary:
    """Source terms and what they may be translated by; each source term stands for itself in any width.

    One without capitals is found in any case, and at the beginning of a sentence its translation may have a capital.
    """

    def __init__(self, terms: Mapping[str, Sequence[str]], tokenizers: Tokenizers) -> None:
        self._targets: dict[str, tuple[str, ...]] = {}
        self._shown: dict[str, str] = {}
        for source, targets in terms.items():
            shown = tokenizers["source"].normalise(source)
            spelt = [tokenizers["target"].normalise(target) for target in targets]
            if not (shown and spelt and all(spelt)):
                raise InputError(f"glossary: the term {source!r} and its translations {targets!r} must not be empty")
            key = _any_width(shown)
            self._shown.setdefault(key, shown)
            self._targets[key] = tuple(dict.fromkeys([*self._targets.get(key, ()), *spelt]))
        self._finder = Finder(self._targets)

    def demands(self, source: str) -> list[Demand]:
        """Return what a translation of this normalised line has to say; no text stands in two demands."""
        demands: list[Demand] = []
        for key, times in self._met(source).items():
            texts = _spellings(self._targets[key])
            sharing = [demand for demand in demands if demand.texts & texts]
            demands = [demand for demand in demands if demand not in sharing]
            texts = texts.union(*(demand.texts for demand in sharing))
            demands.append(Demand(texts, times + sum(demand.times for demand in sharing)))
        return demands

    def compare(self, source: str, translation: str) -> tuple[Met, ...]:
        """Return the terms of a normalised line, in its order, with how often its translation says them."""
        met = self._met(source)
        if not met:
            return ()
        said = Finder(text for key in met for text in _spellings(self._targets[key])).count(translation)
        counts: dict[str, int] = {}
        # What several terms may be translated by goes first to those that have the least choice.
        for key in sorted(met, key=lambda key: len(self._targets[key])):
            counts[key] = 0
            for text in sorted(_spellings(self._targets[key])):
                taken = min(said[text], met[key] - counts[key])
                counts[key] += taken
                said[text] -= taken
        return tuple(Met(self._shown[key], self._targets[key], times, counts[key]) for key, times in met.items())

    def _met(self, source: str) -> Counter[str]:
        reading = _any_width(source)
        return self._finder.count(reading, "".join(map(_small, reading)))


def read_terms(file: Path) -> dict[str, list[str]]:
    """Return the terms of a file: source term, tab, translation; lines that begin with # are comments.

    A source term on several lines may be translated by any of their translations.
    Raises: InputError where a line is something else, or nothing is there.
    """
    if not file.is_file():
        raise InputError(f"{file}: there is no such glossary")
    terms: dict[str, list[str]] = {}
    with file.open("rb") as stream:
        for number, line in enumerate(decode_lines(stream, str(file), InputError), start=1):
            if line.strip() and not line.startswith(_COMMENT):
                source, target = _columns(line, f"{file}:{number}")
                terms.setdefault(source, []).append(target)
    if not terms:
        raise InputError(f"{file}: has no term. Write a source term, a tab and its translation on each line")
    return terms


def _columns(line: str, place: str) -> tuple[str, str]:
    # Spreadsheets leave tabs behind the last cell.
    cells = [normalise(cell) for cell in line.rstrip("\t").split("\t")]
    if len(cells) != 2:
        cure = "other translations of the same term go on lines of their own" if len(cells) > 2 else "write a tab"
        raise InputError(f"{place}: expects two columns, source term and translation, found {len(cells)}; {cure}")
    for name, cell in zip(("source term", "translation"), cells, strict=True):
        if not cell:
            raise InputError(f"{place}: the {name} is empty; fill it in, or remove the line")
    return cells[0], cells[1]


def _spellings(targets: Sequence[str]) -> frozenset[str]:
    """Return the targets, and those that have no capital also with one at the beginning."""
    capital = (target[0].upper() + target[1:] for target in targets if target == target.lower())
    return frozenset(targets).union(capital)


def _any_width(text: str) -> str:
    """Return the text with full-width letters and their like in their plain width, each character still one."""
    return "".join(map(_plain, text))


def _plain(character: str) -> str:
    plain = unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 else character


def _small(character: str) -> str:
    small = character.lower()
    return small if len(small) == 1 else character
