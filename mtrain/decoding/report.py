"""Translations told: as lines of output, as records for a program, and which of them deserve a look."""

import json
import math
import time
from collections.abc import Mapping

from mtrain.console import say, warn
from mtrain.decoding.glossary import Met
from mtrain.decoding.translation import FLAGS, Translation, pharaoh

_PLACES_NAMED = 8


def output_lines(translation: Translation, number: int, nbest: int, scores: bool) -> str:
    """Return what goes to the output for one line: text, with its score before it where wanted.

    With `nbest`, a line for each candidate: number of the input line, score, text. Columns are parted by tabs.
    """
    if nbest:
        candidates = translation.candidates[:nbest]
        return "".join(f"{number}\t{candidate.score:.4f}\t{candidate.text}\n" for candidate in candidates)
    return f"{translation.score:.4f}\t{translation.text}\n" if scores else f"{translation.text}\n"


def record(translation: Translation, place: str) -> str:
    """Return one line of JSON with all that is known of a translation; `length_ratio` is in tokens."""
    known: dict[str, object] = {
        "place": place,
        "source": translation.source,
        "translation": translation.text,
        "score": round(translation.score, 4) if math.isfinite(translation.score) else None,  # JSON has no infinity
        "length_ratio": round(len(translation.candidates[0].pieces) / max(1, len(translation.pieces)), 3),
        "flags": list(translation.flags),
        "parts": translation.parts,
    }
    if translation.alignment is not None:
        known["source_pieces"] = list(translation.pieces)
        known["translation_pieces"] = list(translation.candidates[0].pieces)
        known["alignment"] = pharaoh(translation.alignment)
    if translation.terms is not None:
        known["glossary"] = [
            {"term": met.source, "targets": list(met.targets), "met": met.times, "obeyed": met.said}
            for met in translation.terms
        ]
    return json.dumps(known, ensure_ascii=False) + "\n"


def answer(translation: Translation) -> str:
    """Return what somebody who has typed a line sees: candidates with scores, best first, and the flags of the best."""
    lines = [f"{candidate.score:8.3f}  {candidate.text}" for candidate in translation.candidates]
    if translation.flags:
        lines.append(f"   flags  {', '.join(translation.flags)}")
    lines += [f"  missed  {_rule(met)}" for met in translation.terms or () if met.missed]
    return "\n".join(lines)


class Places:
    """Which lines of a whole input are odd, and how: `meanings` says it in words for each kind of oddity."""

    def __init__(self, meanings: Mapping[str, str]) -> None:
        self._meanings = meanings
        self._counts = dict.fromkeys(meanings, 0)
        self._named: dict[str, list[str]] = {name: [] for name in meanings}

    def note(self, name: str, place: str) -> None:
        """Count a line in; the first few are named."""
        self._counts[name] += 1
        if self._counts[name] <= _PLACES_NAMED:
            self._named[name].append(place)

    def tell(self) -> None:
        """Name those that are odd."""
        for name, count in self._counts.items():
            if count:
                more = f" and {count - _PLACES_NAMED:,} more" if count > _PLACES_NAMED else ""
                warn(f"{name}: {count:,} {self._meanings[name]}: {', '.join(self._named[name])}{more}")


class Flagged:
    """Which lines of a whole input carry which flag."""

    def __init__(self) -> None:
        self._lines = 0
        self._began = time.monotonic()
        self._places = Places(FLAGS)

    def note(self, translation: Translation, place: str) -> None:
        """Count a line in."""
        self._lines += 1
        for name in translation.flags:
            spelt = f" ({translation.spelt})" if name == "unknown" and translation.spelt else ""
            self._places.note(name, place + spelt)

    def tell(self) -> None:
        """Say how many lines there were and how long they took, and name those that carry a flag."""
        seconds = time.monotonic() - self._began
        lines = "1 line" if self._lines == 1 else f"{self._lines:,} lines"
        say(f"{lines} translated in {seconds:,.1f} s, {self._lines / max(seconds, 1e-9):,.1f} a second")
        self._places.tell()


class Obeyed:
    """How often a glossary's terms were met in a whole input, and where they were missed."""

    def __init__(self) -> None:
        self._lines = self._met = self._missed = 0
        self._named: list[str] = []

    def note(self, translation: Translation, place: str) -> None:
        """Count a line in; the first few that miss a term are named."""
        terms = translation.terms or ()
        self._lines += bool(terms)
        self._met += sum(met.times for met in terms)
        self._missed += sum(met.missed for met in terms)
        missed = [f"{place} {_rule(met)}" for met in terms if met.missed]
        self._named += missed[: _PLACES_NAMED - len(self._named)]

    def tell(self) -> None:
        """Say how many terms were met, obeyed and missed."""
        terms = "1 term" if self._met == 1 else f"{self._met:,} terms"
        lines = "1 line" if self._lines == 1 else f"{self._lines:,} lines"
        told = f"glossary: {terms} met in {lines}; {self._met - self._missed:,} obeyed, {self._missed:,} missed"
        if self._missed:
            more = ", ..." if self._missed > len(self._named) else ""
            warn(f"{told}: {', '.join(self._named)}{more}")
        else:
            say(told)


def _rule(met: Met) -> str:
    return f"{met.source} → {' | '.join(met.targets)}"
