"""`from mtrain import load`: what a Python program can do with a model, and what it is told."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import mtrain
from mtrain.commands.translate import Wanted, translate
from mtrain.decoding.scoring import PairScore
from mtrain.decoding.translation import Candidate, Translation
from mtrain.errors import BundleError, ConfigError, InputError
from mtrain.runtime import choose_device

LINES = ["123", "", "98765", "犇4"]


@pytest.fixture
def model(trained):
    return mtrain.load(trained.run.folder)


def test_a_run_its_model_and_a_copy_of_it_translate_alike_and_as_the_command_does(trained, model, tmp_path):
    shutil.copytree(f"{trained.run.folder}/model", tmp_path / "copy")
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in LINES), "utf-8")
    translate(trained, [tmp_path / "in.txt"], [], Wanted(tmp_path / "out.txt"))
    expected = (tmp_path / "out.txt").read_text("utf-8").split("\n")[:-1]
    for one in (model, mtrain.load(Path(trained.run.folder) / "model"), mtrain.load(str(tmp_path / "copy"))):
        assert [translation.text for translation in one.translate(LINES)] == expected


def test_a_translation_has_text_score_flags_alignment_and_candidates(model):
    translations = model.translate(LINES, beam=4, nbest=3)
    for line, translation in zip(LINES, translations, strict=True):
        assert isinstance(translation, Translation)
        assert isinstance(translation.candidates[0], Candidate)
        assert translation.source == line
        assert translation.text == translation.candidates[0].text
        assert translation.score == translation.candidates[0].score
        assert len(translation.candidates) == (3 if line else 1)
        assert all(s < len(translation.pieces) for s, _ in translation.alignment)
        assert all(candidate.log_probability <= candidate.score <= 0 for candidate in translation.candidates)
    assert "unknown" in translations[3].flags
    assert model.translate(["12"], alignment=False)[0].alignment is None
    assert model.translate([]) == []


def test_any_setting_of_decoding_can_be_changed_for_a_call_and_only_for_it(model):
    before = model.translate(["12345"])
    assert len(model.translate(["12345"], max_length_factor=0.1, max_length_extra=2)[0].candidates[0].pieces) <= 2
    drawn = [model.translate(["12345"], method="sampling", seed=seed)[0].text for seed in range(4)]
    assert len(set(drawn)) > 1
    assert model.translate(["12345"]) == before
    assert model.translate(["12345"], prefixes=["77"])[0].text.startswith("77")


def test_lines_may_come_one_by_one(model):
    given = {"prefixes": ["7", "", "", ""], "tags": [""] * 4}
    expected = model.translate(LINES, **given)
    assert model.translate(iter(LINES), **{name: iter(each) for name, each in given.items()}) == expected
    assert model.score(iter(LINES), iter(LINES)) == model.score(LINES, LINES)


def test_scores_come_in_pairs(model):
    scores = model.score(["123", ""], ["321", ""], length_penalty=0)
    assert all(isinstance(score, PairScore) for score in scores)
    assert scores[0].score == scores[0].log_probability < 0
    assert model.score(["123"], ["321"], length_penalty=1)[0].score > scores[0].score


def test_two_models_work_together(trained):
    folder = trained.run.folder
    alone, together = mtrain.load(folder), mtrain.load(folder, f"{folder}/model", device="cpu", threads=2)
    assert [t.text for t in together.translate(LINES)] == [t.text for t in alone.translate(LINES)]


@pytest.mark.parametrize(
    ("call", "error", "line"),
    [
        (lambda model: model.translate(["1"], baem=2), ConfigError, r"^baem=2: unknown key\. Did you mean beam\?$"),
        (lambda model: model.translate(["1"], beam=0), ConfigError, "^beam=0: must be at least 1, found 0$"),
        (lambda model: model.translate(["1"], beam="many"), ConfigError, "^beam='many': expects a whole number"),
        (lambda model: model.translate(["1"], beam=0, top_p=2), ConfigError, "beam=0: .*\ntop_p=2: "),
        (lambda model: model.score(["1"], ["1"], beem=2), ConfigError, r"Did you mean beam\?$"),
        (lambda model: model.translate("一二三"), InputError, r"a list of lines, found one text; write \['一二三'\]"),
        (lambda model: model.score(["1"], "1"), InputError, "expects a list of lines"),
        (lambda model: model.score(["1", "2"], ["1"]), InputError, "there are 2 sources and 1 targets"),
        (lambda model: model.translate(["1", "2"], prefixes=["1"]), InputError, "there are 2 lines and 1 prefixes"),
        (lambda model: model.translate(["1"], nbest=5), InputError, r"5 candidates .* Set decoding\.beam=5"),
        (lambda _: mtrain.load("nowhere"), BundleError, "^nowhere: no model here"),
        (lambda model: model.translate(["1"], nbest=0), InputError, "^nbest=0: a line has at least 1 candidate$"),
        (lambda _: choose_device("gpu"), ConfigError, r"^run\.device: gpu: no device .* Use auto, cuda or cpu\.$"),
    ],
)
def test_what_cannot_be_is_said_in_one_clear_line(model, call, error, line):
    with pytest.raises(error, match=line):
        call(model)


@pytest.mark.parametrize("sign", [torch.OutOfMemoryError("CUDA"), RuntimeError("CPU: can't allocate memory: you")])
def test_a_memory_too_small_is_told_with_its_cure(model, monkeypatch, sign):
    def no_memory(*_):
        raise sign

    monkeypatch.setattr(model.models[0].encoder, "forward", no_memory)
    for call in (lambda: model.translate(["1"], max_tokens_per_batch=7), lambda: model.score(["1"], ["1"])):
        with pytest.raises(InputError, match=r"^out of memory\. Lower decoding\.max_tokens_per_batch \(now \d+\)$"):
            call()


def test_importing_mtrain_waits_for_no_torch():
    code = "import sys, mtrain; mtrain.load; sys.exit(any(name in sys.modules for name in ('torch', 'mtrain.api')))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0
