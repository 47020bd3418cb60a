"""Traditional and simplified characters: which a line has, and turning one into the other, as OpenCC knows them."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any, Literal, NamedTuple

from mtrain.errors import CorpusError

Variant = Literal["traditional", "simplified", "both", "neither"]
_VARIANTS: dict[tuple[bool, bool], Variant] = {
    (True, False): "traditional",
    (False, True): "simplified",
    (True, True): "both",
    (False, False): "neither",
}
VARIANTS = tuple(_VARIANTS.values())
HOW_TO_GET_OPENCC = 'OpenCC, which is not installed: pip install "mtrain[opencc]"'

_HAN = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0x20000, 0x32400))


class _Characters(NamedTuple):
    """Characters that are only traditional, only simplified, and others that OpenCC may change (后, 乾)."""

    traditional: frozenset[str]
    simplified: frozenset[str]
    doubtful: frozenset[str]


def has_opencc() -> bool:
    """Tell whether lines can be told apart at all."""
    try:
        import opencc  # noqa: F401, PLC0415  (an extra, which few need)
    except ImportError:
        return False
    return True


def variant(text: str) -> Variant:
    """Return which characters a line has. Raises: CorpusError without OpenCC.

    Where all that tell are characters which both scripts use (后, 乾), OpenCC's phrases decide: 皇后 is neither, 后来
    is simplified.
    """
    known = _characters()
    traditional, simplified = not known.traditional.isdisjoint(text), not known.simplified.isdisjoint(text)
    if not (traditional or simplified or known.doubtful.isdisjoint(text)):
        traditional, simplified = _convert("t2s", text) != text, _convert("s2t", text) != text
    return _VARIANTS[traditional, simplified]


def to_simplified(text: str) -> str:
    """Return the line in simplified characters. Raises: CorpusError without OpenCC."""
    # A simplified line stays as it is: OpenCC would take some of its characters (乾, 藉) for traditional ones.
    return _convert("t2s", text) if variant(text) in ("traditional", "both") else text


def to_traditional(text: str) -> str:
    """Return the line in traditional characters. Raises: CorpusError without OpenCC."""
    # A traditional line stays as it is: OpenCC would take some of its characters (后, 里) for simplified ones.
    return _convert("s2t", text) if variant(text) in ("simplified", "both") else text


def _convert(direction: Literal["t2s", "s2t"], text: str) -> str:
    return str(_converter(direction).convert(text))


def count_variants(lines: Iterable[str]) -> dict[Variant, int]:
    """Return how many lines have which characters. Raises: CorpusError without OpenCC."""
    counts = Counter(map(variant, lines))
    return {kind: counts[kind] for kind in VARIANTS}


@cache
def _converter(direction: str) -> Any:
    try:
        import opencc  # noqa: PLC0415  (an extra, which few need)
    except ImportError as error:
        raise CorpusError(f"corpus.source_script and target_script need {HOW_TO_GET_OPENCC}") from error
    return opencc.OpenCC(direction)


@cache
def _characters() -> _Characters:
    """Ask OpenCC about each Han character by itself.

    It has no word for what both scripts use; the countries' standards of characters have: what it takes for
    simplified, but is in Big5, is used in traditional text too (后), and the other way round in GB 2312 (乾).
    """
    han = [chr(code) for block in _HAN for code in block]
    by_t2s, by_s2t = _changed("t2s", han), _changed("s2t", han)
    traditional = frozenset(one for one in by_t2s - by_s2t if not _encodes(one, "gb2312"))
    simplified = frozenset(one for one in by_s2t - by_t2s if not _encodes(one, "big5"))
    return _Characters(traditional, simplified, (by_t2s ^ by_s2t) - traditional - simplified)


def _changed(direction: Literal["t2s", "s2t"], characters: list[str]) -> frozenset[str]:
    converted = _convert(direction, "\n".join(characters)).split("\n")
    return frozenset(old for old, new in zip(characters, converted, strict=True) if old != new)


def _encodes(character: str, encoding: str) -> bool:
    try:
        return bool(character.encode(encoding))
    except UnicodeEncodeError:
        return False
