"""The road with a vocabulary for each side."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from mtrain.batches.collate import collate_sources
from mtrain.batches.store import read_prepared
from mtrain.batches.stream import collate_examples
from mtrain.commands.bleu import score_run
from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare
from mtrain.commands.translate import Wanted, translate, translate_split
from mtrain.config.schema import DecodingConfig, TokenizerConfig
from mtrain.corpus.sources import SIDES
from mtrain.decoding.beam import Hypothesis
from mtrain.decoding.translator import Translator
from mtrain.errors import ConfigError
from mtrain.model.bundle import load_bundle
from mtrain.tokenizer import train_tokenizer
from mtrain.training.nonfinite import write_pairs

# Digits are spelt in letters, of which each side knows only its own.
APART = ["tokenizer.joint=false", "model.tied=decoder", "tokenizer.target_vocabulary_size=310"]


def test_prepare_fit_translate_bleu_with_two_vocabularies(digits, load, tmp_path, capsys):
    config = load(digits("spell"), "training.max_updates=4", "batches.bpe_dropout=0.1", *APART)
    prepare(config)
    fit(config)
    bundle = load_bundle(Path(config.run.folder) / "model")
    source, target = bundle.tokenizers["source"], bundle.tokenizers["target"]
    assert (source.has_piece("1"), source.has_piece("z")) == (True, False)
    assert (target.has_piece("1"), target.has_piece("z")) == (False, True)
    assert bundle.model.source_embedding.weight.shape[0] == source.vocabulary_size
    assert bundle.model.target_embedding.weight.shape[0] == target.vocabulary_size != source.vocabulary_size
    assert bundle.model.output.weight is bundle.model.target_embedding.weight

    inputs, outputs = tmp_path / "in.txt", tmp_path / "out.txt"
    inputs.write_text("123\n\n4z6\n", "utf-8")
    translate(config, [inputs], [], Wanted(outputs))
    assert outputs.read_text("utf-8").split("\n")[1] == ""
    assert f"{inputs}:3 (z)" in capsys.readouterr().err
    score_run(config, as_json=True)
    assert json.loads(capsys.readouterr().out)["sentences"] == 50


@pytest.mark.slow
def test_digits_are_spelt_rightly_with_two_vocabularies(digits, load):
    settings = [*APART, "training.max_updates=700", "training.cooldown=0.5", "model.dropout=0.0"]
    often = ["training.save_every_updates=500", "training.validate_every_updates=500"]
    config = load(digits("spell", pairs=12_000), *settings, *often)
    prepare(config)
    fit(config)
    _, hypotheses, references = translate_split(config, "test")
    assert sum(map(str.__eq__, hypotheses, references)) >= 45


def test_the_source_is_encoded_by_its_tokenizer_and_the_output_decoded_by_the_targets(model, monkeypatch):
    source, target = (train_tokenizer([text * 9], TokenizerConfig(vocabulary_size=300)) for text in ("123", "zyx"))
    read = []

    def collating(sources):
        read.extend(sources)
        return collate_sources(sources)

    monkeypatch.setattr("mtrain.decoding.search.collate_sources", collating)
    said = Hypothesis(target.encode("zyx"), 0.0, 0.0, cut=False)
    monkeypatch.setattr("mtrain.decoding.search.beam_search", lambda *_: [[said]])
    monkeypatch.setattr("mtrain.decoding.search.TransformerSteps", lambda *_: None)
    translator = Translator([model], {"source": source, "target": target}, DecodingConfig(), "en")
    (translation,) = translator.translate(["123"])
    assert read == [source.encode("123")]
    assert translation.text == "zyx"


def test_pairs_of_a_bad_update_are_written_by_both_tokenizers(digits, load, tmp_path):
    config = load(digits("spell"), *APART)
    prepare(config)
    prepared = read_prepared(Path(config.corpus.folder))
    batch = collate_examples(prepared.examples("train"), np.arange(3))
    write_pairs([batch], prepared.tokenizers(), tmp_path / "pairs.tsv")
    sides = (prepared.lines("train", side)[:3] for side in SIDES)
    assert (tmp_path / "pairs.tsv").read_text("utf-8") == "".join(map("{}\t{}\n".format, *sides))


def test_one_matrix_for_two_vocabularies_is_refused_with_the_cure(digits, load):
    with pytest.raises(ConfigError, match=r"joint.*: model\.tied three_way needs .* set model\.tied=decoder"):
        load(digits(), "tokenizer.joint=false")


def test_with_two_vocabularies_too_a_run_goes_on_where_it_stopped(digits, load):
    file = digits("spell")
    settings = [*APART, "batches.bpe_dropout=0.2", "training.validate_pairs=0", "training.max_updates=8"]
    twin = load(file, *settings, f"run.folder={file.parent}/twin")
    prepare(twin)
    fit(twin)
    fit(load(file, *settings, "training.max_updates=5"))
    fit(load(file, *settings))
    weights = [load_file(file.parent / run / "model" / "model.safetensors") for run in ("twin", "run")]
    assert weights[0].keys() == weights[1].keys()
    assert all(np.array_equal(weights[0][name], weights[1][name]) for name in weights[0])
