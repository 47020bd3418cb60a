"""A run that starts from the model of another one."""

import shutil
from pathlib import Path

import pytest

from mtrain.batches.store import read_prepared
from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare
from mtrain.config.schema import Config
from mtrain.corpus.sources import SIDES
from mtrain.errors import CheckpointError, ConfigError, PreparedDataError
from mtrain.model.bundle import load_bundle
from mtrain.model.weights import named_weights


@pytest.fixture
def tuned(trained: Config, tmp_path: Path, load) -> list[str]:
    """Return the overrides of a run on other text that starts from the trained one."""
    domain = tmp_path / "domain"
    shutil.copytree(tmp_path / "corpus", domain)
    for name in ("train.source", "train.target"):
        lines = (domain / name).read_text("utf-8").split("\n")[:300]
        (domain / name).write_text("\n".join(lines) + "\n", "utf-8")
    return [
        f"training.start_from={trained.run.folder}",
        f"run.folder={tmp_path}/tuned",
        f"corpus.folder={tmp_path}/prepared-domain",
        f"corpus.root={domain}",
    ]


def test_weights_and_vocabulary_are_those_of_the_run_that_it_starts_from(trained, tuned, tmp_path, load, capsys):
    config = load(tmp_path / "digits.yaml", *tuned, "training.learning_rate_scale=1e-9", "training.max_updates=2")
    prepare(config)
    base = load_bundle(Path(trained.run.folder) / "model")
    for side in SIDES:
        pieces = read_prepared(Path(config.corpus.folder)).tokenizers()[side].all_pieces()
        assert pieces == base.tokenizers[side].all_pieces()
    fit(config)
    assert f"starting from the model of {trained.run.folder}" in capsys.readouterr().err
    theirs, ours = named_weights(base.model), named_weights(load_bundle(Path(config.run.folder) / "model").model)
    assert all((theirs[name] - ours[name]).abs().max() < 1e-5 for name in theirs)


def test_going_on_needs_no_base_any_more(trained, tuned, tmp_path, load):
    config = load(tmp_path / "digits.yaml", *tuned, "training.max_updates=2")
    prepare(config)
    fit(config)
    shutil.rmtree(trained.run.folder)
    fit(load(tmp_path / "digits.yaml", *tuned, "training.max_updates=4"))
    other = [f"tokenizer.take_from={trained.run.folder}", "training.start_from=elsewhere"]
    with pytest.raises(CheckpointError, match=r"training\.start_from was .*, is now"):
        fit(load(tmp_path / "digits.yaml", *tuned, *other))


def test_what_a_kill_before_the_first_checkpoint_leaves_is_no_reason_to_forget_the_base(tuned, tmp_path, load, capsys):
    config = load(tmp_path / "digits.yaml", *tuned, "training.max_updates=1")
    prepare(config)
    checkpoints = Path(config.run.folder) / "checkpoints"
    for left in (".update-00000001.mtrain-partial", "rehearsal"):
        (checkpoints / left).mkdir(parents=True)
    fit(config)
    assert "starting from the model of" in capsys.readouterr().err


def test_a_base_that_does_not_fit_is_told_with_the_cure(trained, tuned, tmp_path, load):
    config = load(tmp_path / "digits.yaml", *tuned, "model.d_ff=64", "model.activation=gelu", "model.dropout=0.3")
    prepare(config)
    with pytest.raises(ConfigError, match=r"another shape; set model\.d_ff=128, model\.activation=relu$"):
        fit(config)
    with pytest.raises(PreparedDataError, match=r"tokenizer\.take_from was .*, now is"):
        fit(load(tmp_path / "digits.yaml", *tuned, "training.start_from=elsewhere"))
    with pytest.raises(PreparedDataError, match=r"tokenizer\.take_from: there is no model in elsewhere\."):
        prepare(load(tmp_path / "digits.yaml", *tuned, "training.start_from=elsewhere"))


def test_data_in_other_pieces_are_refused(trained, tuned, tmp_path, load):
    config = load(tmp_path / "digits.yaml", *tuned)
    prepare(config)
    other = load(tmp_path / "digits.yaml", f"corpus.folder={tmp_path}/p2", f"run.folder={tmp_path}/r2",
                 "tokenizer.split_digits=false", "training.max_updates=1", "training.validate_pairs=0")
    prepare(other)
    fit(other)
    with pytest.raises(PreparedDataError, match=r"r2 has another vocabulary than the prepared data"):
        fit(load(tmp_path / "digits.yaml", *tuned, f"training.start_from={tmp_path}/r2",
                 f"tokenizer.take_from={trained.run.folder}"))
