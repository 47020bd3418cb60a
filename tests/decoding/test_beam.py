"""The search on a table of probabilities whose best path is known by enumeration."""

import itertools
import math

import pytest
import torch

from mtrain.config.schema import DecodingConfig
from mtrain.decoding.beam import Beam, beam_search
from mtrain.decoding.constraints import NEVER, EndBetween, NoRepeatedNgram, Prefix, RepetitionPenalty
from mtrain.decoding.length import length_penalty
from mtrain.decoding.search import Search
from mtrain.decoding.steps import NEVER_SAID, EnsembleSteps
from mtrain.model.build import build_model
from mtrain.tokenizer import BOS, EOS, PAD, UNK

WORDS = [4, 5, 6, 7]
VOCABULARY = 8


@pytest.fixture
def search(table_steps):
    """Return a search for the best hypothesis of each sentence."""

    def search(tables, longest, width, alpha=0.6, rules=()):
        beam = Beam(width, length_penalty("gnmt", alpha))
        return [best for (best,) in beam_search(table_steps(tables), longest, beam, rules)]

    return search


def enumerate_all(table, longest, alpha, name="gnmt"):
    """Return (score, words) of every sentence of up to `longest` tokens, EOS included, best first."""
    penalty, scored = length_penalty(name, alpha), []
    for length in range(1, longest + 1):
        for words in itertools.product(WORDS, repeat=length - 1):
            path = [BOS, BOS, *words, EOS]
            score = sum(float(table[a, b, c]) for a, b, c in zip(path, path[1:], path[2:], strict=False))
            scored.append((score / penalty(torch.tensor(length)).item(), list(words)))
    return sorted(scored, reverse=True)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_a_wide_beam_finds_the_best_of_all_sentences(alpha, search, random_table):
    tables = [random_table(seed) for seed in range(6)]
    longest = torch.tensor([5, 4, 6, 5, 3, 6])
    found = search(tables, longest, 1500, alpha)
    for table, limit, hypothesis in zip(tables, longest.tolist(), found, strict=True):
        score, words = enumerate_all(table, limit, alpha)[0]
        assert hypothesis.score == pytest.approx(score, abs=1e-4)
        assert hypothesis.tokens == words


def test_beam_1_is_greedy_search(search, random_table):
    tables = [random_table(seed, sharpness=0.5) for seed in range(20)]
    found = search(tables, torch.full((20,), 30), 1)
    for table, hypothesis in zip(tables, found, strict=True):
        path = [BOS, BOS]
        while path[-1] != EOS and len(path) < 31:
            path.append(int(table[path[-2], path[-1]].argmax()))
        assert hypothesis.tokens == [token for token in path[2:] if token != EOS]


def test_a_wider_beam_is_never_worse_on_these_tables_and_scores_are_true(search, random_table):
    for seed in range(8):
        table = random_table(seed, sharpness=0.7)
        for beam in (1, 2, 4, 8):
            (hypothesis,) = search([table], torch.tensor([12]), beam)
            path = [BOS, BOS, *hypothesis.tokens, EOS]
            score = sum(float(table[a, b, c]) for a, b, c in zip(path, path[1:], path[2:], strict=False))
            assert hypothesis.score == pytest.approx(score / ((5 + len(path) - 2) / 6) ** 0.6, abs=1e-4)


def test_sentences_do_not_disturb_each_other(search, random_table):
    tables = [random_table(seed, sharpness=0.7) for seed in range(12)]
    longest = torch.randint(3, 15, (12,))
    together = search(tables, longest, 3)
    for i, table in enumerate(tables):
        (alone,) = search([table], longest[i : i + 1], 3)
        assert alone.tokens == together[i].tokens
        assert alone.score == pytest.approx(together[i].score, abs=1e-5)


def test_a_model_that_never_ends_is_ended_and_said_to_be_cut(search, random_table):
    logits = torch.full((VOCABULARY, VOCABULARY, VOCABULARY), -math.inf)
    logits[:, :, 4], logits[:, :, EOS] = 5.0, -5.0
    (hypothesis,) = search([logits.log_softmax(-1)], torch.tensor([9]), 2, alpha=2.0)
    assert hypothesis.cut
    assert hypothesis.tokens == [4] * 8
    (sane,) = search([random_table(3)], torch.tensor([50]), 2)
    assert not sane.cut


@pytest.mark.parametrize("name", ["gnmt", "average"])
def test_the_best_few_are_the_best_of_all_sentences_in_order(name, table_steps, random_table):
    tables = [random_table(seed) for seed in range(4)]
    longest = torch.tensor([4, 5, 1, 3])
    found = beam_search(table_steps(tables), longest, Beam(1500, length_penalty(name, 0.8), best=5))
    for table, limit, hypotheses in zip(tables, longest.tolist(), found, strict=True):
        expected = enumerate_all(table, limit, 0.8, name)[:5]
        assert [hypothesis.tokens for hypothesis in hypotheses] == [words for _, words in expected]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([s for s, _ in expected], abs=1e-4)


def has_repeated_pair(words):
    pairs = list(itertools.pairwise(words))
    return len(pairs) > len(set(pairs))


