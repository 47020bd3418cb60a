"""`mtrain inspect` from the command line to the terminal and to pictures."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mtrain.batches.store import read_prepared
from mtrain.batches.stream import model_lengths
from mtrain.cli import app
from mtrain.commands.prepare import prepare
from mtrain.config.load import dump_config, load_config
from mtrain.model.build import build_model
from mtrain.model.bundle import Bundle, save_bundle

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="Matplotlib, an optional package, is not installed"
)


def inspect(*arguments):
    """Return stdout and stderr of a command that succeeds."""
    result = CliRunner().invoke(app, ["inspect", *arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout, result.stderr


def complaint_of(*arguments):
    """Return the one line of a command that fails."""
    result = CliRunner().invoke(app, ["inspect", *arguments])
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    return result.stderr


@pytest.fixture
def bundle(prepared):
    tokenizers = read_prepared(Path(prepared.corpus.folder)).tokenizers()
    model = build_model(prepared.model, *(tokenizer.vocabulary_size for tokenizer in tokenizers.values()))
    folder = Path("runs/mine/model")
    save_bundle(Bundle(model, tokenizers, "lzh", "zh", prepared.model, {"end": 77}), dump_config(prepared), folder)
    return folder


@pytest.fixture
def run():
    folder = Path("runs/mine")
    folder.mkdir(parents=True, exist_ok=True)
    record = {"epoch": 0, "seconds": 5.0, "loss": 3.0, "perplexity": 20.0, "gradient_norm": 1.0, "learning_rate": 1e-4}
    lines = [json.dumps({"kind": "train", "update": update, **record}) for update in (10, 20)]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + '\n{"kind": "tr', "utf-8")
    return folder


def test_data(prepared):
    out, err = inspect("data", "-c", "tiny.yaml")
    assert "pairs: train 401, dev 1, test 1" in out
    assert "batch 1 of 1 in epoch 1: 401 pairs" in out
    assert err == ""


def test_each_side_can_have_a_vocabulary_of_its_own(config, capfd):
    own = replace(config, tokenizer=replace(config.tokenizer, joint=False), model=replace(config.model, tied="decoder"))
    prepare(own)
    changes = ("-s", "tokenizer.joint=false", "-s", "model.tied=decoder")
    out, _ = inspect("data", "-c", "tiny.yaml", *changes)
    sizes = [tokenizer.vocabulary_size for tokenizer in read_prepared(Path(own.corpus.folder)).tokenizers().values()]
    assert sizes[0] != sizes[1]
    for name, size in zip(("source (lzh)", "target (zh)"), sizes, strict=True):
        assert f"occurrences of the {size - 260:,} learnt pieces, {name}" in out
    out, _ = inspect("model", "-c", "tiny.yaml", *changes)
    assert all(f"weight {size}×32" in out for size in sizes)


def test_data_that_are_not_prepared_are_an_error(config):
    assert complaint_of("data", "-c", "tiny.yaml").endswith(
        "prepared: not prepared yet. Run `mtrain prepare` with the same --config and --set first.\n"
    )
    assert not Path("prepared").exists()


def test_data_of_too_long_sentences_only_are_an_error(prepared):
    complaint = complaint_of("data", "-c", "tiny.yaml", "-s", "batches.max_tokens_per_sentence=2")
    assert "prepared: every training pair has a side of more than 2 tokens. Raise" in complaint


def test_model_before_and_after_preparing(config, bundle):
    prepared = read_prepared(Path(config.corpus.folder))
    lengths = model_lengths(prepared.examples("train"))
    out, err = inspect("model", "-c", "tiny.yaml")
    assert f"weight {prepared.tokenizers()['source'].vocabulary_size}×32" in out
    assert f"pairs of {lengths.source.mean():.0f} source and {lengths.target.mean():.0f} target tokens" in out
    assert f"activations of 401 pairs of {lengths.source.max()} and {lengths.target.max()} tokens" in out
    assert err == ""
    changes = ("-s", "corpus.folder=elsewhere", "-s", "tokenizer.vocabulary_size=999")
    out, err = inspect("model", "-c", "tiny.yaml", *changes)
    assert "weight 999×32" in out
    assert err == (
        "elsewhere: not prepared yet. So a vocabulary of tokenizer.vocabulary_size and sentences of 32 tokens are "
        "assumed.\n"
    )


def test_corpora_are_looked_at_as_often_as_training_does(config):
    for side in ("source", "target"):
        Path(f"long.{side}").write_text("天甚佳，子食乎？" * 8 + "\n", "utf-8")
    train = "[{files: [train.source, train.target], weight: 2}, {files: [long.source, long.target], weight: 0}]"
    changes = ("-c", "tiny.yaml", "-s", f"corpus.train={train}", "-s", "batches.max_tokens_per_batch=99999")
    prepare(load_config("tiny.yaml", changes[3::2]))
    out, _ = inspect("data", *changes)
    assert "batch 1 of 1 in epoch 1: 802 pairs" in out
    prepared = read_prepared(Path("prepared"))
    seen = prepared.corpora("train") == 0
    source, target = (side[seen] for side in vars(model_lengths(prepared.examples("train"))).values())
    out, _ = inspect("model", *changes)
    assert f"activations of 802 pairs of {source.max()} and {target.max()} tokens" in out
    assert f"pairs of {source.mean():.0f} source and {target.mean():.0f} target tokens" in out


def test_a_trained_model_is_looked_at_in_its_folder(bundle):
    out, _ = inspect("model", "-m", str(bundle))
    assert "total, shared matrices counted once" in out
    assert "--model brings its own settings" in complaint_of("model", "-m", str(bundle), "-c", "tiny.yaml")
    assert "nowhere: no model here" in complaint_of("model", "-m", "nowhere")


def test_runs(run):
    out, err = inspect("run", str(run))
    assert out.split("\n")[1].split()[:2] == ["mine", "20"]
    assert err == ""
    assert "nowhere: is no folder of a run" in complaint_of("run", str(run), "nowhere")


def test_a_picture_that_cannot_be_is_told_before_any_work(config):
    for what in (["data"], ["model"], ["run", "nowhere"]):
        assert complaint_of(*what, "--plot", "a.gif").startswith("error: --plot a.gif: ends in neither .png nor .svg.")


@needs_matplotlib
def test_pictures(bundle, run):
    for number, what in enumerate((["data", "-c", "tiny.yaml"], ["model", "-m", str(bundle)], ["run", str(run)])):
        _, err = inspect(*what, "--plot", f"{number}.png")
        assert err.endswith(f"the picture is in {number}.png\n")
        assert Path(f"{number}.png").stat().st_size > 10_000


@needs_matplotlib
@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["training.max_updates=50"], "50 updates (training.max_updates)"),
        (["training.max_updates=0", "training.max_minutes=5"], "77 updates (as the trained run had)"),
        (
            ["training.max_updates=0", "training.max_minutes=5", "training.warmup_updates=7", "run.folder=other"],
            "70 updates (assumed, 10 warm-ups)",
        ),
    ],
)
def test_how_long_the_schedule_is_drawn_is_said(bundle, overrides, told):
    changes = [word for override in ["run.folder=runs/mine", *overrides] for word in ("-s", override)]
    _, err = inspect("model", "-c", "tiny.yaml", "--plot", "a.svg", *changes)
    assert f"the learning rate is drawn over {told}\n" in err
