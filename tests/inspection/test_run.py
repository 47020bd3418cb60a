"""Reading journals: whole ones, those a kill has cut short, and what is none."""

import json
import math

import pytest

from mtrain.errors import InspectionError
from mtrain.inspection.bars import bar, sparkline
from mtrain.inspection.run import read_runs, render_runs


def train(update, **figures):
    record = {"kind": "train", "update": update, "epoch": 0, "seconds": 1.5 * update, "perplexity": math.e**2}
    return json.dumps({**record, "loss": 3.0, "target_tokens_per_second": 100 * update, **figures})


def validation(update, loss, bleu=None):
    record = {"kind": "validation", "update": update, "epoch": 0, "seconds": 1.5 * update, "dev_loss": loss}
    return json.dumps(record if bleu is None else {**record, "dev_bleu": bleu})


WHOLE = [train(10), train(20), validation(20, 4.0, 3.0), train(30), validation(30, 2.0, 9.5), validation(40, 2.5, 8.0)]


@pytest.fixture
def make_run(tmp_path):
    def make(lines, name="a", end="\n"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "metrics.jsonl").write_text("\n".join(lines) + end, "utf-8")
        return folder

    return make


def test_the_curves_are_the_journals_figures(make_run):
    (run,) = read_runs([make_run(WHOLE)])
    assert run.curves["dev_loss"].updates == [20, 30, 40]
    assert run.curves["dev_bleu"].values == [3.0, 9.5, 8.0]
    assert run.curves["train_nll"].values == pytest.approx([2.0, 2.0, 2.0])
    assert run.curves["dev_loss"].best(highest=False) == (2.0, 30)
    assert run.curves["dev_gain_from_source"].values == []


def test_the_table_has_last_and_best_figures(make_run):
    text = render_runs(read_runs([make_run(WHOLE)]))
    assert " ".join(text.split("\n")[1].split()) == "a 40 1 0.8 2.000 2.500 2.000 at 30 9.5 at 30 2,000"
    assert "dev BLEU    a    3.00 ▁█▆ 8.00" in text


def test_a_last_line_that_a_kill_cut_short_is_nothing_to_speak_of(make_run, told):
    (run,) = read_runs([make_run([*WHOLE, train(50)[:25]], end="")])
    assert max(run.curves["loss"].updates) == 30
    assert told() == ""


def test_damage_elsewhere_is_said(make_run, told):
    folder = make_run([WHOLE[0], "\0\0\0", "[1]", '{"kind": "train"}', *WHOLE[1:]])
    (run,) = read_runs([folder])
    assert run.curves["loss"].updates == [10, 20, 30]
    assert told() == f"warning: {folder / 'metrics.jsonl'}: 3 lines are damaged and left out\n"


def test_updates_without_a_finite_gradient_have_no_loss(make_run):
    (run,) = read_runs([make_run([train(10), train(20, loss=None, perplexity=None, gradient_norm=None), train(30)])])
    assert run.curves["loss"].updates == run.curves["train_nll"].updates == [10, 30]


def test_runs_of_the_same_name_get_longer_ones(make_run):
    folders = [make_run(WHOLE, name) for name in ("first/run", "second/run")]
    assert [run.name for run in read_runs(folders)] == ["first/run", "second/run"]
    assert [run.name for run in read_runs(folders[:1])] == ["run"]
    assert read_runs([folders[0] / "metrics.jsonl"])[0].name == "run"


def test_what_is_no_run_is_told(tmp_path, make_run):
    with pytest.raises(InspectionError, match=r"nowhere: is no folder of a run: there is no metrics\.jsonl\. Name"):
        read_runs([tmp_path / "nowhere"])
    with pytest.raises(InspectionError, match=r": has no metrics\.jsonl\. Name the run\.folder of a run"):
        read_runs([tmp_path])
    with pytest.raises(InspectionError, match=r"metrics\.jsonl: tells of no update yet\. Wait for training\.log_every"):
        read_runs([make_run([], end="")])


def test_bars_and_lines_of_characters():
    assert [bar(share, 4) for share in (0, 1 / 32, 0.5, 1)] == ["", "▏", "██", "████"]
    assert sparkline([0, 1, 7]) == "▁▂█"
    assert sparkline([3, 3]) == "▁▁"
    assert sparkline([]) == ""
    long = sparkline(list(range(1000)), width=8)
    assert long == "▁▂▃▄▅▆▇█"
