"""Which dev pairs `fit` translates."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
import torch

from mtrain.batches.store import Prepared
from mtrain.commands import validator
from mtrain.commands.validator import make_validator, some_of_dev
from mtrain.config.schema import Config, CorpusConfig, OneCorpus, TrainingConfig
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import Tokenizers


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


@pytest.mark.parametrize(
    ("dev", "expected"),
    [
        ((), {}),  # taken out of train: its pairs keep the numbers of train's corpora
        ((OneCorpus(("a.tsv",)), OneCorpus(("b.tsv",), name="none"), OneCorpus(("c.tsv",))), {"a.tsv": 4, "c.tsv": 6}),
    ],
)
def test_the_dev_loss_is_that_of_all_pairs(
    dev: tuple[OneCorpus, ...], expected: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = SimpleNamespace(
        examples=lambda split: range(10),
        corpora=lambda split: np.array([0] * 4 + [2] * 6, np.uint8),
        lines=lambda split, side: ["one"] * 10,
        tags=lambda split, of_corpora: [""] * 10,
    )
    monkeypatch.setattr(validator, "fixed_batches", lambda of, most, rows: [SimpleNamespace(target_tokens=len(rows))])
    monkeypatch.setattr(validator, "dev_losses", lambda model, own, precision: (own[0].target_tokens, None))
    train = (OneCorpus(("x.tsv",)), OneCorpus(("y.tsv",)), OneCorpus(("z.tsv",)))
    config = Config(corpus=CorpusConfig(train=train, dev=dev), training=TrainingConfig(validate_pairs=0))
    validate = make_validator(config, cast(Prepared, prepared), cast(Tokenizers, None), torch.float32)
    scores = validate(cast(Transformer, torch.nn.Identity()))
    assert scores.by_corpus == expected
    assert scores.loss == (10 if not dev else (4 * 4 + 6 * 6) / 10)
