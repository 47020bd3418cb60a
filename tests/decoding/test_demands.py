"""The search that says what is demanded, on tables of probabilities whose best path is known by enumeration."""

import itertools
import math
import random

import pytest
import torch

from mtrain.decoding.automaton import PieceTexts, build_automaton
from mtrain.decoding.beam import Beam, beam_search
from mtrain.decoding.constraints import NoRepeatedNgram, Prefix
from mtrain.decoding.demands import SayDemands, open_at_most
from mtrain.decoding.glossary import Demand, says
from mtrain.decoding.length import length_penalty
from mtrain.tokenizer import BOS, EOS

LONGEST = 6
NATS = 7.0
# The four words of the tables, spelt so that a text can be said in several ways, and begin within a word.
CHINESE = ["曹", "曹操", "操", "操曹"]
CHINESE_TEXTS = ["曹操", "曹", "操", "操曹", "曹曹操", "操操", "操曹操", "曹操曹操"]
SPACED = ["a", "ab", "b", " "]
SPACED_TEXTS = ["ab", "a", "b", "ba", "aab", "bb", "b a", "a b"]


class FourWords:
    """A tokenizer that knows four words, the longest first."""

    def __init__(self, words):
        self.tags = {}
        self.words = dict(zip(words, range(260, 264), strict=True))

    def all_pieces(self):
        return [f"<{id_}>" for id_ in range(260)] + list(self.words)

    def encode(self, text):
        ids = []
        while text:
            word = max((word for word in self.words if text.startswith(word)), key=len)
            ids.append(self.words[word])
            text = text.removeprefix(word)
        return ids


class FewTexts(PieceTexts):
    """The same, with ids from 4 to 7, as the tables have them."""

    def __init__(self, words):
        tokenizer = FourWords(words)
        super().__init__(tokenizer, spaced=" " in words)
        self._texts = ["", "", "", "", *self._texts[260:]]
        self._encode = lambda text: [id_ - 256 for id_ in tokenizer.encode(text)]


@pytest.fixture
def search(table_steps):
    """Return a search with demands for each of the tables."""

    def search(tables, demands, words, width=1500, *, best=1, rules=(), nats=NATS):
        texts = FewTexts(words)
        automata = [build_automaton(of_one, texts) for of_one in demands]
        choice = SayDemands(automata, width, [nats] * len(tables), torch.from_numpy(texts.characters_VL))
        beam = Beam(width, length_penalty("gnmt", 0.6), best)
        return beam_search(table_steps(tables), torch.full((len(tables),), LONGEST), beam, rules, choice)

    return search


def enumerate_all(table, words, demands, longest=LONGEST, nats=NATS):
    """Return (worth, ids, log-probability) of all sentences that say what is demanded, best first."""
    found = []
    for length in range(1, longest + 1):
        for ids in itertools.product(range(4, 8), repeat=length - 1):
            if says("".join(words[id_ - 4] for id_ in ids), demands):
                path = [BOS, BOS, *ids, EOS]
                total = sum(float(table[a, b, c]) for a, b, c in zip(path, path[1:], path[2:], strict=False))
                found.append((total / nats + 0.6 * math.log((5 + length) / 6), list(ids), total))
    return sorted(found, reverse=True)


def some_demands(seed, texts):
    draw = random.Random(seed)
    first, second, third = draw.sample(texts, 3)
    demands = [Demand(frozenset((first, second)), draw.randint(1, 2)), Demand(frozenset((third,)), 1)]
    return demands[: draw.randint(1, 2)]


@pytest.mark.parametrize(("words", "texts"), [(CHINESE, CHINESE_TEXTS), (SPACED, SPACED_TEXTS)])
def test_a_wide_beam_finds_the_best_of_all_sentences_that_say_it(words, texts, search, random_table):
    possible = 0
    for seed in range(14):
        table, demands = random_table(seed), some_demands(seed, texts)
        expected = enumerate_all(table, words, demands)[:3]
        (found,) = search([table], [demands], words, best=3)
        if not expected:  # not in so few words
            assert found[0].score == -math.inf
            continue
        possible += 1
        assert [hypothesis.tokens for hypothesis in found] == [ids for _, ids, _ in expected]
        for hypothesis, (_, ids, total) in zip(found, expected, strict=True):
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-4)
            assert hypothesis.score == pytest.approx(total / ((6 + len(ids)) / 6) ** 0.6, abs=1e-4)
    assert possible > 8


@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_narrow_beam_says_it_too_though_the_model_would_not(width, search, random_table):
    for seed in range(12):
        table = random_table(seed, sharpness=0.5)
        table[:, :, 6] -= 12  # 操 by itself, which is demanded, is hardly ever said
        demands = [Demand(frozenset(["操操"]), 1)]
        ((hypothesis, *_),) = search([table.log_softmax(-1)], [demands], CHINESE, width)
        assert says("".join(CHINESE[id_ - 4] for id_ in hypothesis.tokens), demands)


@pytest.mark.parametrize("width", [2, 4])
def test_sentences_do_not_disturb_each_other(width, search, random_table):
    tables = [random_table(seed, sharpness=0.7) for seed in range(10)]
    demands = [some_demands(seed, CHINESE_TEXTS) for seed in range(10)]
    together = search(tables, demands, CHINESE, width, best=2)
    for i, table in enumerate(tables):
        (alone,) = search([table], demands[i : i + 1], CHINESE, width, best=2)
        assert [hypothesis.tokens for hypothesis in alone] == [hypothesis.tokens for hypothesis in together[i]]


def test_a_prefix_counts_as_said_and_other_rules_hold(search, random_table):
    for seed in range(5):
        table, demands = random_table(seed), [Demand(frozenset(["曹操"]), 1)]
        prefix = Prefix(torch.tensor([[7, 6]]))  # 操曹 and 操: the text begins within the first word
        ((found,),) = search([table], [demands], CHINESE, rules=[prefix])
        assert found.tokens == next(ids for _, ids, _ in enumerate_all(table, CHINESE, []) if ids[:2] == [7, 6])
        twice = [Demand(frozenset(["曹曹"]), 2)]
        ((found,),) = search([table], [twice], CHINESE, rules=[NoRepeatedNgram(2)])
        expected = [
            ids
            for _, ids, _ in enumerate_all(table, CHINESE, twice)
            if len(set(itertools.pairwise(ids))) == max(0, len(ids) - 1)
        ]
        assert found.tokens == (expected[0] if expected else [])


def test_what_is_demanded_lengthens_nothing_else(search, random_table):
    """A text that costs much would make every longer sentence better, were it divided by the length penalty."""
    longer = 0
    for seed in range(10):
        table, demands = random_table(seed, sharpness=0.7), [Demand(frozenset(["曹曹"]), 1)]
        table[:, 4, 4] -= 60
        free = -search([table], [[Demand(frozenset([word]), 0) for word in "曹"]], CHINESE)[0][0].log_probability
        lengths = [
            len(search([table], [demands], CHINESE, nats=nats)[0][0].tokens) for nats in (free, free + 60)
        ]
        longer += lengths[1] > lengths[0]
        assert lengths[1] >= lengths[0]
    assert longer > 1


def test_as_many_hypotheses_are_open_as_there_are_things_to_have_said():
    assert open_at_most(1, 1, 4) == 8
    assert open_at_most(1, 4, 4) == 11
    assert open_at_most(3, 4, 4) == 17
    assert open_at_most(50, 100, 4) == 32
    assert FewTexts(CHINESE).fewest(Demand(frozenset(["曹操曹操", "曹曹曹"]), 2)) == 4
