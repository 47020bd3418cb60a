"""What to tell of a loss or gradient that has become infinite or no number at all."""

from collections.abc import Sequence
from pathlib import Path

from mtrain.batches.collate import Batch
from mtrain.corpus.sources import Side
from mtrain.errors import TrainingError
from mtrain.storage import write_whole
from mtrain.tokenizer import EOS, Tokenizers


def write_pairs(batches: Sequence[Batch], tokenizers: Tokenizers, file: Path) -> None:
    """Write the sentence pairs of an update as text."""
    pairs = [pair for batch in batches for pair in _pairs(batch, tokenizers)]
    write_whole(file, "".join(f"{source}\t{target}\n" for source, target in pairs))


def blown_up(update: int, file: Path) -> TrainingError:
    """Return the error for an update, the last of several without a finite gradient; `file` holds its pairs."""
    return TrainingError(
        f"update {update}: the gradient is not finite, as in the updates before it; none of them was applied. Its "
        f"sentence pairs are in {file}. If they look like any others, training has blown up: begin again in a new "
        "run.folder with a lower learning rate, a longer warm-up, or training.precision=fp32."
    )


def _pairs(batch: Batch, tokenizers: Tokenizers) -> list[tuple[str, str]]:
    sides: dict[Side, list[list[int]]] = {"source": batch.source.src_BS.tolist(), "target": batch.tgt_in_BT.tolist()}
    # Padding and the marks of begin and end are ids below EOS or EOS itself.
    texts = [[tokenizers[side].decode([i for i in row if i > EOS]) for row in rows] for side, rows in sides.items()]
    return list(zip(*texts, strict=True))
