"""A model must be seen to learn: copying, reversing and sorting digits, by decoding alone."""

import pytest

from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare
from mtrain.commands.translate import translate_split


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "norm_position", "updates"), [("copy", "pre", 700), ("reverse", "pre", 900), ("sort", "post", 1200)]
)
def test_unseen_digits_are_translated_rightly(digits, load, capsys, task, norm_position, updates):
    config = load(
        digits(task, pairs=12_000),
        f"model.norm_position={norm_position}",
        f"training.max_updates={updates}",
        "training.cooldown=0.5",
        "training.validate_every_updates=500",
        "training.save_every_updates=500",
        "training.log_every_updates=100",
        "model.dropout=0.0",
    )
    prepare(config)
    fit(config)
    _, hypotheses, references = translate_split(config, "test")
    assert "IGNORES ITS SOURCE" not in capsys.readouterr().err
    right = sum(map(str.__eq__, hypotheses, references))
    assert right >= 45, list(zip(hypotheses, references, strict=True))[:10]
