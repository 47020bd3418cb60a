"""What the model looks at: every weight of every layer and head, where nothing in sight is left out."""

import numpy as np
import pytest
from typer.testing import CliRunner

from mtrain.cli import app
from mtrain.commands.fit import fit
from mtrain.config.load import load_config
from mtrain.inspection.attention import attention_view, render_alignment
from mtrain.model.bundle import load_bundle

SHORT = ("training.max_updates=2", "training.validate_pairs=0", "training.average_checkpoints=0")


@pytest.fixture
def bundle(prepared, tmp_path):
    fit(load_config(str(tmp_path / "tiny.yaml"), SHORT))
    return load_bundle(tmp_path / "run" / "model")


def test_the_view_has_the_weights_of_every_layer_and_head(bundle):
    view = attention_view(bundle.model, bundle.tokenizers, "子食乎？", "你吃了吗？")
    S, T = len(view.sources), len(view.inputs)
    assert view.sources[-1] == view.outputs[-1] == "</s>"
    assert view.inputs[1:] == view.outputs[:-1]
    assert "".join(view.outputs[:-1]) == "你吃了吗？"
    assert view.encoder_LHSS.shape == (2, 4, S, S)
    assert view.decoder_LHTT.shape == (1, 4, T, T)
    assert view.cross_LHTS.shape == (1, 4, T, S)
    for weights in view[3:6]:
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    assert not np.triu(view.decoder_LHTT, 1).any()


def test_watching_changes_nothing_and_leaves_no_trace(bundle, sentences):
    import torch

    tokens = torch.tensor([[5, 6, 7]])
    before = bundle.model(tokens, None, tokens)
    kernels = [attention.kernel for attention in bundle.model.encoder.self_attentions]
    attention_view(bundle.model, bundle.tokenizers, "子食乎？", "你吃了吗？")
    assert [attention.kernel for attention in bundle.model.encoder.self_attentions] == kernels
    assert torch.equal(bundle.model(tokens, None, tokens), before)


def test_the_alignment_names_what_was_looked_at_most(bundle):
    view = attention_view(bundle.model, bundle.tokenizers, "子食乎？", "你吃了吗？")
    lines = render_alignment(view).split("\n")
    assert len(lines) == len(view.outputs) + 1
    most = view.cross_LHTS[0].mean(0)[0].argmax()
    assert lines[1].split()[:2] == [view.outputs[0], view.sources[most]]


def test_the_command_translates_prints_and_draws(bundle, tmp_path):
    pytest.importorskip("matplotlib", reason='needs pip install "mtrain[plot]"')
    picture = tmp_path / "attention.png"
    command = ["inspect", "attention", "天甚佳。", "--model", str(tmp_path / "run" / "model"), "--plot", str(picture)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert picture.stat().st_size > 10_000
    assert "</s>" in result.output


def test_an_empty_sentence_is_told(bundle, tmp_path):
    result = CliRunner().invoke(app, ["inspect", "attention", " ", "--model", str(tmp_path / "run" / "model")])
    assert result.exit_code == 1
    assert "the source sentence is empty" in result.output
