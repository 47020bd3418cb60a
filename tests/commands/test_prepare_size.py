"""However many processes work on it and however often they are killed, the same folder comes out."""

import json
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mtrain.commands.prepare import prepare
from mtrain.config.load import load_config
from mtrain.config.schema import Config

# With blocks and marks so small that a small corpus has many, and killed before its third note of what is done.
RUN = """
import os, sys
import mtrain.corpus.pair_files, mtrain.corpus.sift, mtrain.corpus.sources, mtrain.storage
mtrain.corpus.sources.PAIRS_AT_ONCE = mtrain.corpus.pair_files.PAIRS_AT_ONCE = 20
mtrain.corpus.sift._BLOCKS_BETWEEN_MARKS = 4
from mtrain.commands.prepare import prepare
from mtrain.config.load import load_config
whole, notes = mtrain.storage.Journal.note, 0
def note(journal, step, figures):
    global notes
    notes += 1
    if notes == 3:
        os.kill(os.getpid(), 9)
    whole(journal, step, figures)
mtrain.storage.Journal.note = note
prepare(load_config(sys.argv[1]))
"""


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    draw = random.Random(4)
    names, verbs = ["小王", "老李", "张三"], ["看书", "吃饭", "写字"]
    texts = [f"{draw.choice(names)}{draw.randrange(300)}{draw.choice(verbs)}" for _ in range(400)]
    pairs = [(text, f"it was {number} times") for number, text in enumerate(texts)]
    pairs += [*draw.sample(pairs, 60), ("", "empty"), ("很\u2028好", "good")]
    for side, language in enumerate(("zh", "en")):
        (tmp_path / f"train.{language}").write_text("".join(pair[side] + "\n" for pair in pairs), "utf-8")
        for split, start in (("dev", 5), ("test", 50)):
            lines = [pair[side] for pair in pairs[start : start + 4]]
            (tmp_path / f"{split}.{language}").write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path


def settings(raw: Path, name: str, drawn: bool, threads: int = 1) -> Path:
    given = "dev: [dev.zh, dev.en]\n  test: [test.zh, test.en]"
    splits = "dev: []\n  test: []\n  dev_pairs: 10\n  test_pairs: 10" if drawn else given
    file = raw / f"{name}.yaml"
    file.write_text(
        f"corpus:\n  root: {raw}\n  folder: {raw / name}\n  source_language: zh\n  target_language: en\n"
        f"  train: [train.zh, train.en]\n  {splits}\n  min_script_share: 0\n  drop_duplicate_targets: true\n"
        f"tokenizer:\n  vocabulary_size: 330\nrun:\n  threads: {threads}\n"
    )
    return file


def config(raw: Path, name: str, drawn: bool, threads: int = 1) -> Config:
    return load_config(str(settings(raw, name, drawn, threads)))


def contents(folder: Path) -> Mapping[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sources", "pair_files"):
        monkeypatch.setattr(f"mtrain.corpus.{module}.PAIRS_AT_ONCE", 20)


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("drawn", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_number_of_processes_changes_nothing(raw: Path, drawn: bool) -> None:
    alone = config(raw, "1", drawn)
    prepare(alone)
    assert len((raw / "1" / "train.source.txt").read_text("utf-8").split("\n")) > 300
    for threads in (2, 3):
        prepare(config(raw, str(threads), drawn, threads))
        assert contents(raw / str(threads)) == contents(raw / "1")


@pytest.mark.parametrize("drawn", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_was_killed_again_and_again_ends_as_if_it_never_was(
    raw: Path, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = settings(raw, "killed", drawn)
    kills = 0
    while True:
        done = subprocess.run([sys.executable, "-c", RUN, str(file)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert not (raw / "killed").exists()
        kills += 1
    assert kills >= 4
    assert "interruption" in done.stderr
    for module in ("sources", "pair_files"):
        monkeypatch.setattr(f"mtrain.corpus.{module}.PAIRS_AT_ONCE", 20)
    prepare(config(raw, "whole", drawn))
    assert contents(raw / "killed") == contents(raw / "whole")
    assert [file.name for file in raw.iterdir() if "mtrain" in file.name and "lock" not in file.name] == []


def test_what_was_begun_with_other_settings_is_not_gone_on_with(raw: Path) -> None:
    file = settings(raw, "killed", drawn=False)
    subprocess.run([sys.executable, "-c", RUN, str(file)], capture_output=True, check=False)
    assert (raw / ".killed.mtrain-partial").is_dir()
    file.write_text(file.read_text().replace("drop_duplicate_targets: true", "drop_duplicate_sources: true"))
    again = load_config(str(file))
    prepare(again)
    report = json.loads((raw / "killed" / "manifest.json").read_bytes())["report"]
    assert "duplicate_target" not in report["dropped"]
    assert report["read"] == 462
