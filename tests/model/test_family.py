"""Every member of the model family keeps the promises, whatever its switches say."""

import itertools
from dataclasses import fields
from typing import get_args, get_type_hints

import pytest
import torch

from mtrain.batches.collate import collate
from mtrain.config.schema import ModelConfig
from mtrain.model.attention import KERNELS
from mtrain.model.build import BESIDE_EMBEDDINGS, INSIDE_ATTENTION, build_model
from mtrain.model.feedforward import FEED_FORWARDS
from mtrain.model.initialize import INITIALIZATIONS, last_matrices
from mtrain.model.norms import NORMS
from mtrain.model.sublayer import RESIDUALS
from mtrain.model.weights import named_weights, restore_weights
from mtrain.training.step import BatchLoss, Updater

V = 40
CHOICES = {name: get_args(kind) for name, kind in get_type_hints(ModelConfig).items() if get_args(kind)}
SWITCHES = CHOICES | {"scale_embeddings": (True, False), "output_bias": (False, True)}


def every_combination(names):
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*(SWITCHES[name] for name in names))]


def with_the_others_in_turn(combinations):
    """Let the switches that a combination does not name take their values by turns."""
    others = [name for name in SWITCHES if name not in combinations[0]]
    turns = itertools.cycle(every_combination(others))
    return [combination | turn for combination, turn in zip(combinations, turns, strict=False)]


# The four that change the flow of numbers most, in all combinations, the other five by turns; all of all is slow.
SOME = with_the_others_in_turn(every_combination(["positions", "norm_position", "norm", "activation"]))
ALL = every_combination(list(SWITCHES))
WIDE = {"d_model": 8, "heads": 2, "head_width": 6, "d_ff": 12, "encoder_layers": 1, "decoder_layers": 2, "dropout": 0.2}


def lives(switches, sentences):
    """Build, train one update, decode with the cache as without, take over weights into a new model."""
    torch.manual_seed(1)
    config = ModelConfig(**WIDE, **switches, attention_dropout=0.1)
    model = build_model(config, V, V)
    batch = collate(sentences(3), sentences(3, seed=1))
    before = {name: weight.clone() for name, weight in named_weights(model).items()}
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    report = Updater(BatchLoss(model, 0.1, torch.float32), optimizer, 1.0, 1).update(1, [batch], 0.01)
    assert report.gradient_norm.isfinite()
    assert report.gradient_norm > 0
    assert any(not torch.equal(weight, before[name]) for name, weight in named_weights(model).items())
    model.eval()
    with torch.no_grad():
        hidden_BTD = model(batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT)
        full_BTV = model.logits(hidden_BTD)
        cache = model.start(batch.source.src_BS, batch.source.keep_BS)
        for position in range(batch.tgt_in_BT.size(1)):
            step_BNV = model.step(batch.tgt_in_BT[:, position : position + 1], cache)
            torch.testing.assert_close(step_BNV[:, 0], full_BTV[:, position], rtol=0, atol=2e-5)
        other = build_model(config, V, V).eval()
        restore_weights(other, {name: weight.clone() for name, weight in named_weights(model).items()}, "", ValueError)
        again_BTD = other(batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT)
        assert torch.equal(again_BTD, hidden_BTD)


@pytest.mark.parametrize("positions", CHOICES["positions"])
def test_switches_in_many_combinations(positions, sentences):
    for switches in SOME:
        if switches["positions"] == positions:
            lives(switches, sentences)


@pytest.mark.slow
@pytest.mark.parametrize("positions", CHOICES["positions"])
def test_switches_in_all_combinations(positions, sentences):
    tried = [switches for switches in ALL if switches["positions"] == positions]
    assert len(tried) * len(CHOICES["positions"]) == len(ALL)
    for switches in tried:
        lives(switches, sentences)


