"""One search for all length penalties finds what a search for each of them finds."""

import pytest
import torch

from mtrain.config.load import change_decoding
from mtrain.config.schema import DecodingConfig
from mtrain.decoding.beam import Beam, beam_search
from mtrain.decoding.length import length_penalty
from mtrain.decoding.search import Search
from mtrain.decoding.tuning import PENALTIES, _RankedAnew
from mtrain.evaluation.metrics import score
from mtrain.evaluation.penalties import best_penalty, render_penalties
from mtrain.model.build import build_model
from mtrain.tokenizer import EOS


@pytest.fixture
def model(model_config):
    """Return a model that ends its translations at all lengths."""
    model = build_model(model_config(output_bias=True), 40, 40).eval()
    model.output.bias.data[EOS] += 2
    return model


@pytest.mark.parametrize("changes", [{}, {"length_normalization": "average"}, {"coverage_penalty": 0.3, "beam": 6}])
def test_ranking_anew_is_searching_anew(model, sentences, changes):
    config = change_decoding(DecodingConfig(max_length_extra=8), changes)
    sources = sentences(30)
    once, nothing = _RankedAnew(model, config), [[]] * 30
    lengths = set()
    for penalty in PENALTIES:
        once.length_penalty = penalty
        found = once(sources, nothing, 1, lambda _: None)
        again = Search([model], change_decoding(config, {"length_penalty": penalty}))
        for (one,), (other,) in zip(found, again(sources, nothing, 1, lambda _: None), strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)
            assert one.tokens == other.tokens
        lengths.add(sum(len(one.tokens) for (one,) in found))
    assert len(lengths) > 2  # or the penalties would not have been put to the test


def test_the_search_is_made_once(model, sentences):
    done = []
    once = _RankedAnew(model, DecodingConfig(max_length_extra=5))
    for penalty in PENALTIES:
        once.length_penalty = penalty
        once(sentences(6), [[]] * 6, 1, done.append)
    assert sum(done) == 6


def test_log_probabilities_and_scores_agree_and_all_of_a_beam_end_whatever_the_penalty(table_steps, random_table):
    tables = [random_table(seed, sharpness=0.7) for seed in range(6)]
    ended = []
    for alpha in (0.0, 0.6, 3.0):
        penalty = length_penalty("gnmt", alpha)
        found = beam_search(table_steps(tables), torch.full((6,), 12), Beam(4, penalty, best=4))
        for hypotheses in found:
            assert len(hypotheses) == 4
            for one in hypotheses:
                divisor = penalty(torch.tensor(len(one.tokens) + 1)).item()
                assert one.score == pytest.approx(one.log_probability / divisor, abs=1e-5)
        ended.append([sorted(one.tokens for one in hypotheses) for hypotheses in found])
    assert ended[0] == ended[1] == ended[2]


REFERENCE = ["a b c d e f g h", "i j k l m n o p"]


def test_the_best_bleu_is_kept_and_among_equals_what_is_nearest_to_usual():
    texts = {0.0: ["a b c d", "i j k l"], 0.6: ["a b c d e f", "i j k l m n"], 1.0: REFERENCE, 3.0: REFERENCE}
    scores = {penalty: score(lines, REFERENCE, None, "en") for penalty, lines in texts.items()}
    assert best_penalty(scores, 0.6) == 1.0
    assert best_penalty(scores, 2.5) == 3.0
    rows = render_penalties(scores, 1.0).split("\n")
    assert rows[0].split() == ["length", "penalty", "BLEU", "brevity", "penalty", "length", "ratio"]
    assert rows[1].split()[0::3] == ["0", "0.500"]
    assert rows[3].split() == ["1", "100.00", "1.000", "1.000", "kept"]
    assert "kept" not in rows[4]
