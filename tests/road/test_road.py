"""The four commands, one after the other, as a person gives them."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mtrain.batches.collate import collate
from mtrain.batches.store import read_prepared
from mtrain.commands.bleu import score_run
from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare
from mtrain.commands.translate import Wanted, translate
from mtrain.config.schema import DecodingConfig
from mtrain.decoding.forced import forced_log_probabilities
from mtrain.decoding.search import Search
from mtrain.decoding.translator import Translator
from mtrain.errors import BundleError, InputError, PreparedDataError
from mtrain.model.bundle import load_bundle


def mtrain(folder, *arguments, given=b""):
    return subprocess.run(
        [sys.executable, "-m", "mtrain", *map(str, arguments)],
        input=given,
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )


def test_prepare_fit_translate_bleu(digits):
    file = digits()
    folder = file.parent
    for command in ("prepare", "fit"):
        done = mtrain(folder, command, "--config", file)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout == b""
    run = folder / "run"
    for name in ("config.yaml", "environment.json", "metrics.jsonl", "checkpoints", "model/model.safetensors"):
        assert (run / name).exists(), name
    done = mtrain(folder, "translate", "--config", file, given=b"123\n\n456")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.count(b"\n") == 3
    assert done.stdout.split(b"\n")[1] == b""
    done = mtrain(folder, "bleu", "--config", file, "--json")
    assert done.returncode == 0, done.stderr.decode()
    scores = json.loads(done.stdout)
    assert scores["sentences"] == 50
    assert "tok:13a" in scores["bleu_signature"]
    assert scores["copy_bleu"] is not None
    assert (run / "test.hypotheses.txt").read_text("utf-8").count("\n") == 50
    assert json.loads((run / "scores.json").read_text("utf-8")) == scores


def test_every_step_out_of_order_says_which_one_is_missing(digits, load):
    config = load(digits())
    with pytest.raises(PreparedDataError, match="mtrain prepare"):
        fit(config)
    prepare(config)
    with pytest.raises(BundleError, match="mtrain fit"):
        score_run(config, as_json=False)


NASTY = [
    b"123",
    b"",
    b"   ",
    "一".encode() * 3000,
    b"4" * 3000,
    "😀𠀀\u0301 …".encode(),
    b"tab\there\x00nul\x1bescape",
    "a\u2028b\u2029c\u0085d\u000b".encode(),
    b"<s> </s> <pad> <unk> <0x41>",
    "▁▁".encode(),
    b"12\r34",
]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("final", [True, False])
def test_as_many_lines_come_out_as_went_in(trained, tmp_path, ending, final):
    source, target = tmp_path / "nasty.txt", tmp_path / "out.txt"
    source.write_bytes(ending.join(NASTY) + (ending if final else b""))
    greedy = replace(trained, decoding=replace(trained.decoding, beam=1))  # thousands of tokens in the long lines
    translate(greedy, [source], [], Wanted(target))
    out = target.read_bytes()
    assert out.count(b"\n") == len(NASTY)
    assert out.endswith(b"\n")
    assert b"\r" not in out
    lines = out.split(b"\n")
    assert lines[1] == lines[2] == b""


def test_long_lines_are_translated_in_parts_and_named(trained, tmp_path, capsys):
    source = tmp_path / "long.txt"
    source.write_text("1\n" + "7" * 700 + "\n2\n", "utf-8")
    translate(trained, [source], [], Wanted(tmp_path / "out.txt"))
    assert f"in parts and joined: {source}:2" in capsys.readouterr().err


def test_characters_outside_the_vocabulary_are_translated_and_named(trained, tmp_path, capsys):
    source = tmp_path / "strange.txt"
    source.write_text("12\n3犇4\n", "utf-8")
    translate(trained, [source], [], Wanted(tmp_path / "out.txt"))
    assert f"{source}:2 (犇)" in capsys.readouterr().err


def test_undecodable_input_is_named_and_what_was_translated_before_it_is_there(trained, tmp_path, capsys):
    source, target = tmp_path / "bad.txt", tmp_path / "out.txt"
    source.write_bytes(b"123\n456\n\xb0\xa1\n")
    target.write_text("yesterday's\n", "utf-8")
    with pytest.raises(InputError, match=r"bad\.txt:3: not UTF-8"):
        translate(trained, [source], [], Wanted(target))
    assert target.read_text("utf-8") == "yesterday's\n"
    assert (tmp_path / "out.txt.partial").read_bytes().count(b"\n") == 2
    assert "out.txt.partial" in capsys.readouterr().err


def test_no_mistake_of_names_costs_a_file(trained, tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("123\n45\n", "utf-8")
    target.write_text("yesterday's\n", "utf-8")
    with pytest.raises(InputError, match="no such file"):
        translate(trained, [tmp_path / "absent.txt"], [], Wanted(target))
    with pytest.raises(InputError, match="is a file; the translations of a folder need a folder"):
        translate(trained, [tmp_path], [], Wanted(target))
    assert target.read_text("utf-8") == "yesterday's\n"
    translate(trained, [source], [], Wanted(target))
    translate(trained, [source], [], Wanted(source))
    assert source.read_bytes() == target.read_bytes()


def test_model_and_config_together_are_refused(trained, tmp_path):
    done = mtrain(tmp_path, "translate", "--model", "x", "--config", "sample", given=b"1\n")
    assert done.returncode == 1
    assert b"leave --config out" in done.stderr
    done = mtrain(tmp_path, "translate", "--model", "x", given=b"1\n")
    assert done.returncode == 1
    assert b"x: no model here" in done.stderr


def test_the_batch_a_sentence_sits_in_does_not_change_its_translation(trained):
    bundle = load_bundle(Path(trained.run.folder) / "model")
    # Lines of over 128 tokens are attended to by another kernel than short ones are when alone.
    sources = [*read_prepared(Path(trained.corpus.folder)).lines("test", "source"), "123" * 60, "98" * 80]
    results = []
    for budget in (1, 300, 100_000):
        decoding = trained.decoding.__class__(beam=3, max_length_extra=10, max_tokens_per_batch=budget)
        translator = Translator([bundle.model], bundle.tokenizers, decoding, "en")
        results.append([translation.text for translation in translator.translate(sources)])
    backwards = Translator([bundle.model], bundle.tokenizers, decoding, "en").translate(sources[::-1])
    assert results[0] == results[1] == results[2] == [translation.text for translation in backwards][::-1]


@pytest.mark.parametrize("method", ["beam", "sampling"])
def test_the_score_of_a_translation_is_its_forced_log_probability(trained, method):
    bundle = load_bundle(Path(trained.run.folder) / "model")
    sources = [bundle.tokenizers["source"].encode(line) for line in ("1234", "98765", "3")]
    search = Search([bundle.model], DecodingConfig(method=method, max_length_extra=10))
    for source, hypotheses in zip(sources, search(sources, [[], [], []], 2, lambda _: None), strict=True):
        assert len(hypotheses) == 2
        for hypothesis in hypotheses:
            (forced,) = forced_log_probabilities([bundle.model], collate([source], [hypothesis.tokens]))
            length = len(hypothesis.tokens) + 1
            assert hypothesis.score == pytest.approx(float(forced) / ((5 + length) / 6) ** 0.6, abs=1e-4)


def test_a_translation_begins_with_the_prefix_given(trained):
    bundle = load_bundle(Path(trained.run.folder) / "model")
    translator = Translator([bundle.model], bundle.tokenizers, DecodingConfig(max_length_extra=10), "en")
    lines, prefixes = ["1234", "", "55", "6"], ["99", "7", "", "3"]
    translations = translator.translate(lines, prefixes=prefixes)
    begun = [translation.text.startswith(prefix) for translation, prefix in zip(translations, prefixes, strict=True)]
    assert begun == [True, False, True, True]
    assert translations[1].text == ""
    assert translations[2].text == translator.translate(["55"])[0].text


@pytest.mark.parametrize("part", ["model.safetensors", "tokenizer.model", "bundle.json", "config.yaml"])
@pytest.mark.parametrize("harm", ["missing", "truncated"])
def test_an_incomplete_or_damaged_model_folder_is_named(trained, tmp_path, part, harm):
    model = Path(trained.run.folder) / "model"
    if harm == "missing":
        (model / part).unlink()
    else:
        with (model / part).open("r+b") as file:
            file.truncate(40)
    with pytest.raises(BundleError, match=part):
        load_bundle(model)


def test_a_model_folder_translates_wherever_it_is_copied(trained, tmp_path):
    import shutil

    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(f"{trained.run.folder}/model", elsewhere / "mine")
    there = mtrain(tmp_path, "translate", "--model", f"{trained.run.folder}/model", given=b"123\n45\n")
    copied = mtrain(elsewhere, "translate", "--model", "mine", given=b"123\n45\n")
    assert copied.returncode == 0, copied.stderr.decode()
    assert copied.stdout == there.stdout
    greedy = mtrain(elsewhere, "translate", "--model", "mine", "--set", "decoding.beam=0", given=b"1\n")
    assert greedy.returncode == 1
    assert b"decoding.beam" in greedy.stderr


def test_a_test_set_prepared_anew_is_not_taken_for_an_unseen_one(digits, load, capsys):
    file = digits()
    drawn = ["corpus.test=[]", "corpus.test_pairs=20", "training.max_updates=2"]
    prepare(load(file, *drawn))
    fit(load(file, *drawn))
    score_run(load(file, *drawn), as_json=True)
    assert "too good" not in capsys.readouterr().err
    prepare(load(file, *drawn, "run.seed=2"))
    score_run(load(file, *drawn, "run.seed=2"), as_json=True)
    assert "too good" in capsys.readouterr().err


@pytest.mark.parametrize(
    "settings",
    [
        ["training.validate_pairs=0"],
        ["training.average_checkpoints=0"],
        ["training.average_checkpoints=1", "training.keep_checkpoints=1"],
        ["training.max_updates=0", "training.max_epochs=1", "batches.max_tokens_per_batch=8192"],
        ["training.clip_norm=0", "training.label_smoothing=0", "model.attention_dropout=0.1"],
        ["model.tied=none", "model.norm_position=post", "training.cooldown=1"],
    ],
)
def test_the_corners_of_the_settings_train_and_translate(digits, load, settings):
    config = load(digits(), "training.max_updates=3", *settings)
    prepare(config)
    fit(config)
    load_bundle(Path(config.run.folder) / "model")


def test_patience_ends_training_and_says_so(digits, load, capsys):
    # A rate this low changes nothing in a dev loss, so that the first validation stays the best but for rounding.
    settings = ["training.learning_rate_scale=1e-30", "training.patience=2", "training.max_updates=100"]
    config = load(digits(), *settings, "training.validate_every_updates=3", "training.precision=fp32")
    prepare(config)
    fit(config)
    assert "patience: 2 validations without" in capsys.readouterr().err
    fit(config)
    assert "nothing to do" in capsys.readouterr().err


def test_a_run_cut_to_an_end_before_its_first_validation_still_gives_a_model(digits, load):
    file = digits()
    prepare(load(file))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mtrain.training.loop.stop_reason", killed_after(6))
        with pytest.raises(KeyboardInterrupt):
            fit(load(file))
    fit(load(file, "training.max_updates=4"))
    load_bundle(file.parent / "run" / "model")


def killed_after(update):
    def stop_reason(state, config):
        if state.update >= update:
            raise KeyboardInterrupt

    return stop_reason


def test_shuffled_sides_are_noticed(digits, load, capsys):
    file = digits()
    target = file.parent / "corpus" / "train.target"
    lines = target.read_text("utf-8").split("\n")[:-1]
    target.write_text("\n".join(lines[500:] + lines[:500]) + "\n", "utf-8")
    config = load(file, "training.warmup_updates=4", "training.learning_rate_scale=0.1", "training.max_updates=8")
    prepare(config)
    fit(config)
    assert "IGNORES ITS SOURCE" in capsys.readouterr().err


def test_two_languages_out_of_two_columns(digits, load, tmp_path):
    pytest.importorskip("datasets")
    file = digits()
    (tmp_path / "corpus" / "all.jsonl").write_text(
        "".join(json.dumps({"a": f"{i}", "b": f"{i}"[::-1]}) + "\n" for i in range(10_000, 11_000)), "utf-8"
    )
    config = load(
        file, "corpus.train=all.jsonl", "corpus.source_column=a", "corpus.target_column=b", "training.max_updates=2"
    )
    prepare(config)
    fit(config)
