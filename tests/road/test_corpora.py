"""The road with two corpora that say opposite things of the same source: a tag tells which of them is meant."""

import pytest

from mtrain.api import load_models
from mtrain.batches.store import open_prepared
from mtrain.commands.bleu import score_run
from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare
from mtrain.commands.score import score_split
from mtrain.commands.translate import Wanted, translate
from mtrain.errors import CheckpointError, InputError

TRAIN = (
    "corpus.train=[{files: [train.source, train.target], name: there, tag: reverse, weight: %s},"
    " {files: [train.source, train.source], tag: copy, drop_identical: false}]"
)
DEV = "corpus.dev=[{files: [dev.source, dev.target], tag: reverse}, {files: [dev.source, dev.source], tag: copy}]"
TEST = "corpus.test=[{files: [test.source, test.target], tag: reverse}]"
SETTINGS = [DEV, TEST, "batches.bpe_dropout=0.1"]


def test_tags_and_weights_on_the_whole_road(digits, load, capsys):
    file = digits(pairs=300)  # some epochs
    short = [*SETTINGS, "training.max_updates=16", "training.validate_every_updates=16", "decoding.min_length=4"]
    config = load(file, TRAIN % 1.5, *short, "training.max_updates=7")
    prepare(config)
    twin = load(file, TRAIN % 1.5, *short, f"run.folder={file.parent}/twin")
    fit(twin)
    fit(config)
    assert "pairs of each corpus: there 1.5; train.source, train.source 1\n" in capsys.readouterr().err
    fit(load(file, TRAIN % 1.5, *short))
    weights = [(file.parent / run / "model" / "model.safetensors").read_bytes() for run in ("run", "twin")]
    assert weights[0] == weights[1]
    with pytest.raises(CheckpointError, match=r"weights of corpus\.train was \[1\.5, 1\.0\], is now \[2\.0, 1\.0\]"):
        fit(load(file, TRAIN % 2, *short, "training.max_updates=99"))

    sources = file.parent / "corpus" / "test.source"
    outputs = [file.parent / name for name in ("plain.txt", "reverse.txt")]
    for output, tag in zip(outputs, ("", "reverse"), strict=True):
        translate(config, [sources], [], Wanted(output, scores=True, tag=tag))
        assert len(output.read_text("utf-8").split("\n")) == 51
    assert outputs[0].read_bytes() != outputs[1].read_bytes()
    with pytest.raises(InputError, match="trained without the tag revers; it knows copy, reverse"):
        translate(config, [sources], [], Wanted(tag="revers"))
    score_run(config, False)
    assert "BLEU" in capsys.readouterr().out
    model = load_models([file.parent / "run" / "model"], "cpu", 2)
    lines = sources.read_text("utf-8").split("\n")[:-1]
    translated = model.translate(lines, tags=["reverse"] * len(lines))
    told = outputs[1].read_text("utf-8").split("\n")[:-1]
    assert [one.text for one in translated] == [line.split("\t")[-1] for line in told]
    assert translated[0].pieces[0] == "<reverse>▁"
    with pytest.raises(InputError, match="there are 50 lines and 2 tags"):
        model.translate(lines, tags=["reverse", ""])
    scores = model.score(lines, [one.text for one in translated], tags=["reverse"] * len(lines))
    target = model.tokenizers["target"]
    spelt_alike = [tuple(target.pieces(target.encode(one.text))) == one.candidates[0].pieces for one in translated]
    assert any(spelt_alike)
    for one, score, alike in zip(translated, scores, spelt_alike, strict=True):
        assert not alike or score.score == pytest.approx(one.score, abs=1e-4)
    score_split(config, "dev", [])
    assert capsys.readouterr().out.count("\n") == 100


@pytest.mark.slow
def test_the_tag_decides_what_a_model_does(digits, load):
    file = digits(pairs=4000)
    limits = ["training.max_updates=900", "training.validate_every_updates=300", "training.save_every_updates=300"]
    limits += ["training.schedule=inverse_sqrt", "training.learning_rate=3e-3", "training.warmup_updates=100"]
    config = load(file, TRAIN % 1, *SETTINGS, *limits, "model.dropout=0", "tokenizer.vocabulary_size=300")
    prepare(config)
    fit(config)
    model = load_models([file.parent / "run" / "model"], "cpu", 2)
    data = open_prepared(file.parent / "prepared", config.corpus, config.tokenizer)
    sources = data.lines("test", "source")
    for tag, expected in (("copy", sources), ("reverse", [line[::-1] for line in sources])):
        found = [one.text for one in model.translate(sources, tags=[tag] * len(sources), alignment=False)]
        assert sum(map(str.__eq__, found, expected)) > 0.6 * len(sources), (tag, found[:5])
