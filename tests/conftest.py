"""What many tests need: small models, random sentences, and a world of digits that can be learnt in seconds."""

import mtrain  # noqa: F401, I001  before torch: it sets how OpenMP waits

import random
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from mtrain.config.load import load_config
from mtrain.config.schema import Config, ModelConfig
from mtrain.model.build import build_model
from mtrain.model.transformer import Transformer

VOCABULARY = 40
ROOT = Path(__file__).parent.parent


# A shell lets what it starts in the background, and all that this starts, ignore Ctrl-C. What is tested shall not.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _same_randomness_for_each_test() -> Iterator[None]:
    """Keep tests independent of their order and of each other's thread count."""
    threads = torch.get_num_threads()
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def root() -> Path:
    """Return the folder of the project."""
    return ROOT


@pytest.fixture
def model_config() -> Callable[..., ModelConfig]:
    """Return a maker of small model settings, to be changed by keyword."""

    def make(**changes: object) -> ModelConfig:
        small = {"d_model": 32, "heads": 4, "d_ff": 64, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
        return ModelConfig(**{**small, **changes})  # type: ignore[arg-type]

    return make


MODELS = {
    "pre": {"norm_position": "pre"},
    "post": {"norm_position": "post"},
    "rotary": {"positions": "rotary", "norm": "rmsnorm", "activation": "swiglu", "tied": "decoder"},
    "relative": {"positions": "relative", "norm_position": "post", "output_bias": True, "tied": "none"},
    "alibi": {"positions": "alibi", "activation": "gelu", "attention": "reference"},
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, model_config: Callable[..., ModelConfig]) -> Transformer:
    """Return a small model, one of each kind by turns, ready to translate."""
    return build_model(model_config(**MODELS[request.param]), VOCABULARY, VOCABULARY).eval()


@pytest.fixture
def sentences() -> Callable[..., list[list[int]]]:
    """Return a maker of random sentences of token ids, without special ones."""

    def make(count: int, shortest: int = 1, longest: int = 12, seed: int = 0) -> list[list[int]]:
        generator = np.random.default_rng(seed)
        return [
            generator.integers(4, VOCABULARY, generator.integers(shortest, longest + 1)).tolist() for _ in range(count)
        ]

    return make


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
  tune_pairs: 8
  save_every_updates: 4
  average_checkpoints: 3
decoding:
  max_length_extra: 10
"""


@pytest.fixture(scope="session")
def digits_in() -> Callable[..., Path]:
    """Return a maker, in a folder, of a corpus and the YAML for it; no test sentence is among the training ones."""

    def make(folder: Path, task: str = "reverse", pairs: int = 1500) -> Path:
        generator = random.Random(7)
        lines: list[str] = []
        while len(lines) < pairs + 100:
            line = "".join(generator.choice("0123456789") for _ in range(generator.randint(3, 9)))
            if line not in lines[-200:]:
                lines.append(line)
        lines = list(dict.fromkeys(lines))
        root = folder / "corpus"
        root.mkdir()
        for split, part in (("test", lines[:50]), ("dev", lines[50:100]), ("train", lines[100:])):
            (root / f"{split}.source").write_text("\n".join(part) + "\n", "utf-8")
            (root / f"{split}.target").write_text("\n".join(map(TASKS[task], part)) + "\n", "utf-8")
        file = folder / "digits.yaml"
        file.write_text(SETTINGS.format(root=root, folder=folder), "utf-8")
        return file

    return make


@pytest.fixture
def digits(tmp_path: Path, digits_in: Callable[..., Path]) -> Callable[..., Path]:
    """Return a maker of a corpus and the YAML for it in a folder of the test's own."""
    return partial(digits_in, tmp_path)


@pytest.fixture
def load() -> Callable[..., Config]:
    """Return load_config with overrides as further arguments."""

    def call(file: Path, *overrides: str) -> Config:
        return load_config(str(file), overrides)

    return call
