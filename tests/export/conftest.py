"""Small random models of the whole family, with tokenizers learnt from the sample."""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import pytest
import torch

from mtrain.batches.collate import collate
from mtrain.config.load import dump_config
from mtrain.config.schema import Config, CorpusConfig, DecodingConfig, ModelConfig, RunConfig, TokenizerConfig
from mtrain.decoding.forced import forced_log_probabilities
from mtrain.model.build import build_model
from mtrain.model.bundle import Bundle, save_bundle
from mtrain.tokenizer import EOS, Tokenizer, Tokenizers, train_tokenizer

FAMILY = {
    "pre": {},
    "post": {"norm_position": "post"},
    "learned": {"positions": "learned", "max_positions": 8},
    "no positions": {"positions": "none"},
    "rotary": {"positions": "rotary"},
    "alibi": {"positions": "alibi"},
    "relative": {"positions": "relative"},
    "gelu": {"activation": "gelu"},
    "swiglu": {"activation": "swiglu", "norm_position": "post"},
    "rmsnorm": {"norm": "rmsnorm"},
    "wide heads": {"head_width": 12},
    "narrow heads": {"head_width": 4},
    "output bias": {"output_bias": True, "scale_embeddings": False},
    "tied decoder": {"tied": "decoder", "norm_position": "post"},
    "tied nowhere": {"tied": "none"},
    "uneven": {"encoder_layers": 3, "decoder_layers": 1},
    "modern": {"positions": "rotary", "norm": "rmsnorm", "activation": "swiglu", "tied": "decoder"},
}


@pytest.fixture(scope="session")
def sample_lines() -> dict[str, list[str]]:
    """Return Chinese and English lines that are translations of each other."""
    folder = Path(__file__).parents[2] / "data" / "sample" / "zh-en"
    sides = {}
    for side, language in (("source", "zh"), ("target", "en")):
        with (folder / f"train.{language}").open(encoding="utf-8", newline="\n") as stream:
            sides[side] = [line.rstrip("\n") for line in islice(stream, 400)]
    return sides


@pytest.fixture(scope="session")
def joint(sample_lines: dict[str, list[str]]) -> Tokenizers:
    lines = sample_lines["source"] + sample_lines["target"]
    return dict.fromkeys(("source", "target"), train_tokenizer(lines, TokenizerConfig(vocabulary_size=1200)))


@pytest.fixture(scope="session")
def separate(sample_lines: dict[str, list[str]]) -> Tokenizers:
    sizes = {"source": 900, "target": 600}
    return {side: _learnt(sample_lines[side], size) for side, size in sizes.items()}  # type: ignore[index]


def _learnt(lines: list[str], size: int) -> Tokenizer:
    return train_tokenizer(lines, TokenizerConfig(vocabulary_size=size))


@pytest.fixture
def make_bundle(joint: Tokenizers, model_config: Callable[..., ModelConfig]) -> Callable[..., Bundle]:
    """Return a maker of bundles; every parameter is random, those that begin at 0 or 1 as well."""

    def make(tokenizers: Tokenizers = joint, **changes: object) -> Bundle:
        config = model_config(**changes)
        model = build_model(config, *(tokenizer.vocabulary_size for tokenizer in tokenizers.values())).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
        return Bundle(model, tokenizers, "zh", "en", config, {})

    return make


@pytest.fixture(params=[*FAMILY, "separate vocabularies", "separate vocabularies, post"])
def member(request: pytest.FixtureRequest, make_bundle: Callable[..., Bundle], separate: Tokenizers) -> Bundle:
    """Return one member of the family after the other; `request.node` has its name."""
    if request.param in FAMILY:
        return make_bundle(**FAMILY[request.param])
    norm_position = "post" if request.param.endswith("post") else "pre"
    return make_bundle(separate, tied="none", norm_position=norm_position)


Ids = Sequence[Sequence[int]]


@pytest.fixture
def pairs(make_bundle: object) -> Callable[[Bundle], tuple[list[list[int]], list[list[int]]]]:
    """Return a maker of sources and targets of random pieces, of many lengths."""

    def make(bundle: Bundle) -> tuple[list[list[int]], list[list[int]]]:
        generator = torch.Generator().manual_seed(3)

        def some(size: int) -> list[list[int]]:
            lengths = torch.randint(1, 40, (9,), generator=generator).tolist()
            return [torch.randint(4, size, (length,), generator=generator).tolist() for length in lengths]

        sizes = [bundle.tokenizers[side].vocabulary_size for side in ("source", "target")]
        return some(sizes[0]), some(sizes[1])

    return make


@pytest.fixture
def log_probabilities() -> Callable[[Bundle, Ids, Ids], torch.Tensor]:
    """Return what mtrain says of targets, EOS included."""
    return lambda bundle, sources, targets: forced_log_probabilities([bundle.model], collate(sources, targets))


@pytest.fixture
def model_folder(make_bundle: Callable[..., Bundle], tmp_path: Path) -> Callable[..., Path]:
    """Return a maker of model folders whose random model ends its translations by itself, most of them."""

    def make(**changes: object) -> Path:
        bundle = make_bundle(output_bias=True, **changes)
        with torch.no_grad():
            bundle.model.output.bias[EOS] += 7  # type: ignore[index]
        folder = tmp_path / "run" / "model"
        config = Config(
            run=RunConfig(folder=str(folder.parent)),
            corpus=CorpusConfig(folder=str(tmp_path / "nowhere"), train=("a", "b")),
            model=bundle.model_config,
            decoding=DecodingConfig(max_length_factor=0.01, max_length_extra=30),
        )
        save_bundle(bundle, dump_config(config), folder)
        return folder

    return make


@pytest.fixture
def check_files(sample_lines: dict[str, list[str]], tmp_path: Path) -> tuple[Path, Path]:
    """Return a file of lines and one of their translations."""
    files = tmp_path / "check.zh", tmp_path / "check.en"
    for file, lines in zip(files, sample_lines.values(), strict=True):
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return files