def test_every_name_has_its_part_and_every_part_its_name():
    assert set(CHOICES["positions"]) == {*BESIDE_EMBEDDINGS, *INSIDE_ATTENTION, "none"}
    registries = {
        "norm_position": RESIDUALS,
        "norm": NORMS,
        "activation": FEED_FORWARDS,
        "attention": KERNELS,
        "initialization": INITIALIZATIONS,
    }
    assert {name: set(registry) for name, registry in registries.items()} == {
        name: set(CHOICES[name]) for name in registries
    }
    assert set(CHOICES) == {"positions", "tied", *registries}


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary", "alibi"])
def test_sentences_longer_than_any_table_are_read(model_config, kind):
    model = build_model(model_config(positions=kind), V, V).eval()
    long = torch.randint(4, V, (1, 1500))
    hidden = model(long, None, long[:, :600])
    assert hidden.isfinite().all()


@pytest.mark.parametrize("kind", [kind for kind in CHOICES["positions"] if kind != "none"])
def test_the_encoder_tells_a_sentence_from_its_mirror_image(model_config, kind):
    model = build_model(model_config(positions=kind), V, V).eval()
    sentence = torch.tensor([[5, 6, 7, 8, 9, 10]])
    memory, mirrored = model.encode(sentence, None), model.encode(sentence.flip(1), None).flip(1)
    assert (memory - mirrored).abs().max() > 1e-3


def test_without_positions_the_encoder_cannot(model_config):
    model = build_model(model_config(positions="none"), V, V).eval()
    sentence = torch.tensor([[5, 6, 7, 8, 9, 10]])
    torch.testing.assert_close(model.encode(sentence.flip(1), None).flip(1), model.encode(sentence, None))


def test_dropout_of_each_place_can_be_set_alone(model_config):
    places = [field.name for field in fields(ModelConfig) if field.name.endswith("_dropout")]
    assert len(places) == 4
    tokens = torch.randint(4, V, (2, 9))
    for place in [*places, None]:
        alone = dict.fromkeys(places, 0.0) | ({place: 0.5} if place else {})
        model = build_model(model_config(dropout=0.9, **alone), V, V).train()
        same = torch.equal(model(tokens, None, tokens), model(tokens, None, tokens))
        assert same == (place is None)


def test_the_gated_feed_forward_has_about_as_many_parameters(model_config):
    def parameters(**changes):
        model = build_model(model_config(d_model=256, d_ff=1024, **changes), V, V)
        return sum(parameter.numel() for parameter in model.parameters())

    assert parameters(activation="swiglu") == pytest.approx(parameters(), rel=0.01)


def test_tied_matrices_are_one(model_config):
    expected = {"three_way": 1, "decoder": 2, "none": 3}
    for tied, matrices in expected.items():
        model = build_model(model_config(tied=tied), V, V)
        assert sum(weight.shape == (V, 32) for weight in named_weights(model).values()) == matrices
        assert (model.target_embedding.weight is model.output.weight) == (tied != "none")


def test_each_side_may_have_a_vocabulary_of_its_own(model_config):
    model = build_model(model_config(tied="decoder"), 30, 50).eval()
    hidden = model(torch.tensor([[29]]), None, torch.tensor([[1, 49]]))
    assert model.logits(hidden).shape == (1, 2, 50)


def test_sublayers_that_start_at_nothing_leave_the_embeddings_alone_and_learn_all_the_same(model_config, sentences):
    model = build_model(model_config(initialization="tfixup_like"), V, V)
    batch = collate(sentences(3), sentences(3, seed=1))
    embedded = model.source_embedding(batch.source.src_BS)
    torch.testing.assert_close(
        model.encode(batch.source.src_BS, batch.source.keep_BS), model.encoder.final_norm(embedded)
    )
    adam = torch.optim.Adam(model.parameters(), fused=True)
    updater = Updater(BatchLoss(model, 0.0, torch.float32), adam, 1.0, 1)
    for update in (1, 2):  # the decoder learns first, then the encoder, which it looks at now
        updater.update(update, [batch], 0.01)
    assert all(matrix.any() for matrix in last_matrices(model).values())
