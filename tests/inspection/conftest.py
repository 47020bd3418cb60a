"""A few Chinese pairs, prepared."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mtrain.commands.prepare import prepare
from mtrain.config.load import load_config
from mtrain.config.schema import Config

SOURCES = ["天甚佳。", "子食乎？", "书贵，不可买也。", "吾欲往。"]
TARGETS = ["今天天气很好。", "你吃了吗？", "书很贵，不能买。", "我想去。"]
# So rare that it gets no piece, and is spelt in four bytes.
RARE = "𠮷"

SETTINGS = """
corpus:
  root: {root}
  folder: {root}/prepared
  source_language: lzh
  target_language: zh
  train: [train.source, train.target]
  dev: [dev.source, dev.target]
  test: [dev.source, dev.target]
  drop_duplicates: false
run:
  folder: {root}/run
  threads: 1
tokenizer:
  vocabulary_size: 320
  character_coverage: 0.997
model:
  d_model: 32
  heads: 4
  d_ff: 64
  encoder_layers: 2
  decoder_layers: 1
"""


@pytest.fixture
def config(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Return the settings of a corpus of 401 pairs that can be prepared."""
    monkeypatch.chdir(tmp_path)
    for side, lines in (("source", SOURCES), ("target", TARGETS)):
        text = "".join(f"{line}\n" for line in lines)
        (tmp_path / f"train.{side}").write_text(text * 100 + f"{RARE}也。\n", "utf-8", newline="\n")
        (tmp_path / f"dev.{side}").write_text("甲乙丙丁。\n", "utf-8", newline="\n")
    (tmp_path / "tiny.yaml").write_text(SETTINGS.format(root=tmp_path), "utf-8")
    return load_config(str(tmp_path / "tiny.yaml"))


@pytest.fixture
def prepared(config: Config, capfd: pytest.CaptureFixture[str]) -> Config:
    """Return the same settings after `mtrain prepare`, whose report is swallowed."""
    prepare(config)
    capfd.readouterr()
    return config


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return a reader of what has been said on stderr since it was last asked."""
    return lambda: capsys.readouterr().err
