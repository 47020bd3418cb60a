"""Which dev pairs `fit` translates."""

from types import SimpleNamespace
from typing import cast

import numpy as np

from mtrain.batches.store import Prepared
from mtrain.commands.validator import some_of_dev
from mtrain.config.schema import Config


def test_dev_pairs_that_were_taken_out_of_train_are_translated_too() -> None:
    lines = [str(number) for number in range(10)]
    prepared = SimpleNamespace(
        corpora=lambda split: np.zeros(10, np.uint8),
        lines=lambda split, side: [side + line for line in lines],
        tags=lambda split, of_corpora: [""] * 10,
    )
    sources, references, tags = some_of_dev(Config(), cast(Prepared, prepared), 5)
    assert sources == [f"source{number}" for number in (0, 2, 4, 6, 8)]
    assert references == [f"target{number}" for number in (0, 2, 4, 6, 8)]
    assert tags == [""] * 5
