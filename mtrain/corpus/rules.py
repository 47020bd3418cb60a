"""The rules that drop training pairs, by name: functions of one pair (see `repeats` for those that remember)."""

import re
from collections.abc import Callable
from difflib import SequenceMatcher
from functools import partial
from typing import NamedTuple

from mtrain.config.schema import CorpusConfig
from mtrain.corpus.damage import (
    has_control_or_private,
    has_markup,
    has_replacement,
    is_repetitive,
    was_read_as_gbk,
    was_read_as_windows,
)
from mtrain.corpus.sources import Pair
from mtrain.corpus.units import Writing, count_units, writing
from mtrain.languages import CHINESE, primary, script

# Short sides are translated by more or fewer words quite freely (卒 → 于是就在那一年去世了).
_RATIO_MATTERS_ABOVE = 10
# Shorter sides can be all name and number, which no translation changes.
_SHORTEST_COPY = 20
_NUMBER = re.compile("[0-9][0-9,]*")
_JOINS_WORDS = re.compile(r"[^\w\s'’]+")


class Measured(NamedTuple):
    """A pair as it would be trained on, the units of both sides, the pair as it was read, and whether that is odd."""

    source: str
    target: str
    source_units: int
    target_units: int
    read: Pair
    odd: bool


# True: drop the pair.
Rule = Callable[[Measured], bool]


def pair_rules(corpus: CorpusConfig) -> dict[str, Rule]:
    """Return the rules about one pair that this config wants, in the order in which they are asked.

    All can be sent to other processes.
    """
    writings = writing(script(corpus.source_language)), writing(script(corpus.target_language))
    both_chinese = {primary(corpus.source_language), primary(corpus.target_language)} <= CHINESE
    wanted: dict[str, tuple[bool | float, Rule]] = {
        "empty": (corpus.drop_empty, _empty),
        "mojibake": (corpus.drop_mojibake, partial(_damaged, _mojibake)),
        "control": (corpus.drop_control, partial(_damaged, has_control_or_private)),
        "replacement": (corpus.drop_replacement, partial(_damaged, has_replacement)),
        "markup": (corpus.drop_markup, partial(_damaged, has_markup)),
        "too_long": (corpus.max_units, partial(_too_long, corpus.max_units)),
        "too_short": (corpus.min_units > 1, partial(_too_short, corpus.min_units)),
        "length_ratio": (corpus.max_length_ratio, partial(_length_ratio, corpus.max_length_ratio)),
        "wrong_script": (corpus.min_script_share, partial(_wrong_script, *writings, corpus.min_script_share)),
        "identical": (corpus.drop_identical, _identical),
        "untranslated": (corpus.drop_untranslated and not both_chinese, _untranslated),
        "numbers_differ": (corpus.drop_number_mismatch, _numbers_differ),
        "repetitive": (corpus.drop_repetitive, _repetitive),
    }
    return {name: rule for name, (asked, rule) in wanted.items() if asked}


def _empty(pair: Measured) -> bool:
    return not pair.source or not pair.target


def _damaged(has: Callable[[str], bool], pair: Measured) -> bool:
    return pair.odd and (has(pair.read.source) or has(pair.read.target))


def _mojibake(text: str) -> bool:
    return was_read_as_windows(text) or was_read_as_gbk(text)


def _too_long(max_units: int, pair: Measured) -> bool:
    return pair.source_units > max_units or pair.target_units > max_units


def _too_short(min_units: int, pair: Measured) -> bool:
    return pair.source_units < min_units or pair.target_units < min_units


def _length_ratio(max_ratio: float, pair: Measured) -> bool:
    if not _far_apart(pair.source_units, pair.target_units, max_ratio):
        return False
    # What looks like one word may be several without spaces (up/down/left/right), what looks like many only marks.
    source, target = (count_units(_JOINS_WORDS.sub(" ", side)) for side in (pair.source, pair.target))
    return _far_apart(source, target, max_ratio)


def _far_apart(source: int, target: int, max_ratio: float) -> bool:
    shorter, longer = (source, target) if source < target else (target, source)
    return longer > _RATIO_MATTERS_ABOVE and longer > max_ratio * shorter


def _wrong_script(source: Writing | None, target: Writing | None, min_share: float, pair: Measured) -> bool:
    return (source is not None and source.is_foreign(pair.source, min_share)) or (
        target is not None and target.is_foreign(pair.target, min_share)
    )


def _identical(pair: Measured) -> bool:
    return pair.source == pair.target


def _untranslated(pair: Measured) -> bool:
    """Tell whether more than two thirds of the target stand in the source as they are.

    Such a stretch holds the second or the third quarter of the target.
    """
    source, target = pair.source, pair.target
    length = len(target)
    if length < _SHORTEST_COPY:
        return False
    half = length // 2
    if target[length // 4 : half] not in source and target[half : half + length // 4] not in source:
        return False
    copied = SequenceMatcher(None, source, target, autojunk=False).find_longest_match()
    return 3 * copied.size > 2 * length


def _numbers_differ(pair: Measured) -> bool:
    """Tell whether each side has a number in digits that the other has not."""
    source, target = (set(map(_plain, _NUMBER.findall(side))) for side in (pair.source, pair.target))
    return bool(source - target and target - source)


def _plain(number: str) -> str:
    return number.replace(",", "").lstrip("0")


def _repetitive(pair: Measured) -> bool:
    return is_repetitive(pair.source) or is_repetitive(pair.target)
