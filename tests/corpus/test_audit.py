"""An audit of somebody's splits: each planted leak is counted, under its name, on the right line."""

import random
from pathlib import Path

import pytest

from mtrain.config.schema import CorpusConfig
from mtrain.corpus.audit import audit
from mtrain.corpus.leak_report import render_audit
from mtrain.corpus.sources import Pair
from mtrain.errors import CorpusError

DRAW = random.Random(6)


def han(length: int) -> str:
    return "".join(chr(DRAW.randrange(0x4E00, 0x9000)) for _ in range(length)) + "。"


def write(folder: Path, split: str, pairs: list[Pair]) -> None:
    for name in ("source", "target", "group"):
        text = "".join(getattr(pair, name) + "\n" for pair in pairs)
        (folder / f"{split}.{name}").write_text(text, encoding="utf-8")


@pytest.fixture
def corpus(tmp_path: Path) -> CorpusConfig:
    """Return 300 clean pairs of training, a clean dev, and a test of 50 of which some lines are in train somehow."""
    train = [Pair(han(15), han(20), "old") for _ in range(300)]
    test = [Pair(han(15), han(20), "old" if row < 20 else "new") for row in range(50)]
    train += [
        test[0],
        Pair(test[1].source + "！", test[1].target.replace("。", "．")),
        Pair(test[2].target, test[2].source),
        Pair(test[3].source, han(9)),
        Pair(test[3].source, han(9)),
        Pair(han(9), test[4].target),
        Pair(test[5].source, test[6].target),
        Pair("前文，" + test[7].source, han(9)),
        Pair(han(9), test[8].target[:14]),
        Pair("短。", "也短。"),
    ]
    test[9] = test[10] = Pair("短！", han(20), "new")
    write(tmp_path, "train", DRAW.sample(train, len(train)))
    write(tmp_path, "dev", [Pair(han(15), han(20)) for _ in range(30)])
    write(tmp_path, "test", test)
    names = {split: tuple(f"{split}.{name}" for name in ("source", "target", "group")) for split in ("train", "test")}
    return CorpusConfig(root=str(tmp_path), dev=("dev.source", "dev.target"), **names)  # type: ignore[arg-type]


def test_every_planted_leak_is_counted_under_its_name(corpus: CorpusConfig) -> None:
    found = audit(corpus)
    assert found.train == 310
    assert (found.splits["dev"].lines, found.splits["dev"].train) == (set(), 0)
    test = found.splits["test"]
    assert {kind: (leaked.lines, leaked.train) for kind, leaked in test.leaked.items()} == {
        "pair": ({0, 1, 2}, 3),
        "source": ({0, 1, 2, 3, 5, 9, 10}, 7),
        "target": ({0, 1, 2, 4, 6}, 5),
        "near_source": ({7}, 1),
        "near_target": ({8}, 1),
    }
    assert (test.lines, test.train) == ({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10)
    assert (test.groups, test.known_groups, test.known_pairs) == (2, 1, 18)


def test_the_audit_is_told_in_figures_and_examples(corpus: CorpusConfig) -> None:
    found = audit(corpus)
    told = render_audit(found)
    assert "dev: train has 0.00% of it, or nearly\n" in told
    assert "test: train has 22.00% of it, or nearly: scores there say little; train has other pairs of 1 of" in told
    near = found.splits["test"].leaked["near_source"].examples[0]
    assert near.text == "前文，" + near.held_out
    assert f"{near.text}" in told
    assert "\n2 of 100 sentences in test are short (under 10 Han characters or 29 letters): what is nearly" in told
    assert "in dev are short" not in told


def test_splits_that_are_not_given_cannot_be_audited(corpus: CorpusConfig) -> None:
    with pytest.raises(CorpusError, match=r"^corpus.dev and corpus.test are empty: there are no given splits to audit"):
        audit(CorpusConfig(root=corpus.root, train=corpus.train))
