"""`fit` finds the length penalty that is best on dev; who writes another one gets that."""

from pathlib import Path

import pytest

import mtrain
from mtrain.api import open_models
from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare
from mtrain.config.load import load_config


def kept(run):
    return load_config(str(run / "model" / "config.yaml")).decoding.length_penalty


@pytest.fixture
def favouring_long(monkeypatch):
    """Make 3 the best penalty, whatever the model."""
    monkeypatch.setattr("mtrain.commands.length_penalty.best_penalty", lambda scores, usual: max(set(scores) & {3.0}))


@pytest.fixture
def tuned(favouring_long, digits, load):
    file = digits()
    prepare(load(file))
    fit(load(file, "training.max_updates=4"))
    return file


def test_the_table_is_shown_and_what_is_best_becomes_the_models_own(capsys, tuned, load):
    run = tuned.parent / "run"
    err = capsys.readouterr().err
    assert "brevity penalty" in err
    assert "length penalty of the model: 3\n" in err
    assert kept(run) == 3
    assert load_config(str(run / "config.yaml")).decoding.length_penalty == -1  # so that a longer run looks again


def used(config, *folders):
    folders = folders or [Path(config.run.folder) / "model"]
    return open_models(folders, config.decoding, "cpu", 1).decoding.length_penalty


def test_who_writes_a_number_gets_it_and_who_writes_none_the_models_own(tuned, load):
    model = tuned.parent / "run" / "model"
    assert used(load(tuned)) == 3
    assert used(load(tuned, "decoding.length_penalty=0.5")) == 0.5
    assert used(load(tuned, "decoding.length_penalty=0")) == 0
    tuned.write_text(tuned.read_text("utf-8").replace("decoding:\n", "decoding:\n  length_penalty: 1.25\n"), "utf-8")
    assert used(load(tuned)) == 1.25
    assert used(load(model / "config.yaml"), model) == 3
    assert used(load(model / "config.yaml", "decoding.length_penalty=2"), model) == 2
    assert used(load(model / "config.yaml", "decoding.length_penalty=-1"), model) == 3
    loaded = mtrain.load(tuned.parent / "run")
    assert loaded.decoding.length_penalty == 3
    by_score = [loaded.translate(["12345"], **changes)[0] for changes in ({}, {"length_penalty": -1})]
    assert by_score[0].score == by_score[1].score


@pytest.mark.parametrize(
    ("setting", "penalty"),
    [("decoding.length_penalty=1.5", 1.5), ("training.tune_pairs=0", 0.6), ("decoding.beam=1", 0.6)],
)
def test_where_nothing_is_to_be_found_nothing_is_searched(favouring_long, digits, load, capsys, setting, penalty):
    file = digits()
    prepare(load(file))
    fit(load(file, "training.max_updates=4", setting))
    assert "brevity penalty" not in capsys.readouterr().err
    assert kept(file.parent / "run") == penalty


def test_another_wish_makes_a_finished_run_look_again(tuned, load, capsys):
    capsys.readouterr()
    fit(load(tuned, "training.max_updates=4"))
    assert "nothing to do" in capsys.readouterr().err
    fit(load(tuned, "training.max_updates=4", "decoding.length_penalty=0.25"))
    assert kept(tuned.parent / "run") == 0.25


def test_interrupted_while_it_looks_the_run_ends_the_same(digits, load, monkeypatch):
    file = digits()
    prepare(load(file))
    settings = ["training.max_updates=4"]
    fit(load(file, *settings, f"run.folder={file.parent}/twin"))

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mtrain.commands.length_penalty.translations_by_penalty", killed)
        with pytest.raises(KeyboardInterrupt):
            fit(load(file, *settings))
    assert not (file.parent / "run" / "model").exists()
    fit(load(file, *settings))
    contents = []
    for run in ("run", "twin"):
        files = {part.name: part.read_bytes() for part in (file.parent / run / "model").iterdir()}
        contents.append([files["model.safetensors"], files["tokenizer.model"]])
        assert files["config.yaml"].replace(b"/twin", b"/run") == (file.parent / "run/model/config.yaml").read_bytes()
    assert contents[0] == contents[1]