def test_no_sequence_comes_twice_and_the_best_without_is_found(search, random_table):
    with_repetition = 0
    for seed in range(6):
        table = random_table(seed, sharpness=6)
        table[:, :, EOS] -= 6  # long sentences, which repeat themselves
        (free,) = search([table], torch.tensor([7]), 5000)
        with_repetition += has_repeated_pair(free.tokens)
        (ruled,) = search([table], torch.tensor([7]), 5000, rules=[NoRepeatedNgram(2)])
        # EOS and what comes before it are no sequence that could be there twice.
        allowed = [words for _, words in enumerate_all(table, 7, 0.6) if not has_repeated_pair(words)]
        assert ruled.tokens == allowed[0]
    assert with_repetition > 0


def test_lengths_are_kept_between_their_bounds_sentence_by_sentence(search, random_table):
    tables = [random_table(seed) for seed in range(3)]
    shortest, longest = torch.tensor([1, 4, 6]), torch.tensor([5, 5, 6])
    found = search(tables, longest, 1500, rules=[EndBetween(shortest, longest)])
    for table, low, high, hypothesis in zip(tables, shortest.tolist(), longest.tolist(), found, strict=True):
        fitting = [words for _, words in enumerate_all(table, high, 0.6) if len(words) + 1 >= low]
        assert hypothesis.tokens == fitting[0]


def test_a_prefix_is_kept_and_its_score_is_the_models(search, random_table):
    tables = [random_table(seed) for seed in range(3)]
    prefixes = [[4, 4, 7], [], [6]]
    padded = torch.tensor([[*prefix, *[-1] * (3 - len(prefix))] for prefix in prefixes])
    found = search(tables, torch.full((3,), 6), 1500, rules=[Prefix(padded)])
    for table, prefix, hypothesis in zip(tables, prefixes, found, strict=True):
        fitting = [best for best in enumerate_all(table, 6, 0.6) if best[1][: len(prefix)] == prefix]
        assert hypothesis.tokens == fitting[0][1]
        assert hypothesis.score == pytest.approx(fitting[0][0], abs=1e-4)


def test_a_prefix_may_break_the_rules_and_what_follows_it_may_not(search, random_table):
    table, limit, prefix = random_table(2), torch.tensor([8]), [4, 4, 4, 4]
    rules = [Prefix(torch.tensor([prefix]), [NoRepeatedNgram(2), EndBetween(torch.tensor([6]), limit)])]
    (found,) = search([table], limit, 200, alpha=0.0, rules=rules)
    path = [BOS, BOS, *found.tokens, EOS]
    score = sum(float(table[a, b, c]) for a, b, c in zip(path, path[1:], path[2:], strict=False))
    assert found.score == pytest.approx(score, abs=1e-4)
    assert found.tokens[:4] == prefix
    assert len(found.tokens) >= 5
    assert not has_repeated_pair(found.tokens[3:])


@pytest.mark.parametrize("method", ["beam", "sampling"])
def test_a_search_keeps_a_prefix_that_breaks_its_rules(method, model_config):
    model = build_model(model_config(), VOCABULARY, VOCABULARY)
    config = DecodingConfig(method=method, no_repeat_ngram=2, repetition_penalty=1.1)
    for (best,) in Search([model], config)([[5], [6, 7]], [[4, 4, 4, 4], []], 1, lambda _: None):
        assert best.score > NEVER
        assert not has_repeated_pair(best.tokens[3:])
    assert Search([model], config)([[5]], [[4, 4, 4, 4]], 1, lambda _: None)[0][0].tokens[:4] == [4, 4, 4, 4]


def test_repeated_tokens_become_less_likely():
    log_probabilities = torch.full((1, 2, VOCABULARY), -1.0)
    RepetitionPenalty(1.5)(log_probabilities, torch.tensor([[[BOS, 4, 4, 6], [BOS, 7, 5, 7]]]), torch.tensor([0]))
    assert log_probabilities[0, 0].tolist() == [-1, -1, -1, -1, -1.5, -1, -1.5, -1]
    assert log_probabilities[0, 1].tolist() == [-1, -1, -1, -1, -1, -1.5, -1, -1.5]


def test_the_coverage_penalty_chooses_among_those_that_end(table_steps, random_table):
    class Covering(table_steps):
        """Thinks that hypotheses have looked past more of the source the more often they have a 4."""

        def coverage_BN(self):
            return torch.tensor([[-float(history.count(4)) for history in row] for row in self.histories])

    for seed in range(6):
        table = random_table(seed)
        beam = Beam(1500, length_penalty("gnmt", 0.6), coverage=0.7)
        ((hypothesis,),) = beam_search(Covering([table]), torch.tensor([5]), beam)
        expected = max((s - 0.7 * words.count(4), words) for s, words in enumerate_all(table, 5, 0.6))
        assert hypothesis.tokens == expected[1]
        assert hypothesis.score == pytest.approx(expected[0], abs=1e-4)


def test_what_is_never_said_is_told_without_a_list_that_would_be_copied_at_each_step():
    assert list(range(VOCABULARY)[NEVER_SAID]) == [PAD, UNK, BOS]


def test_an_ensemble_is_the_mean_of_probabilities(table_steps, random_table):
    one, other = random_table(1), random_table(2)
    beam = Beam(1500, length_penalty("gnmt", 0.6))
    ((together,),) = beam_search(EnsembleSteps([table_steps([one]), table_steps([other])]), torch.tensor([5]), beam)
    mean = ((one.exp() + other.exp()) / 2).log()
    ((expected,),) = beam_search(table_steps([mean]), torch.tensor([5]), beam)
    assert together.tokens == expected.tokens
    assert together.score == pytest.approx(expected.score, abs=1e-5)
