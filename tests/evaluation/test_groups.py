"""Scores by group: the same as of the group's lines alone, with intervals that sacreBLEU gives."""

import random

import pytest
from sacrebleu.metrics.bleu import BLEU

from mtrain.evaluation.groups import Texts, score_groups
from mtrain.evaluation.metrics import score
from mtrain.evaluation.report import render_groups


def texts(count: int) -> tuple[Texts, list[str]]:
    draw = random.Random(5)
    references = ["".join(draw.choice("天地玄黄宇宙洪荒日月盈昃") for _ in range(12)) for _ in range(count)]
    hypotheses = [line[: draw.randint(6, 12)] + "好" for line in references]
    sources = [line[2:9] for line in references]
    return Texts(hypotheses, references, sources), [draw.choice(["史记", "史记", "汉书"]) for _ in references]


def test_each_group_scores_as_it_would_alone() -> None:
    whole, groups = texts(90)
    table = score_groups(whole, groups, "book", "zh")
    assert [(row.name, row.sentences) for row in table.rows] == [
        ("all", 90),
        ("史记", groups.count("史记")),
        ("汉书", groups.count("汉书")),
    ]
    for row in table.rows:
        rows = [place for place, group in enumerate(groups) if row.name in ("all", group)]
        part = whole.of(rows)
        alone = score(*part, "zh")
        assert (row.bleu.score, row.chrf.score, row.copy_bleu) == (alone.bleu, alone.chrf, alone.copy_bleu)
        theirs = BLEU(tokenize="zh").corpus_score(part.hypotheses, [part.references], n_bootstrap=1000)
        assert row.bleu.interval == theirs._ci > 0
    assert "bs:1000|seed:12345" in table.bleu_signature
    assert score_groups(whole, groups, "book", "zh") == table


def test_too_few_sentences_have_no_interval() -> None:
    whole, _ = texts(30)
    table = score_groups(whole, ["a"] * 20 + [""] * 10, "book", "zh")
    assert [row.bleu.interval is None for row in table.rows] == [False, False, True]
    lines = render_groups(table).split("\n")
    assert lines[0].split() == ["by", "book", "sentences", "BLEU", "±", "95%", "chrF2", "±", "95%", "copy"]
    assert lines[3].startswith("(none)")
    assert "–" in lines[3]


@pytest.mark.parametrize("figure", ["bleu", "chrf"])
def test_an_interval_narrows_with_the_square_root_of_the_sentences(figure: str) -> None:
    few, many = (getattr(score_groups(texts(n)[0], [""] * n, "", "zh").rows[0], figure).interval for n in (50, 800))
    assert few / many == pytest.approx(4, rel=0.35)


def test_without_sources_there_is_no_copying() -> None:
    whole, groups = texts(25)
    table = score_groups(whole._replace(sources=None), groups, "book", "zh")
    assert {row.copy_bleu for row in table.rows} == {None}
    assert "copy" not in render_groups(table)
