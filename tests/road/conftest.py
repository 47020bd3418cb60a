"""A world of digits: a corpus that can be prepared, learnt and translated in seconds."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mtrain.config.load import load_config
from mtrain.config.schema import Config

TASKS: dict[str, Callable[[str], str]] = {
    "copy": lambda digits: digits,
    "reverse": lambda digits: digits[::-1],
    "sort": lambda digits: "".join(sorted(digits)),
    "spell": lambda digits: digits.translate(str.maketrans("0123456789", "zyxwvutsrq")),
}

SETTINGS = """
corpus:
  root: {root}
  folder: {folder}/prepared
  source_language: en
  target_language: en
  train: [train.source, train.target]
  dev: [dev.source, dev.target]
  test: [test.source, test.target]
run:
  folder: {folder}/run
  threads: 2
tokenizer:
  vocabulary_size: 300
batches:
  max_tokens_per_batch: 1024
  max_tokens_per_sentence: 64
model:
  d_model: 64
  heads: 4
  d_ff: 128
  encoder_layers: 2
  decoder_layers: 2
training:
  max_updates: 24
  warmup_updates: 200
  log_every_updates: 5
  validate_every_updates: 8
  validate_pairs: 20
  save_every_updates: 4
  average_checkpoints: 3
decoding:
  max_length_extra: 10
"""


@pytest.fixture
def digits(tmp_path: Path) -> Callable[..., Path]:
    """Return a maker of a corpus and the YAML for it; the test sentences are not among the training ones."""

    def make(task: str = "reverse", pairs: int = 1500) -> Path:
        generator = random.Random(7)
        lines: list[str] = []
        while len(lines) < pairs + 100:
            line = "".join(generator.choice("0123456789") for _ in range(generator.randint(3, 9)))
            if line not in lines[-200:]:
                lines.append(line)
        lines = list(dict.fromkeys(lines))
        root = tmp_path / "corpus"
        root.mkdir()
        for split, part in (("test", lines[:50]), ("dev", lines[50:100]), ("train", lines[100:])):
            (root / f"{split}.source").write_text("\n".join(part) + "\n", "utf-8")
            (root / f"{split}.target").write_text("\n".join(map(TASKS[task], part)) + "\n", "utf-8")
        file = tmp_path / "digits.yaml"
        file.write_text(SETTINGS.format(root=root, folder=tmp_path), "utf-8")
        return file

    return make


@pytest.fixture
def load() -> Callable[..., Config]:
    """Return load_config with overrides as further arguments."""

    def call(file: Path, *overrides: str) -> Config:
        return load_config(str(file), overrides)

    return call
