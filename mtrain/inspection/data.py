"""Figures about prepared data, and what some of it looks like; everything is read, nothing estimated from a sample."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtrain.batches.store import Examples, Prepared
from mtrain.corpus.pair_files import text_file
from mtrain.corpus.sources import SPLITS, Side, Split
from mtrain.errors import InspectionError
from mtrain.tokenizer import BYTES, Tokenizer, Tokenizers

Counts = NDArray[np.int64]

_SAMPLES = 3


@dataclass(frozen=True)
class SideFigures:
    """One side of the training pairs. `spelt` are the characters without a piece, spelt in bytes, and how often."""

    language: str
    vocabulary: list[str]
    tokens: NDArray[np.int32]
    characters: Counts
    piece_counts: Counts
    spelt: Counter[str]


@dataclass(frozen=True)
class DataFigures:
    """What prepared data look like: `joint` where both sides have one vocabulary, `samples` pairs as pieces."""

    pairs: dict[Split, int]
    sides: dict[Side, SideFigures]
    joint: bool
    samples: list[dict[Side, list[str]]]

    @property
    def ratios(self) -> NDArray[np.float64]:
        """Target tokens for each source token, of every training pair."""
        return self.sides["target"].tokens / np.maximum(self.sides["source"].tokens, 1)


def survey_data(prepared: Prepared, tokenizers: Tokenizers) -> DataFigures:
    """Read the whole training split. Raises: InspectionError where it is empty."""
    examples, manifest = prepared.examples("train"), prepared.manifest
    if not len(examples):
        raise InspectionError(f"{prepared.folder}: no pair is left for training. Its report.txt says why")
    source, target = tokenizers["source"], tokenizers["target"]
    chosen = sorted({(2 * place + 1) * len(examples) // (2 * _SAMPLES) for place in range(_SAMPLES)})
    return DataFigures(
        pairs={split: manifest.pairs[split] for split in SPLITS},
        sides={
            "source": _survey_side(prepared, examples, "source", source, manifest.source_language),
            "target": _survey_side(prepared, examples, "target", target, manifest.target_language),
        },
        joint=source is target,
        samples=[
            {"source": source.pieces(examples.source(row)), "target": target.pieces(examples.target(row))}
            for row in chosen
        ],
    )


def _survey_side(
    prepared: Prepared, examples: Examples, side: Side, tokenizer: Tokenizer, language: str
) -> SideFigures:
    return SideFigures(
        language=language,
        vocabulary=tokenizer.pieces(range(tokenizer.vocabulary_size)),
        tokens=examples.lengths(side),
        characters=_characters(np.memmap(text_file(prepared.folder, "train", side), np.uint8, "r")),
        piece_counts=examples.token_counts(side, tokenizer.vocabulary_size),
        spelt=_spelt(examples, side),
    )


def _characters(text: NDArray[np.uint8]) -> Counts:
    r"""Return the characters of each line of UTF-8; each of them begins with a byte that is not 10xxxxxx."""
    lengths, carried = [np.zeros(0, dtype=np.int64)], 0
    for start in range(0, len(text), 1 << 22):
        block = text[start : start + (1 << 22)]
        seen = carried + np.cumsum((block & 0xC0) != 0x80, dtype=np.int64)
        at_ends = seen[block == ord("\n")]
        lengths.append(np.diff(at_ends, prepend=0) - 1)
        carried = int(seen[-1] - at_ends[-1]) if len(at_ends) else int(seen[-1])
    return np.concatenate(lengths)


def _spelt(examples: Examples, side: Side) -> Counter[str]:
    """Return the characters that are spelt in bytes: one after the other, the bytes of a side are whole characters."""
    found = (ids[(ids >= BYTES.start) & (ids < BYTES.stop)] - BYTES.start for ids in examples.blocks(side))
    return Counter(b"".join(ids.astype(np.uint8).tobytes() for ids in found).decode("utf-8", errors="replace"))
