"""Scores for people and for machines, and translations to look at."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from mtrain.evaluation.metrics import Scores


def render(scores: Scores) -> str:
    """Return the scores as a small table with signatures, and a line for each thing that makes them misleading."""
    lines = [
        f"BLEU   {scores.bleu:6.2f}   {scores.bleu_signature}",
        f"chrF2  {scores.chrf:6.2f}   {scores.chrf_signature}",
    ]
    if scores.copy_bleu is not None:
        lines.append(f"copy   {scores.copy_bleu:6.2f}   BLEU of handing the source back (chrF2 {scores.copy_chrf:.2f})")
    lines.append(
        f"{scores.sentences} sentences, brevity penalty {scores.brevity_penalty:.3f}, "
        f"length ratio {scores.length_ratio:.3f}, {scores.empty_hypotheses} empty translations"
    )
    if scores.half_width_punctuation:
        lines.append(
            "These figures mislead: the translations write , ? ! where the references write ，？！. "
            "Each such mark counts as wrong; give the translations full-width punctuation and score again."
        )
    if scores.sentences_as_words:
        lines.append(
            f"These figures mislead: the references are Chinese or Japanese, but the tokenizer {scores.tokenizer} "
            "takes whole sentences for words. Name their language, --language zh or corpus.target_language, and leave "
            "evaluation.bleu_tokenizer at auto."
        )
    return "\n".join(lines)


def to_json(scores: Scores) -> str:
    """Return all the figures as JSON."""
    return json.dumps(asdict(scores), ensure_ascii=False, indent=2)


def render_samples(sources: Sequence[str], references: Sequence[str], hypotheses: Sequence[str], count: int = 3) -> str:
    """Return a few translations, evenly spread over the set, each below its source and reference."""
    total = len(sources)
    chosen = sorted({(2 * place + 1) * total // (2 * count) for place in range(count)}) if total else []
    return "\n\n".join(
        f"source       {sources[row]}\nreference    {references[row]}\ntranslation  {hypotheses[row]}" for row in chosen
    )
