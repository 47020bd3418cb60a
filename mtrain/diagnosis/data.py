"""The prepared data: text and ids agree, pairs belong together, little is lost, nothing leaks."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mtrain.batches.store import Examples, Prepared
from mtrain.batches.stream import model_lengths
from mtrain.console import progress
from mtrain.corpus.letters import sentence_key
from mtrain.corpus.lines import normalise
from mtrain.corpus.pair_files import written_pairs
from mtrain.corpus.sources import SIDES
from mtrain.diagnosis.finding import Finding, Findings, judged
from mtrain.tokenizer import BYTES, UNK, Tokenizers

_LINES = 500
_MOST_BYTES = 0.05
_MOST_OVER_LIMIT = 0.05
_TENTHS = 10
_LEAST_RELATED = 0.15
# With fewer pairs a part, a correlation is chance.
_ENOUGH = 30


def check_data(prepared: Prepared, tokenizers: Tokenizers, max_tokens_per_sentence: int) -> Findings:
    """Look at the text, the ids and the splits."""
    examples = prepared.examples("train")
    rows = np.unique(np.linspace(0, len(examples) - 1, min(_LINES, len(examples))).astype(int)).tolist()
    yield _round_trip(prepared, tokenizers, rows)
    yield _ids(prepared, tokenizers, examples, rows)
    yield _spelling(examples, tokenizers)
    yield _limit(examples, max_tokens_per_sentence)
    yield check_alignment(examples.source_lengths, examples.target_lengths)
    yield _leak(prepared)


def _round_trip(prepared: Prepared, tokenizers: Tokenizers, rows: Sequence[int]) -> Finding:
    lost: list[str] = []
    for side in SIDES:
        lines, tokenizer = prepared.text("train", side), tokenizers[side]
        texts = [tokenizer.normalise(lines[row]) for row in rows]
        lost += [text for text in texts if tokenizer.decode(tokenizer.encode(text)) != text]
    shown = f", such as {lost[0][:30]!r}" if lost else ""
    measured = f"{len(lost)} of {2 * len(rows):,} lines come back otherwise{shown} (0)"
    return judged("text to ids to text is without loss", measured, "tokenizer_loses_text" if lost else "")


def _ids(prepared: Prepared, tokenizers: Tokenizers, examples: Examples, rows: Sequence[int]) -> Finding:
    wrong = 0
    for side, ids_of in zip(SIDES, (examples.source, examples.target), strict=True):
        lines, tokenizer = prepared.text("train", side), tokenizers[side]
        stored = ([id_ for id_ in ids_of(row).tolist() if id_ not in tokenizer.tags.values()] for row in rows)
        texts = (tokenizer.normalise(lines[row]) for row in rows)
        wrong += sum(tokenizer.encode(text) != ids for text, ids in zip(texts, stored, strict=True))
    measured = f"{wrong} of {2 * len(rows):,} lines have other ids (0)"
    return judged("the ids are this tokenizer's for the text", measured, "tokenizer_mismatch" if wrong else "")


def _spelling(examples: Examples, tokenizers: Tokenizers) -> Finding:
    counts = [examples.token_counts(side, tokenizers[side].vocabulary_size) for side in SIDES]
    total = sum(int(count.sum()) for count in counts)
    in_bytes = sum(int(count[BYTES.start : BYTES.stop].sum()) for count in counts) / max(total, 1)
    unknown = sum(int(count[UNK]) for count in counts)
    measured = f"{in_bytes:.2%} of the tokens spell bytes (at most {_MOST_BYTES:.0%}), {unknown:,} are unknown (0)"
    cause = "unknown_pieces" if unknown else "many_bytes" if in_bytes > _MOST_BYTES else ""
    return judged("the vocabulary covers the text", measured, cause, "broken" if unknown else "suspicious")


def _limit(examples: Examples, limit: int) -> Finding:
    over = float((model_lengths(examples).longest_side > limit).mean())
    measured = f"{over:.2%} of the pairs have a side of more than {limit} tokens (at most {_MOST_OVER_LIMIT:.0%})"
    cause = "limit_low" if over > _MOST_OVER_LIMIT else ""
    return judged("few pairs are over the limit", measured, cause, "broken" if over > 0.5 else "suspicious")


def check_alignment(source_lengths: NDArray[np.int32], target_lengths: NDArray[np.int32]) -> Finding:
    """Correlate the two sides' lengths in each tenth of the corpus: those of strangers have nothing in common."""
    tested = "long sources have long targets, all along the corpus"
    parts = list(_tenths(source_lengths, target_lengths))
    if not parts:
        return Finding(tested, "too few pairs, or all of one length: nothing can be said")
    worst = min(related for _, related in parts)
    strange = [start + 1 for start, related in parts if related < _LEAST_RELATED]
    where = f", from about pair {strange[0]:,} on" if strange else ""
    measured = f"lowest correlation of lengths in a tenth: {worst:.2f}{where} (at least {_LEAST_RELATED:g})"
    return judged(tested, measured, "sources_shuffled" if strange else "")


def _tenths(source: NDArray[np.int32], target: NDArray[np.int32]) -> Iterator[tuple[int, float]]:
    """Yield where each part begins and the correlation in it, in logarithms: a few long sentences decide nothing."""
    size = max(_ENOUGH, -(-len(source) // _TENTHS))
    for start in range(0, len(source) - _ENOUGH + 1, size):
        sides = np.log1p(np.stack((source[start : start + size], target[start : start + size])))
        if sides.std(axis=1).min() > 0.1:
            yield start, float(np.corrcoef(sides)[0, 1])


def _leak(prepared: Prepared) -> Finding:
    held_out = {
        sentence_key(normalise(text))
        for split in ("dev", "test")
        for pair in written_pairs(prepared.folder, "dev" if split == "dev" else "test")
        for text in (pair.source, pair.target)
    }
    pairs = prepared.manifest.pairs["train"]
    trained_on = progress(written_pairs(prepared.folder, "train"), "look for dev and test in train", pairs, "pair")
    leaks = sum(any(sentence_key(text) in held_out for text in (pair.source, pair.target)) for pair in trained_on)
    measured = f"{leaks:,} training pairs hold a sentence of dev or test, of {pairs:,} (0)"
    return judged("dev and test are not in train", measured, "leak" if leaks else "")
