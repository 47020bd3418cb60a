"""From the text of a split to its token ids, in all processes, and what there is to count on the way."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mtrain.batches.id_files import as_arrays, writing_ids
from mtrain.batches.survey import Counted, SideCounts, SideSurvey, count_text, survey_from_json
from mtrain.console import progress
from mtrain.corpus.pair_files import written_blocks
from mtrain.corpus.sources import SIDES, Block, Side, Split
from mtrain.parallel import in_order
from mtrain.tokenizer import Tokenizer, Tokenizers


class Encoding(NamedTuple):
    """What encoding a split has found: figures of each side, and examples with a side of more tokens than allowed."""

    surveys: dict[Side, SideSurvey]
    over_limit: int

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        surveys = {side: asdict(survey) for side, survey in self.surveys.items()}
        return {"surveys": surveys, "over_limit": self.over_limit}

    @classmethod
    def from_json(cls, figures: dict[str, Any]) -> "Encoding":
        """Return what `as_json` was called on."""
        return cls({side: survey_from_json(figures["surveys"][side]) for side in SIDES}, figures["over_limit"])


@dataclass(frozen=True)
class Encoder:
    """Makes ids of the text of blocks.

    `heads` are the ids that sources begin with, by the number of their corpus; `normalised`: the text is it already.
    """

    tokenizers: Tokenizers
    heads: Sequence[list[int]]
    normalised: bool

    def __call__(self, block: Block) -> Mapping[Side, Counted]:
        """Return the ids of both sides, with what else is counted of them."""
        heads = [self.heads[number] for number in block.corpora]
        return {
            "source": _counted(self.tokenizers["source"], self._texts("source", block.sources), heads),
            "target": _counted(self.tokenizers["target"], self._texts("target", block.targets), []),
        }

    def _texts(self, side: Side, lines: list[str]) -> list[str]:
        return lines if self.normalised else list(map(self.tokenizers[side].normalise, lines))


def _counted(tokenizer: Tokenizer, texts: Sequence[str], heads: Sequence[list[int]]) -> Counted:
    examples = tokenizer.encode_batch(texts)
    if any(heads):
        examples = [head + ids for head, ids in zip(heads, examples, strict=True)]
    ids, lengths = as_arrays(examples, tokenizer.vocabulary_size)
    return Counted(ids, lengths, *count_text(texts))


def encode_split(
    folder: Path, split: Split, encoder: Encoder, pairs: int, max_tokens: int, workers: int
) -> Encoding:
    """Write the ids of a split whose text, of so many pairs, lies in `folder`; return what was counted."""
    blocks = progress(written_blocks(folder, split), f"encode {split}", pairs, "pair", lambda block: block.size)
    counts = {side: SideCounts(encoder.tokenizers[side]) for side in SIDES}
    over_limit = 0
    with ExitStack() as open_files:
        writers = {side: open_files.enter_context(writing_ids(folder, split, side)) for side in SIDES}
        for counted in in_order(encoder, blocks, workers):
            for side in SIDES:
                writers[side].write(counted[side].ids, counted[side].lengths)
                counts[side].add(counted[side])
            longest = np.maximum(counted["source"].lengths, counted["target"].lengths)
            over_limit += int(np.count_nonzero(longest > max_tokens))
    return Encoding({side: counts[side].survey() for side in SIDES}, over_limit)
