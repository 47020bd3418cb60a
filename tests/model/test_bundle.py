"""A model folder with one vocabulary or two: what is in it, and what is said where something is not."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mtrain.config.schema import DecodingConfig, TokenizerConfig
from mtrain.corpus.sources import SIDES
from mtrain.corpus.spelling import Spelling
from mtrain.decoding.translator import Translator
from mtrain.errors import BundleError
from mtrain.model.build import build_model
from mtrain.model.bundle import Bundle, load_bundle, save_bundle
from mtrain.tokenizer import normalising, train_tokenizer

KINDS = {"joint": {"tokenizer.model"}, "apart": {"tokenizer.source.model", "tokenizer.target.model"}}


@pytest.fixture
def folder(model_config, tmp_path):
    """Return a maker of model folders."""

    def make(kind):
        source = train_tokenizer(["0123456789"] * 9, TokenizerConfig(vocabulary_size=300))
        target = train_tokenizer(["zyx"] * 9, TokenizerConfig(vocabulary_size=300)) if kind == "apart" else source
        config = model_config(tied="decoder" if kind == "apart" else "three_way")
        model = build_model(config, source.vocabulary_size, target.vocabulary_size)
        bundle = Bundle(model, {"source": source, "target": target}, "en", "en", config, {"end": 1})
        save_bundle(bundle, "run: {}\n", tmp_path / "model")
        return tmp_path / "model"

    return make


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_folder_is_the_same_after_loading_and_saving(folder, kind, tmp_path):
    first = folder(kind)
    bundle = load_bundle(first)
    assert bundle.tokenizers["source"].shares_vocabulary(bundle.tokenizers["target"]) == (kind == "joint")
    assert bundle.model.source_embedding.weight.shape[0] == bundle.tokenizers["source"].vocabulary_size
    assert bundle.model.output.weight.shape[0] == bundle.tokenizers["target"].vocabulary_size
    save_bundle(bundle, "run: {}\n", tmp_path / "again")
    assert contents(tmp_path / "again") == contents(first)
    assert {part.name for part in first.glob("tokenizer*")} == KINDS[kind]


def test_each_side_keeps_its_weights_and_its_vocabulary(folder):
    made = folder("apart")
    first, second = load_bundle(made), load_bundle(made)
    for one, other in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert first.model.target_embedding.weight is first.model.output.weight
    assert (first.tokenizers["source"].has_piece("7"), first.tokenizers["target"].has_piece("7")) == (True, False)


def test_a_model_folder_from_before_there_were_two_vocabularies_loads(folder):
    made = folder("joint")
    description = json.loads((made / "bundle.json").read_text("utf-8"))
    size = description["vocabulary_size"] = description.pop("vocabulary_sizes")["source"]
    (made / "bundle.json").write_text(json.dumps(description), "utf-8")
    assert load_bundle(made).model.source_embedding.weight.shape[0] == size


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("harm", [Path.unlink, lambda part: part.write_bytes(b"other")], ids=["missing", "damaged"])
def test_a_side_without_its_tokenizer_is_named(folder, side, harm):
    made = folder("apart")
    harm(made / f"tokenizer.{side}.model")
    with pytest.raises(BundleError, match=rf"tokenizer\.{side}\.model: is (missing|damaged).* Copy it again\.$"):
        load_bundle(made)


def test_a_model_folder_knows_how_its_sources_are_written(folder, tmp_path):
    made = load_bundle(folder("joint"))
    tokenizers = normalising(made.tokenizers, {"source": Spelling(width="half"), "target": Spelling()})
    save_bundle(replace(made, tokenizers=tokenizers), "run: {}\n", tmp_path / "half")
    for name, source, spelt in (("half", "12,3", ","), ("model", "１２，３", "１２，３")):
        bundle = load_bundle(tmp_path / name)
        translator = Translator([bundle.model], bundle.tokenizers, DecodingConfig(beam=1, max_length_extra=2), "zh")
        (translation,) = translator.translate(["１２，３"])
        assert (translation.source, translation.spelt) == (source, spelt)
