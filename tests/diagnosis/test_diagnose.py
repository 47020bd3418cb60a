"""The command: of a config, a run, a model, a run that has only a checkpoint; and its exit status."""

import shutil

import pytest
import torch
from typer.testing import CliRunner

from mtrain.cli import app
from mtrain.commands import diagnose as command
from mtrain.commands.fit import fit
from mtrain.config.schema import TrainingConfig
from mtrain.diagnosis.examination import _rising_rates, _sentences, examine
from mtrain.diagnosis.finding import Finding
from mtrain.diagnosis.overfit import PAIRS, choose_pairs
from mtrain.errors import CheckpointError


@pytest.fixture(scope="module")
def run(prepared_digits, tmp_path_factory):
    """Return the folder of a run that has learnt hardly anything."""
    from mtrain.config.load import load_config

    folder = tmp_path_factory.mktemp("run")
    fit(load_config(str(prepared_digits), [f"run.folder={folder}", "training.max_updates=4", "run.threads=1"]))
    return folder


def call(*arguments):
    return CliRunner().invoke(app, ["diagnose", *map(str, arguments)])


@pytest.fixture
def one_finding(monkeypatch):
    """Return a way to let an examination find just this."""

    def find(finding):
        monkeypatch.setattr(command, "examine", lambda subject: iter([("loss", finding)]))

    return find


def test_the_status_is_1_only_where_something_is_broken(prepared_digits, one_finding):
    for finding, status in (
        (Finding("a", "1"), 0),
        (Finding("a", "1", "suspicious", "many_bytes"), 0),
        (Finding("a", "1", "broken", "future_visible"), 1),
    ):
        one_finding(finding)
        result = call("--config", prepared_digits)
        assert result.exit_code == status
        assert result.stdout.startswith("loss\n" + finding.verdict)


@pytest.mark.parametrize("part", [".", "model"])
def test_a_run_and_a_model_are_examined_as_they_were_trained(run, part, one_finding):
    one_finding(Finding("a", "1"))
    result = call("--model", run / part)
    assert result.exit_code == 0
    assert f"diagnosing {run / part} on" in result.stderr


def test_a_model_is_held_against_its_own_shape(run, subject):
    assert subject("model.dropout=0.4", "model.positions=none", trained=run).model_config == subject().model_config


def test_a_run_without_a_model_is_examined_at_its_latest_checkpoint(run, load, tmp_path, subject, capsys):
    (tmp_path / "checkpoints").symlink_to(run / "checkpoints")
    from_checkpoint = subject(trained=tmp_path)
    assert "its latest checkpoint, update-00000004, is examined" in capsys.readouterr().err
    fresh = subject()
    assert not torch.equal(from_checkpoint.model.output.weight, fresh.model.output.weight)


def test_a_damaged_checkpoint_is_named(run, tmp_path, subject):
    shutil.copytree(run / "checkpoints", tmp_path / "checkpoints")
    weights = tmp_path / "checkpoints" / "update-00000004" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(CheckpointError, match=r"update-00000004: model\.safetensors is damaged or missing"):
        subject(trained=tmp_path)


def test_where_all_pairs_are_over_the_limit_the_examination_ends_with_that(subject, causes):
    assert causes(subject("batches.max_tokens_per_sentence=1")) == ["limit_low"]


def test_pairs_of_a_word_or_two_are_learnt_by_heart_only_where_there_are_no_longer_ones():
    short, long = [([n], [n, n]) for n in range(4, 9)], [([n] * 3, [n] * 4) for n in range(4, 29)]
    assert choose_pairs([*short, *long]) == tuple(map(list, zip(*long[:PAIRS], strict=True)))
    assert choose_pairs([*short, *long[:2]]) == tuple(map(list, zip(*long[:2], *short, strict=True)))


@pytest.mark.parametrize(
    ("changes", "peak"),
    [
        ({"max_updates": 0}, 1.0),
        ({"max_updates": 300}, 1.0),
        ({"max_updates": 50}, 0.25),
        ({"max_updates": 100, "cooldown": 0.5}, 51 / 200),
    ],
)
def test_the_rate_that_is_tried_is_one_that_the_run_reaches(changes, peak):
    config = TrainingConfig(schedule="inverse_sqrt", learning_rate=1.0, warmup_updates=200, **changes)
    assert max(_rising_rates(config, 64)) == pytest.approx(peak)


def test_a_corpus_of_one_word_sources_still_shows_padding(subject):
    words = subject()
    words.pair = lambda index: ([index + 10], [index + 11, index + 12])
    assert _sentences(words).source.keep_BS is not None


def test_a_folder_with_nothing_in_it_is_named(tmp_path, one_finding):
    assert f"{tmp_path}" in call("--model", tmp_path).stderr
    assert call("--model", tmp_path).exit_code == 1


@pytest.mark.slow
def test_a_model_that_has_learnt_nothing_from_its_source_is_found(run, subject):
    named = [finding.cause for group, finding in examine(subject(trained=run)) if group == "source"]
    assert named == ["weights_untrained", "source_ignored"]
