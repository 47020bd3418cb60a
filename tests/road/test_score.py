"""`mtrain score`: what a search has reported of a translation is what the translation gets when it is given."""

from itertools import pairwise
from pathlib import Path

import pytest

from mtrain.commands.score import score_files, score_split
from mtrain.config.load import change_decoding
from mtrain.config.schema import DecodingConfig
from mtrain.decoding.scoring import score_ids, score_pairs
from mtrain.decoding.search import Search
from mtrain.errors import InputError
from mtrain.model.bundle import load_bundle

LINES = ["1234", "98765", "3", "", "5550123"]


@pytest.fixture
def bundle(trained):
    return load_bundle(Path(trained.run.folder) / "model")


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"length_normalization": "average", "length_penalty": 1.3},
        {"coverage_penalty": 0.4, "length_penalty": 0},
        {"repetition_penalty": 1.4, "no_repeat_ngram": 3, "min_length": 3},
        {"method": "sampling", "coverage_penalty": 0.4},
    ],
)
def test_the_score_is_the_one_that_the_search_reported(bundle, members, changes):
    import copy

    import torch

    models = [bundle.model, copy.deepcopy(bundle.model)][:members]
    for weight in models[-1].parameters():  # another model, if there are two
        weight.data += 0.05 * torch.randn_like(weight) * (members - 1)
    config = change_decoding(DecodingConfig(max_length_extra=10), changes)
    sources = [bundle.tokenizers["source"].encode(line) for line in LINES if line]
    found = Search(models, config)(sources, [[]] * len(sources), 2, lambda _: None)
    for rank in (0, 1):
        hypotheses = [of_source[rank] for of_source in found]
        scores = score_ids(models, config, sources, [hypothesis.tokens for hypothesis in hypotheses])
        assert [s.score for s in scores] == pytest.approx([h.score for h in hypotheses], abs=1e-4)
        assert [s.tokens for s in scores] == [len(h.tokens) + 1 for h in hypotheses]


def test_other_pairs_in_the_batch_change_nothing_and_the_order_is_kept(bundle):
    targets = ["4321", "5", "", "7", "3210555" * 20]
    results = []
    for budget in (1, 60, 100_000):
        config = DecodingConfig(max_tokens_per_batch=budget)
        results.append(score_pairs([bundle.model], bundle.tokenizers, config, (LINES, targets), lambda _: None))
    for result in results:
        assert [s.score for s in result] == pytest.approx([s.score for s in results[0]], abs=1e-4)
        for source, target, score in zip(LINES, targets, result, strict=True):
            assert score.tokens == len(bundle.tokenizers["target"].encode(target)) + 1
            assert score.source_tokens == len(bundle.tokenizers["source"].encode(source)) + 1
            assert score.score == pytest.approx(score.log_probability / ((5 + score.tokens) / 6) ** 0.6)


def test_a_pair_without_text_costs_nothing_as_in_translating(bundle):
    (pair,) = score_pairs([bundle.model], bundle.tokenizers, DecodingConfig(), ([" "], [""]), lambda _: None)
    assert (pair.score, pair.log_probability, pair.tokens, pair.source_tokens) == (0, 0, 0, 0)


def files(tmp_path, sources, targets):
    for name, lines in (("src", sources), ("tgt", targets)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return tmp_path / "src", tmp_path / "tgt"


def test_a_line_a_pair_and_what_is_empty_or_long_is_named(trained, tmp_path, capsys):
    score_files(trained, files(tmp_path, ["12", "", "7" * 300], ["21", "3", "7"]), [])
    out, err = capsys.readouterr()
    rows = [line.split("\t") for line in out.split("\n")[:-1]]
    assert len(rows) == 3
    for score, log_probability, tokens in rows:
        assert float(score) == pytest.approx(float(log_probability) / ((5 + int(tokens)) / 6) ** 0.6, abs=1e-3)
    assert f"empty: 1 pairs have a side without text: {tmp_path}/src:2" in err
    assert "long: 1 sources have over 256 tokens and were scored whole" in err
    assert f"{tmp_path}/src:3" in err


def test_a_longer_length_penalty_favours_longer_translations(trained, tmp_path, capsys):
    columns = []
    for penalty in (0.0, 1.0, 2.0):
        decoding = change_decoding(trained.decoding, {"length_penalty": penalty})
        score_files(trained.__class__(**{**vars(trained), "decoding": decoding}), files(tmp_path, ["12"], ["21"]), [])
        columns.append(capsys.readouterr().out.split("\t"))
    assert columns[0][0] == columns[0][1]
    assert all(float(less[0]) < float(more[0]) for less, more in pairwise(columns))
    assert len({column[1] for column in columns}) == 1


def test_a_split_is_scored_line_for_line(trained, capsys):
    score_split(trained, "dev", [])
    out, err = capsys.readouterr()
    assert out.count("\n") == 50
    assert "50 pairs" in err
    assert "perplexity" in err
    with pytest.raises(InputError, match=r"--split dve: there are train, dev, test"):
        score_split(trained, "dve", [])


def test_files_of_unequal_length_are_refused_before_anything_is_scored(trained, tmp_path, capsys):
    with pytest.raises(InputError, match=r"src has 2 lines, but .*tgt has 1"):
        score_files(trained, files(tmp_path, ["1", "2"], ["1"]), [])
    assert capsys.readouterr().out == ""
