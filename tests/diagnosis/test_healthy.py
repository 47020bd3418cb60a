"""No false alarm: healthy members of the family, in all the ways in which they differ."""

import pytest
import torch

from mtrain.commands.prepare import prepare
from mtrain.diagnosis.examination import examine
from mtrain.model.weights import named_weights

HEALTHY = {
    "pre": [],
    "post": ["norm_position=post"],
    "learned": ["positions=learned", "norm=rmsnorm", "activation=gelu", "dropout=0.3"],
    "rotary": ["positions=rotary", "activation=swiglu", "tied=decoder", "attention=reference"],
    "alibi": ["positions=alibi", "norm_position=post", "tied=none", "output_bias=true"],
    "relative": ["positions=relative", "initialization=normal", "attention_dropout=0.1"],
    "none": ["positions=none", "norm=rmsnorm", "norm_position=post"],
    "unscaled": ["scale_embeddings=false"],
    "gates": ["initialization=tfixup_like", "positions=rotary"],
    "gates post": ["initialization=tfixup_like", "norm_position=post", "activation=swiglu"],
    "normal": ["initialization=normal", "tied=none", "norm_position=post"],
    "uneven": ["encoder_layers=3", "decoder_layers=1", "head_width=8", "positions=relative", "activation=swiglu"],
    "normal none": ["initialization=normal", "positions=none", "norm=rmsnorm", "activation=gelu"],
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "pre")) for name in HEALTHY]
)
def test_a_healthy_model_is_called_healthy(name, subject):
    is_healthy(subject(*(f"model.{setting}" for setting in HEALTHY[name])))


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["optimizer=muon", "smoothing_over=all", "label_smoothing=0", "clip_norm=0"])
def test_other_settings_of_training_are_healthy_too(setting, subject):
    is_healthy(subject(f"training.{setting}"))


@pytest.mark.slow
def test_so_are_two_vocabularies(digits, load, subject):
    two = ("tokenizer.joint=false", "tokenizer.target_vocabulary_size=300", "model.tied=decoder")
    file = digits("spell")
    prepare(load(file, *two))
    is_healthy(subject(*two, file=file))


def is_healthy(healthy):
    before = {weight: values.clone() for weight, values in named_weights(healthy.model).items()}
    findings = [finding for _, finding in examine(healthy)]
    assert [finding for finding in findings if finding.verdict != "ok"] == []
    assert all(torch.equal(values, before[weight]) for weight, values in named_weights(healthy.model).items())
    assert {finding.tested for finding in findings} >= {"what was learnt by heart is translated rightly"}
