"""Hypotheses and references in, numbers with a signature out."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from mtrain.errors import InputError
from mtrain.evaluation.pitfalls import Compared, pitfalls
from mtrain.languages import CHINESE, JAPANESE, KOREAN, primary

_TOKENIZERS = {
    **dict.fromkeys(CHINESE, "zh"),
    **dict.fromkeys(JAPANESE, "ja-mecab"),
    **dict.fromkeys(KOREAN, "ko-mecab"),
}


@dataclass(frozen=True)
class Scores:
    """What a set of translations is worth, with all that is needed to read the figures rightly.

    `warnings` holds a sentence for each thing that makes them mislead, by its name.
    """

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
    warnings: dict[str, str]


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
    tokenizer = tokenizer_for(target_language, bleu_tokenizer)
    bleu, chrf = bleu_metric(tokenizer), CHRF()
    bleu_score = bleu.corpus_score(hypotheses, [references])
    chrf_score = chrf.corpus_score(hypotheses, [references])
    copy_bleu = None if sources is None else bleu.corpus_score(sources, [references]).score

    def rescore(hypotheses: Sequence[str], references: Sequence[str]) -> float:
        return float(bleu.corpus_score(hypotheses, [references]).score)

    return Scores(
        bleu=bleu_score.score,
        bleu_signature=str(bleu.get_signature()),
        chrf=chrf_score.score,
        chrf_signature=str(chrf.get_signature()),
        copy_bleu=copy_bleu,
        copy_chrf=None if sources is None else chrf.corpus_score(sources, [references]).score,
        brevity_penalty=bleu_score.bp,
        length_ratio=bleu_score.ratio,
        sentences=len(references),
        empty_hypotheses=sum(not line.strip() for line in hypotheses),
        tokenizer=tokenizer,
        warnings=pitfalls(Compared(hypotheses, references, tokenizer, bleu_score.score, copy_bleu, rescore)),
    )


def tokenizer_for(language: str, wanted: str = "auto") -> str:
    """Return sacreBLEU's tokenizer: the wanted one, or the language's: zh, mecab (Japanese, Korean), else 13a."""
    return _TOKENIZERS.get(primary(language), "13a") if wanted == "auto" else wanted


def bleu_metric(tokenizer: str) -> BLEU:
    """Return BLEU with one of sacreBLEU's tokenizers. Raises: InputError where it is not installed."""
    try:
        return BLEU(tokenize=tokenizer, force=True)  # `pitfalls` says it where text looks tokenized
    except RuntimeError as error:
        extra = tokenizer.removesuffix("-mecab")
        raise InputError(
            f"sacreBLEU's tokenizer {tokenizer} is not installed; install it with: pip install 'sacrebleu[{extra}]', "
            "or choose another in evaluation.bleu_tokenizer (char needs nothing)"
        ) from error
