"""Comparing systems: sacreBLEU's figures, sentences that say what they mean, and no certainty from nothing."""

import random

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from mtrain.evaluation.metrics import score
from mtrain.evaluation.report import render_comparison
from mtrain.evaluation.significance import compare

DRAW = random.Random(2)
REFERENCES = ["".join(DRAW.choice("天地玄黄宇宙洪荒日月盈昃") for _ in range(12)) for _ in range(150)]


def worse(share: float, seed: int) -> list[str]:
    draw = random.Random(seed)
    return ["".join("好" if draw.random() < share else one for one in line) for line in REFERENCES]


def test_the_figures_are_sacrebleus() -> None:
    systems = [("one", worse(0.2, 1)), ("two", worse(0.3, 2))]
    found = compare(systems, REFERENCES, "zh")
    _, theirs = PairedTest(systems, {"BLEU": BLEU(tokenize="zh")}, [REFERENCES], test_type="bs", n_samples=1000)()
    assert [(system.bleu.score, system.bleu.interval, system.bleu.p) for system in found.systems] == [
        (result.score, result.ci, result.p_value) for result in theirs["BLEU"]
    ]
    assert [system.bleu.score for system in found.systems] == [
        score(lines, REFERENCES, None, "zh").bleu for _, lines in systems
    ]
    assert "bs:1000" in found.bleu_signature
    assert "seed:12345" in found.chrf_signature


def test_a_clear_difference_is_believed_and_a_small_one_is_not() -> None:
    base = worse(0.2, 1)
    found = compare([("base", base), ("bad", worse(0.5, 2)), ("like", worse(0.2, 3))], REFERENCES, "zh")
    told = render_comparison(found)
    assert found.systems[0].bleu.p is None
    assert (found.systems[1].bleu.p or 1) < 0.01
    assert (found.systems[2].bleu.p or 0) > 0.05
    assert "BLEU worse than base (p = 0.001): two equally good systems would differ so much on 0.1% of such te" in told
    assert "It may be luck: 150 sentences cannot tell these two apart." in told
    assert "ask for p below 0.05 / 2 = 0.025" in told


def test_equal_translations_are_no_difference() -> None:
    same = worse(0.2, 1)
    found = compare([("one", same), ("two", list(same))], REFERENCES, "zh")
    assert (found.systems[1].bleu.p, found.systems[1].chrf.p) == (1.0, 1.0)
    assert "two and one: no difference in BLEU." in render_comparison(found)
    assert "at once" not in render_comparison(found)
