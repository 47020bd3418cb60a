"""How a side is written before anything else sees it: the normalisation of all text, width, quotes, dashes, script.

Training and translating share it; the model folder knows it. References are never changed.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from mtrain.config.schema import CorpusConfig
from mtrain.corpus.lines import normalise
from mtrain.corpus.sources import SIDES, Pair, Side
from mtrain.corpus.units import EACH_ONE
from mtrain.corpus.variants import to_simplified, to_traditional
from mtrain.languages import has_full_width_marks

Policy = Literal["keep", "full", "half"]
Width = Literal["auto", "keep", "full", "half"]
Script = Literal["keep", "simplified", "traditional"]
Step = Callable[[str], str]

# Full-width letters, digits and marks stand at a fixed distance from ASCII. ＂ and ＇, － are quotes and dashes.
_NOT_WIDTH = "＂＇－"
HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code) not in _NOT_WIDTH}
HALF_WIDTH |= str.maketrans("。、｡､￠￡￢￥￦", ".,.,¢£¬¥₩")
_FULL_WIDTH = re.compile("[\uff01-\uff5e。、｡､￠￡￢￥￦]")
_MARKS = str.maketrans(",!?:;()", "，！？：；（）")
_HALF_MARKS_AT_CHINESE = re.compile(f"(?<=[{EACH_ONE}])[,!?:;]+|[,!?:;]+(?=[{EACH_ONE}])")
_STOP_AFTER_CHINESE = re.compile(rf"(?<=[{EACH_ONE}])\.(?![.\w])")
_BRACKET_AT_CHINESE = re.compile(f"(?<=[{EACH_ONE}])[()]|[()](?=[{EACH_ONE}])")

STRAIGHT_QUOTES = str.maketrans("“”„‟«»＂「」‘’‚‛＇『』", '"' * 9 + "'" * 7)
_TYPOGRAPHIC = re.compile("[“”„‟«»＂「」‘’‚‛＇『』]")
_CORNERS = str.maketrans("「」『』", "“”‘’")
_DOUBLE = re.compile('["＂]')
LONG_DASH = re.compile("[—―]+")
SHORT_DASH = re.compile("[‐‑‒–−－]")
_HYPHENS = re.compile("--+")


@dataclass(frozen=True)
class Spelling:
    """What is done to the text of one side. A spelling of a spelt text is that text itself."""

    width: Policy = "keep"
    quotes: Policy = "keep"
    dashes: Policy = "keep"
    script: Script = "keep"

    def __call__(self, text: str) -> str:
        """Return the text as training sees it."""
        text = normalise(text)
        for step in self._steps:
            spelt = step(text)
            if spelt != text:
                text = normalise(spelt)  # ｅ with an accent of its own is now a letter that can be composed with it
        return text

    @cached_property
    def _steps(self) -> tuple[Step, ...]:
        wanted = ("script", self.script), ("width", self.width), ("quotes", self.quotes), ("dashes", self.dashes)
        return tuple(_STEPS[what] for what in wanted if what[1] != "keep")


Spellings = Mapping[Side, Spelling]


def spellings(corpus: CorpusConfig) -> Spellings:
    """Return how each side is to be written; what is left to auto is decided by its language."""
    languages = dict(zip(SIDES, (corpus.source_language, corpus.target_language), strict=True))
    given = {
        "source": (corpus.source_width, corpus.source_quotes, corpus.source_dashes, corpus.source_script),
        "target": (corpus.target_width, corpus.target_quotes, corpus.target_dashes, corpus.target_script),
    }
    return {side: _spelling(languages[side], *given[side]) for side in SIDES}


def normaliser(corpus: CorpusConfig) -> Callable[[Pair], Pair]:
    """Return what writes both sides of a pair as training sees them."""
    both = spellings(corpus)
    return partial(_spelt, both["source"], both["target"])


def _spelt(source: Spelling, target: Spelling, pair: Pair) -> Pair:
    return Pair(source(pair.source), target(pair.target), pair.group, pair.corpus)


def _spelling(language: str, width: Width, quotes: Width, dashes: Width, script: Script) -> Spelling:
    usual: Policy = "keep" if has_full_width_marks(language) else "half"
    wide: Policy = usual if width == "auto" else width
    return Spelling(wide, wide if quotes == "auto" else quotes, wide if dashes == "auto" else dashes, script)


def _half_width(text: str) -> str:
    return text.translate(HALF_WIDTH) if not text.isascii() and _FULL_WIDTH.search(text) else text


def _full_width(text: str) -> str:
    """Widen marks that stand at a Chinese character, and all brackets of a line in which one does."""
    if _BRACKET_AT_CHINESE.search(text):
        text = text.translate({ord("("): "（", ord(")"): "）"})
    text = _HALF_MARKS_AT_CHINESE.sub(lambda found: found[0].translate(_MARKS), text)
    return _STOP_AFTER_CHINESE.sub("。", text)


def _straight_quotes(text: str) -> str:
    return text.translate(STRAIGHT_QUOTES) if not text.isascii() and _TYPOGRAPHIC.search(text) else text


def _full_quotes(text: str) -> str:
    """Open and close straight double quotes in turn where their number is even; corner brackets become “ ” and ‘ ’."""
    text = text.translate(_CORNERS)
    parts = _DOUBLE.split(text)
    if len(parts) % 2 == 0:
        return text
    marks = ("“”" * len(parts))[: len(parts) - 1]
    return parts[0] + "".join(mark + part for mark, part in zip(marks, parts[1:], strict=True))


def _hyphens(text: str) -> str:
    return text if text.isascii() else SHORT_DASH.sub("-", LONG_DASH.sub("--", text))


def _full_dashes(text: str) -> str:
    return _HYPHENS.sub("——", text)


_STEPS: dict[tuple[str, str], Step] = {
    ("script", "simplified"): to_simplified,
    ("script", "traditional"): to_traditional,
    ("width", "half"): _half_width,
    ("width", "full"): _full_width,
    ("quotes", "half"): _straight_quotes,
    ("quotes", "full"): _full_quotes,
    ("dashes", "half"): _hyphens,
    ("dashes", "full"): _full_dashes,
}
