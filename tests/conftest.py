"""What many tests need: small models, random sentences, and a world of digits that can be learnt in seconds."""

import mtrain  # noqa: F401, I001  before torch: it sets how OpenMP waits

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from mtrain.config.schema import ModelConfig
from mtrain.model.build import build_model
from mtrain.model.transformer import Transformer

VOCABULARY = 40
ROOT = Path(__file__).parent.parent


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
