"""Hypotheses and references in, numbers with a signature out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from mtrain.errors import InputError
from mtrain.languages import CHINESE, JAPANESE, KOREAN, primary

_TOKENIZERS = {
    **dict.fromkeys(CHINESE, "zh"),
    **dict.fromkeys(JAPANESE, "ja-mecab"),
    **dict.fromkeys(KOREAN, "ko-mecab"),
}
# They take what stands between spaces and punctuation for a word.
_SPLIT_AT_SPACES = ("13a", "intl", "none")
_HAN_OR_KANA = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_LETTER = re.compile(r"\w")


@dataclass(frozen=True)
class Scores:
    """What a set of translations is worth, with all that is needed to read the figures rightly."""

    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    copy_bleu: float | None
    copy_chrf: float | None
    brevity_penalty: float
    length_ratio: float
    sentences: int
    empty_hypotheses: int
    tokenizer: str
    half_width_punctuation: bool
    sentences_as_words: bool


def score(
    hypotheses: Sequence[str],
    references: Sequence[str],
    sources: Sequence[str] | None,
    target_language: str,
    bleu_tokenizer: str = "auto",
) -> Scores:
    """Return BLEU and chrF of the hypotheses and, where sources are given, of handing the sources back untranslated.

    Raises: InputError where there is nothing to score, or where the language's tokenizer is not installed.
    """
    counts = [len(side) for side in (hypotheses, references, sources) if side is not None]
    if len(set(counts)) > 1 or not references:
        raise InputError(f"translations, references and sources must be equally many and not none, found {counts}")
    tokenizer = tokenizer_for(target_language) if bleu_tokenizer == "auto" else bleu_tokenizer
    bleu, chrf = _bleu(tokenizer), CHRF()
    bleu_score = bleu.corpus_score(hypotheses, [references])
    chrf_score = chrf.corpus_score(hypotheses, [references])
    return Scores(
        bleu=bleu_score.score,
        bleu_signature=str(bleu.get_signature()),
        chrf=chrf_score.score,
        chrf_signature=str(chrf.get_signature()),
        copy_bleu=None if sources is None else bleu.corpus_score(sources, [references]).score,
        copy_chrf=None if sources is None else chrf.corpus_score(sources, [references]).score,
        brevity_penalty=bleu_score.bp,
        length_ratio=bleu_score.ratio,
        sentences=len(references),
        empty_hypotheses=sum(not line.strip() for line in hypotheses),
        tokenizer=tokenizer,
        half_width_punctuation=tokenizer == "zh" and _mostly_half_width(hypotheses) and _mostly_full_width(references),
        sentences_as_words=tokenizer in _SPLIT_AT_SPACES and _mostly_han_or_kana(references),
    )


def tokenizer_for(language: str) -> str:
    """Return sacreBLEU's tokenizer for a target language: zh for Chinese, mecab for Japanese and Korean, else 13a."""
    return _TOKENIZERS.get(primary(language), "13a")


def _bleu(tokenizer: str) -> BLEU:
    try:
        return BLEU(tokenize=tokenizer)
    except RuntimeError as error:
        extra = tokenizer.removesuffix("-mecab")
        raise InputError(
            f"sacreBLEU's tokenizer {tokenizer} is not installed; install it with: pip install 'sacrebleu[{extra}]', "
            "or choose another in evaluation.bleu_tokenizer (char needs nothing)"
        ) from error


def _mostly_half_width(lines: Sequence[str]) -> bool:
    return _count(lines, ",?!") > _count(lines, "，？！")


def _mostly_full_width(lines: Sequence[str]) -> bool:
    return _count(lines, "，？！") > _count(lines, ",?!")


def _mostly_han_or_kana(lines: Sequence[str]) -> bool:
    found, letters = (sum(len(kind.findall(line)) for line in lines) for kind in (_HAN_OR_KANA, _LETTER))
    return 2 * found > letters


def _count(lines: Sequence[str], marks: str) -> int:
    return sum(line.count(mark) for line in lines for mark in marks)
