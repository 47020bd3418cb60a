"""What makes a score mislead, found in the texts themselves, and told with its consequence."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

_HAN_OR_KANA = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_EACH_HAN_OR_KANA = re.compile(f"[{_HAN_OR_KANA}]")
_LETTER = re.compile(r"\w")
_SPACE_IN_CHINESE = re.compile(f"[{_HAN_OR_KANA}][ \u3000]+[{_HAN_OR_KANA}]")
_SPACE_BEFORE_THE_END = re.compile(r"\w [.?!]$")

# They take what stands between spaces and punctuation for a word.
_SPLIT_AT_SPACES = ("13a", "intl", "none")

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_TO_HALF_WIDTH = {**_FULL_WIDTH, 0x3000: 0x20, 0x3002: 0x2E}  # the ideographic space, and 。
_MARKS = "，？！；："

# BLEU points below which a difference is not worth a word.
_WORTH_TELLING = 0.5
_SHARE_OF_LINES = 0.05


@dataclass(frozen=True)
class Compared:
    """What was scored, and how: `rescore` gives BLEU of other translations against other references."""

    hypotheses: Sequence[str]
    references: Sequence[str]
    tokenizer: str
    bleu: float
    copy_bleu: float | None
    rescore: Callable[[Sequence[str], Sequence[str]], float]


def pitfalls(compared: Compared) -> dict[str, str]:
    """Return a sentence for each thing that makes these figures mislead, by its name."""
    found = ((name, look(compared)) for name, look in _LOOKS.items())
    return {name: text for name, text in found if text}


def _width(compared: Compared) -> str:
    halved = [[line.translate(_TO_HALF_WIDTH) for line in side] for side in (compared.hypotheses, compared.references)]
    hypotheses, references = map(_share_full_width, (compared.hypotheses, compared.references))
    if halved[0] == compared.hypotheses and halved[1] == compared.references:
        return ""
    bleu = compared.rescore(*halved)
    if bleu - compared.bleu < _WORTH_TELLING:
        return ""
    widths = [("full", "，？！"), ("half", ", ? !")]
    (right, wanted), (_, found) = widths if references >= hypotheses else reversed(widths)
    return (
        f"These figures mislead: the translations write {found} where the references write {wanted}. Each such mark, "
        f"letter or digit counts as wrong; with one width on both sides BLEU would be {bleu:.2f}. Give the "
        f"translations {right}-width punctuation and score again."
    )


def _share_full_width(lines: Sequence[str]) -> float:
    full, half = (sum(line.count(mark) for line in lines for mark in marks) for marks in (_MARKS, ",?!;:"))
    return full / max(1, full + half)


def _script(compared: Compared) -> str:
    theirs, ours = (_share_traditional(lines) for lines in (compared.hypotheses, compared.references))
    if theirs is None or ours is None or abs(theirs - ours) < 0.5:
        return ""
    kinds = ["traditional", "simplified"] if theirs > ours else ["simplified", "traditional"]
    return (
        f"These figures mislead: the translations are in {kinds[0]} characters, the references in {kinds[1]} ones. "
        "Each character that differs counts as wrong; convert one of them (OpenCC does) and score again."
    )


def _share_traditional(lines: Sequence[str]) -> float | None:
    """Return the share of traditional ones among the characters of one kind only; None where there are too few."""
    counts = [0, 0]
    for character in chain.from_iterable(lines):
        if character >= "\u4e00" and (kind := _only_traditional(character)) is not None:
            counts[kind] += 1
    return counts[True] / sum(counts) if sum(counts) >= 10 else None


@lru_cache(maxsize=1 << 16)
def _only_traditional(character: str) -> bool | None:
    """Tell whether a character is in use in traditional (True) or simplified (False) text only.

    That is: is it among the 6,763 characters of mainland China's GB 2312, or Taiwan's 5,401 frequent ones of Big5?
    """
    simplified = len(character.encode("gb2312", "ignore")) == 2
    big5 = character.encode("big5", "ignore")
    frequent = len(big5) == 2 and 0xA4 <= big5[0] <= 0xC6
    return frequent if simplified != bool(big5) and (simplified or frequent) else None


def _spaces(compared: Compared) -> str:
    theirs, ours = (_share(lines, _SPACE_IN_CHINESE) for lines in (compared.hypotheses, compared.references))
    if theirs < _SHARE_OF_LINES or theirs < 2 * ours:
        return ""
    blind = "BLEU here does not see them, but" if compared.tokenizer in ("zh", "char") else "They change BLEU, and"
    return (
        f"{theirs:.0%} of the translations have spaces between Chinese characters (of the references: {ours:.0%}). "
        f"{blind} readers do; take them out, as Chinese is written."
    )


def _spaced_ends(compared: Compared) -> str:
    theirs, ours = (_share(lines, _SPACE_BEFORE_THE_END) for lines in (compared.hypotheses, compared.references))
    if abs(theirs - ours) < _SHARE_OF_LINES:
        return ""
    side = "translations" if theirs > ours else "references"
    return (
        f"These figures mislead: {max(theirs, ours):.0%} of the {side} end in a space and a mark, as if tokenized "
        f"(of the others {min(theirs, ours):.0%}). BLEU wants text as it is read; put it together again and score that."
    )


def _share(lines: Sequence[str], what: re.Pattern[str]) -> float:
    return sum(what.search(line) is not None for line in lines) / len(lines)


def _sentences_as_words(compared: Compared) -> str:
    if compared.tokenizer not in _SPLIT_AT_SPACES or not _mostly_han_or_kana(compared.references):
        return ""
    return (
        f"These figures mislead: the references are Chinese or Japanese, but the tokenizer {compared.tokenizer} "
        "takes whole sentences for words. Name their language, --language zh or corpus.target_language, and leave "
        "evaluation.bleu_tokenizer at auto."
    )


def _letters_as_words(compared: Compared) -> str:
    if compared.tokenizer != "char" or not any(" " in line.strip() for line in compared.references):
        return ""
    if _SPACE_IN_CHINESE.search("\n".join(compared.references)) or _mostly_han_or_kana(compared.references):
        return ""
    return (
        "These figures mislead: the references are written in words, but the tokenizer char takes each letter for a "
        "word, which gives a far higher BLEU that compares with nobody's. Leave evaluation.bleu_tokenizer at auto."
    )


def _other_language(compared: Compared) -> str:
    theirs, ours = (_share_han_or_kana(lines) for lines in (compared.hypotheses, compared.references))
    if abs(theirs - ours) > 0.5:
        return (
            f"These figures mislead: {ours:.0%} of the references' letters are Chinese or Japanese characters, of the "
            f"translations' {theirs:.0%}. One of them is in another language: are the files in the right order?"
        )
    if compared.tokenizer == "zh" and ours < 0.1:
        return (
            f"These figures mislead: the tokenizer is the Chinese one, but only {ours:.0%} of the references' letters "
            "are Chinese. Name their language (--language), so that the figure compares with others."
        )
    return ""


def _mostly_han_or_kana(lines: Sequence[str]) -> bool:
    return _share_han_or_kana(lines) > 0.5


def _share_han_or_kana(lines: Sequence[str]) -> float:
    found, letters = (sum(len(kind.findall(line)) for line in lines) for kind in (_EACH_HAN_OR_KANA, _LETTER))
    return found / max(1, letters)


def _empty_references(compared: Compared) -> str:
    empty = list(_empty(compared.references))
    if not empty:
        return ""
    return (
        f"{len(empty):,} references are empty (the first is line {empty[0]}): whatever is said there counts as wrong. "
        "Take these lines out of all files."
    )


def _empty_translations(compared: Compared) -> str:
    empty = [row for row in _empty(compared.hypotheses) if compared.references[row - 1].strip()]
    if len(empty) < _SHARE_OF_LINES * len(compared.hypotheses):
        return ""
    return (
        f"{len(empty):,} translations are empty (the first is line {empty[0]}): all of these sentences is lost, and "
        "BLEU is cut for brevity as well. Did the translation stop halfway?"
    )


def _empty(lines: Sequence[str]) -> Iterator[int]:
    return (number for number, line in enumerate(lines, start=1) if not line.strip())


def _no_better_than_copying(compared: Compared) -> str:
    if compared.copy_bleu is None or compared.copy_bleu < max(compared.bleu, 1.0):
        return ""
    return (
        f"Handing the source back untranslated scores as much or more (BLEU {compared.copy_bleu:.2f}): by this figure "
        "the translations are worth nothing."
    )


_LOOKS: dict[str, Callable[[Compared], str]] = {
    "width": _width,
    "script": _script,
    "spaces_in_chinese": _spaces,
    "spaced_ends": _spaced_ends,
    "sentences_as_words": _sentences_as_words,
    "letters_as_words": _letters_as_words,
    "other_language": _other_language,
    "empty_references": _empty_references,
    "empty_translations": _empty_translations,
    "no_better_than_copying": _no_better_than_copying,
}
