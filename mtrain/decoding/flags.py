"""What about a translation deserves a second look, judged by the two texts alone."""

import re
from collections import Counter

from mtrain.languages import CHINESE, JAPANESE, primary

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_HAN_NUMERALS = re.compile("[〇零一二三四五六七八九十百千万萬亿億两兩廿卅]")
_LETTER = re.compile(r"\w")
# The same once, and again at least three times more at once.
_LOOP = re.compile(r"(.{1,40}?)\1{3,}", re.DOTALL)
# Digits, in groups or with decimals; 1,000 and 1000 are the same number, full-width digits are digits.
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_REPLACED = "\ufffd"


def loops(source: str, target: str) -> bool:
    """Tell whether the target says something four times running that the source does not."""
    return any(not _LOOP.search(source) and _says_something(found[1]) for found in _LOOP.finditer(target))


def _says_something(repeated: str) -> bool:
    """Tell whether this is more than marks, or the zeros of a number."""
    return bool(_LETTER.search(repeated)) and not (len(repeated) == 1 and repeated.isdigit())


def copies(source: str, target: str) -> bool:
    """Tell whether the target is the source again; a few characters may well be the same in two languages."""
    return source == target and len(_LETTER.findall(source)) > 4


def numbers_differ(source: str, target: str) -> bool:
    """Tell whether one side has a number in digits that the other has not; 三 and 3 cannot be compared."""
    ours, theirs = _numbers(source), _numbers(target)
    return bool(ours - theirs) or bool(theirs - ours and not _HAN_NUMERALS.search(source))


def leaves_han(target: str, target_language: str) -> bool:
    """Tell whether Chinese characters stand in a language that has none."""
    return primary(target_language) not in CHINESE | JAPANESE and bool(_HAN.search(target))


def text_flags(source: str, target: str, target_language: str) -> list[str]:
    """Return the names of all that is odd about `target` as a translation of `source`, both normalised."""
    if not source:
        return []
    if not target:
        return ["empty"]
    odd = {
        "loop": loops(source, target),
        "copied": copies(source, target),
        "unknown": _REPLACED in target and _REPLACED not in source,
        "numbers_differ": numbers_differ(source, target),
        "untranslated_han": leaves_han(target, target_language),
    }
    return [name for name, applies in odd.items() if applies]


def _numbers(text: str) -> Counter[str]:
    return Counter(_plain(found) for found in _NUMBER.findall(text))


def _plain(number: str) -> str:
    """Return a number in ASCII digits, without the commas between thousands."""
    digits = "".join(str(int(character)) if character.isdigit() else character for character in number)
    return re.sub(r",(?=\d{3}(\D|$))", "", digits)
