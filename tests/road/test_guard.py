"""Learning another domain without forgetting the first: both dev corpora are told, and training stops in time."""

import json
from pathlib import Path

import pytest

from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare
from mtrain.config.load import load_config
from mtrain.config.schema import Config
from mtrain.errors import ConfigError
from mtrain.model.bundle import load_bundle
from mtrain.training.step import Updater

TUNE = """
extends: {base}
run: {{folder: {folder}/tuned}}
corpus:
  folder: {folder}/prepared-tuned
  train:
  - {{name: domain, files: [domain.source, domain.target]}}
  - {{name: general, files: [train.source, train.target], weight: 0}}
  dev:
  - {{name: domain, files: [domain-dev.source, domain-dev.target]}}
  - {{name: general, files: [dev.source, dev.target]}}
training:
  start_from: {folder}/run
  guard: general
  schedule: constant
  learning_rate: 5e-3
  warmup_updates: 1
  max_updates: 60
  validate_every_updates: 4
"""


@pytest.fixture
def tuning(trained: Config, tmp_path: Path) -> Path:
    """Return the YAML of a run that learns to say letters, which the trained one has never said."""
    corpus = tmp_path / "corpus"
    letters = str.maketrans("0123456789", "zyxwvutsrq")
    for split, name in (("train", "domain"), ("dev", "domain-dev")):
        lines = (corpus / f"{split}.source").read_text("utf-8").split("\n")[:300]
        sources = [f"7{line}7" for line in lines if line]  # other sentences than the general ones
        (corpus / f"{name}.source").write_text("\n".join(sources) + "\n", "utf-8")
        (corpus / f"{name}.target").write_text("\n".join(s.translate(letters) for s in sources) + "\n", "utf-8")
    file = tmp_path / "tune.yaml"
    file.write_text(TUNE.format(base=tmp_path / "digits.yaml", folder=tmp_path), "utf-8")
    return file


def validations(config: Config) -> list[dict[str, float]]:
    """Return the journal's records of validations."""
    lines = (Path(config.run.folder) / "metrics.jsonl").read_text("utf-8").split("\n")[:-1]
    return [record for record in map(json.loads, lines) if record["kind"] == "validation"]


def test_training_stops_before_the_guarded_corpus_is_forgotten(tuning, load, capsys):
    config = load(tuning)
    prepare(config)
    fit(config)
    said = capsys.readouterr().err
    assert "(guard: the dev loss of general has risen by " in said
    first, *others = validations(config)
    assert first["update"] == 0
    rises = [record["dev_loss_general"] - first["dev_loss_general"] for record in others]
    assert rises[-1] > config.training.guard_tolerance >= max(rises[:-1], default=0)
    assert all(record["dev_loss"] == pytest.approx(record["dev_loss_domain"], rel=1e-6) for record in others)
    # What is left is the best on its domain of those that had forgotten nothing; the first model is one of them.
    kept = load_bundle(Path(config.run.folder) / "model").origin["dev_loss"]
    both = zip([first, *others], [0.0, *rises], strict=True)
    assert kept == pytest.approx(min(record["dev_loss"] for record, rise in both if rise <= 0.05), rel=1e-5)
    fit(config)
    assert "nothing to do, training has ended (guard" in capsys.readouterr().err


def test_a_larger_tolerance_lets_it_go_on_and_the_end_is_the_same_as_without_a_stop(tuning, load, tmp_path):
    config = load(tuning, "training.max_updates=12", "training.guard_tolerance=0.000001")
    prepare(config)
    fit(config)
    stopped_at = validations(config)[-1]["update"]
    assert stopped_at < 12
    wide = ["training.max_updates=12", "training.guard_tolerance=100"]
    fit(load(tuning, *wide))
    whole = load(tuning, *wide, f"run.folder={tmp_path}/whole")
    fit(whole)
    stopped, through = (
        [(record["update"], record["dev_loss"], record["dev_loss_general"]) for record in validations(one)]
        for one in (config, whole)
    )
    assert stopped == through


def test_a_run_killed_after_its_first_checkpoint_goes_on_from_update_0(tuning, load, monkeypatch, capsys):
    config = load(tuning, "training.max_updates=1")
    prepare(config)
    with monkeypatch.context() as patch:
        patch.setattr(Updater, "update", lambda *_: pytest.exit("killed"))
        with pytest.raises(pytest.exit.Exception):
            fit(config)
    fit(config)
    assert "training ends after update 1" in capsys.readouterr().err


def test_a_guard_that_is_not_there_is_told(tuning):
    with pytest.raises(ConfigError, match=r"other is no corpus in corpus\.dev; there are: domain, general"):
        load_config(str(tuning), ["training.guard=other"])


def test_a_guard_needs_something_else_to_learn(tuning, trained):
    dev = "corpus.dev=[{name: general, files: [dev.source, dev.target]}]"
    with pytest.raises(ConfigError, match=r"corpus\.dev needs a second corpus"):
        load_config(str(tuning), [dev])
