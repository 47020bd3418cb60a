"""What `mtrain translate` writes beside plain translations."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mtrain.api import LoadedModel
from mtrain.commands.translate import Wanted, translate
from mtrain.config.load import load_config
from mtrain.decoding.inputs import read_all
from mtrain.errors import InputError

LINES = ["123", "", "98765", "犇4"]


@pytest.fixture
def lines(tmp_path):
    file = tmp_path / "in.txt"
    file.write_text("".join(f"{line}\n" for line in LINES), "utf-8")
    return file


def written(trained, lines, tmp_path, models=(), **wanted):
    out = tmp_path / "out.txt"
    translate(trained, [lines], models, Wanted(output=out, **wanted))
    return out.read_text("utf-8").split("\n")[:-1]


def test_candidates_come_with_line_number_and_score_best_first(trained, lines, tmp_path):
    plain = written(trained, lines, tmp_path)
    rows = [row.split("\t") for row in written(trained, lines, tmp_path, nbest=3)]
    of_line = {number: [row for row in rows if row[0] == str(number)] for number in (1, 2, 3, 4)}
    assert [len(of_line[number]) for number in (1, 2, 3, 4)] == [3, 1, 3, 3]
    for number, candidates in of_line.items():
        scores = [float(score) for _, score, _ in candidates]
        assert scores == sorted(scores, reverse=True)
        assert candidates[0][2] == plain[number - 1]


def test_scores_stand_before_the_translations(trained, lines, tmp_path):
    plain, scored = written(trained, lines, tmp_path), written(trained, lines, tmp_path, scores=True)
    assert [row.split("\t")[1] for row in scored] == plain
    assert all(float(row.split("\t")[0]) <= 0 for row in scored)


def test_more_candidates_than_the_beam_ends_are_refused_with_the_cure(trained, lines, tmp_path):
    with pytest.raises(InputError, match=r"9 candidates .*nbest.* a beam of 4 .* decoding\.beam=9"):
        written(trained, lines, tmp_path, nbest=9)


def test_the_report_has_a_record_a_line_and_the_alignment_fits_its_pieces(trained, lines, tmp_path, capsys):
    report, alignment = tmp_path / "report.jsonl", tmp_path / "alignment.txt"
    plain = written(trained, lines, tmp_path, report=report, alignment=alignment)
    records = [json.loads(line) for line in report.read_text("utf-8").split("\n")[:-1]]
    assert [record["source"] for record in records] == LINES
    assert [record["translation"] for record in records] == plain
    assert [record["place"] for record in records] == [f"{lines}:{number}" for number in (1, 2, 3, 4)]
    assert "unknown" in records[3]["flags"]
    assert f"{lines}:4 (犇)" in capsys.readouterr().err
    rows = alignment.read_text("utf-8").split("\n")[:-1]
    assert rows == [record["alignment"] for record in records]
    assert rows[1] == ""
    for record in records:
        pairs = [tuple(map(int, pair.split("-"))) for pair in record["alignment"].split()]
        assert all(s < len(record["source_pieces"]) and t < len(record["translation_pieces"]) for s, t in pairs)


def test_prefixes_begin_the_translations_and_their_number_is_checked(trained, lines, tmp_path):
    prefixes = tmp_path / "prefixes.txt"
    prefixes.write_text("77\n\n5\n\n", "utf-8")
    out = written(trained, lines, tmp_path, prefixes=prefixes)
    assert out[0].startswith("77")
    assert out[2].startswith("5")
    prefixes.write_text("7" * 300 + "\n\n\n\n", "utf-8")
    assert written(trained, lines, tmp_path, prefixes=prefixes)[0].startswith("7" * 300)
    for text, word in (("7\n", "fewer"), ("7\n" * 5, "more")):
        prefixes.write_text(text, "utf-8")
        with pytest.raises(InputError, match=rf"prefixes\.txt: has {word} lines"):
            written(trained, lines, tmp_path, prefixes=prefixes)


def test_a_model_together_with_itself_is_itself(trained, lines, tmp_path):
    model = Path(trained.run.folder) / "model"
    assert written(trained, lines, tmp_path, models=[model, model]) == written(trained, lines, tmp_path)


def test_draws_differ_by_seed_and_not_by_place(trained, lines, tmp_path):
    def draw(seed, order):
        config = load_config(str(tmp_path / "digits.yaml"), ["decoding.method=sampling", f"decoding.seed={seed}"])
        lines.write_text("".join(f"{LINES[i]}\n" for i in order), "utf-8")
        return written(config, lines, tmp_path)

    assert draw(1, range(4)) == draw(1, [3, 2, 1, 0])[::-1]
    assert draw(1, range(4)) != draw(2, range(4))


def test_unbuffered_each_line_is_answered_before_the_next_is_read(trained):
    model = Path(trained.run.folder) / "model"
    command = [sys.executable, "-m", "mtrain", "translate", "--unbuffered", "--model", model]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as process:
        for line in (b"123\n", b"98\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().endswith(b"\n")
        process.stdin.close()
        assert process.wait() == 0


def test_no_more_is_read_than_is_translated_at_once(trained, lines, tmp_path, monkeypatch):
    lines.write_text("1\n" * 20, "utf-8")
    read, seen = [], []

    def counting(texts):
        for line in read_all(texts):
            read.append(line)
            yield line

    translate_lines = LoadedModel.translate

    def noting(model, texts, **asked):
        seen.append((len(read), len(texts)))
        return translate_lines(model, texts, **asked)

    monkeypatch.setattr("mtrain.commands.translate._LINES_AT_ONCE", 6)
    monkeypatch.setattr("mtrain.commands.translate.read_all", counting)
    monkeypatch.setattr(LoadedModel, "translate", noting)
    written(trained, lines, tmp_path)
    assert seen == [(6, 6), (12, 6), (18, 6), (20, 2)]
