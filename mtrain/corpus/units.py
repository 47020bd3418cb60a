"""What is counted as one unit of text, and which script it is of."""

import re
from collections.abc import Sequence
from typing import NamedTuple

# Han (with 々〆〇 and the planes above U+20000), kana and hangul: scripts in which a character is about a word.
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9d"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
EACH_ONE = f"{_HAN}\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af"
_RUN = re.compile(f"[{EACH_ONE}]+")

# The letters of each script, by its ISO 15924 code.
_LETTERS = {
    "Hani": _HAN,
    "Kana": _KANA,
    "Hang": _HANGUL,
    "Latn": "A-Za-zªºÀ-ÖØ-öø-ɏḀ-ỿＡ-Ｚａ-ｚ",
    "Cyrl": "\u0400-\u052f",
    "Grek": "\u0370-\u03ff\u1f00-\u1fff",
    "Arab": "\u0620-\u065f\u0671-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc",
    "Hebr": "\u0591-\u05f4",
    "Deva": "\u0900-\u0963\u0971-\u097f",
    "Beng": "\u0980-\u09e3",
    "Taml": "\u0b80-\u0be5",
    "Thai": "\u0e01-\u0e4e",
    "Laoo": "\u0e81-\u0ecd",
    "Khmr": "\u1780-\u17d3",
    "Mymr": "\u1000-\u103f\u1050-\u109f",
    "Armn": "\u0531-\u0587",
    "Geor": "\u10a0-\u10ff\u1c90-\u1cbf",
}
_OWN = {"Jpan": ("Hani", "Kana")}
_EACH_COUNTS = ("Hani", "Kana", "Hang")
# Japanese has kana and Korean hangul in every sentence; Chinese quotes a word of them at most.
_KANA_OR_HANGUL = re.compile(f"[{_KANA}{_HANGUL}]")
_STRANGERS_IN_CHINESE = 0.2


def count_units(text: str) -> int:
    """Return the length of `text`: one for each Han, kana or hangul character, and for each other word."""
    if text.isascii():
        return len(text.split())
    rest, runs = _RUN.subn(" ", text)
    return len(text) - len(rest) + runs + len(rest.split())


class Writing(NamedTuple):
    """How letters of a language are told from others: one of another script, and patterns of one unit each."""

    other: re.Pattern[str]
    own: re.Pattern[str]
    foreign: re.Pattern[str]
    chinese: bool

    def is_foreign(self, text: str, min_share: float) -> bool:
        """Tell whether less than `min_share` of the words, and Han, kana or hangul characters, are of this script.

        In Chinese more than a fifth of kana and hangul is too much in any case.
        """
        if not self.other.search(text):
            return False
        own, foreign = len(self.own.findall(text)), len(self.foreign.findall(text))
        if own < min_share * (own + foreign):
            return True
        return self.chinese and len(_KANA_OR_HANGUL.findall(text)) > _STRANGERS_IN_CHINESE * (own + foreign)


def writing(script: str) -> Writing | None:
    """Return what is a letter of a script, by its ISO 15924 code, and what of others; None where it is not known."""
    own = _OWN.get(script, (script,))
    if not set(own) <= _LETTERS.keys():
        return None
    foreign = [name for name in _LETTERS if name not in own]
    other = re.compile("[" + "".join(_LETTERS[name] for name in foreign) + "]")
    return Writing(other, _unit(own), _unit(foreign), script == "Hani")


def _unit(scripts: Sequence[str]) -> re.Pattern[str]:
    each = "".join(_LETTERS[name] for name in scripts if name in _EACH_COUNTS)
    words = "".join(_LETTERS[name] for name in scripts if name not in _EACH_COUNTS)
    return re.compile("|".join([f"[{each}]"] * bool(each) + [f"[{words}]+"] * bool(words)))
