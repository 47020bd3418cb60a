"""The shipped configs: all load, and base.yaml is the whole list of settings, each explained."""

from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from mtrain.config.keys import KINDS, SECTIONS
from mtrain.config.load import load_config
from mtrain.config.schema import Config
from mtrain.config.shipped import shipped_folder

CONFIGS = shipped_folder() / "configs"
BASE = CONFIGS / "base.yaml"

# Where base.yaml is the paper's model or a corpus, and a default cannot be either.
NOT_THE_DEFAULT = {
    "corpus.root", "corpus.train", "corpus.dev", "corpus.test", "run.folder", "corpus.folder",
    "model.norm_position", "training.accumulate", "tokenizer.vocabulary_size",
}  # fmt: skip


def settings(config: Config) -> dict[str, object]:
    return {key: getattr(getattr(config, key.split(".")[0]), key.split(".")[1]) for key in KINDS}


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.name)
def test_every_shipped_config_loads(path: Path) -> None:
    config = load_config(str(path))
    assert config.run.folder == f"runs/{path.stem}"


def test_base_writes_out_every_setting_in_the_schemas_order() -> None:
    content = yaml.safe_load(BASE.read_text(encoding="utf-8"))
    assert [f"{section}.{key}" for section, keys in content.items() for key in keys] == list(KINDS)
    assert list(content) == list(SECTIONS)


def test_base_writes_the_schemas_defaults() -> None:
    base, default = settings(load_config(str(BASE))), settings(Config())
    assert {key for key in KINDS if base[key] != default[key]} == NOT_THE_DEFAULT


def test_base_explains_every_setting_in_one_line_above_it() -> None:
    lines = BASE.read_text(encoding="utf-8").split("\n")
    for above, line in pairwise(lines):
        if line.startswith("  ") and not line.startswith("  #"):
            assert above.startswith("  # "), f"{line.strip()} has no comment"
            assert above.endswith("."), above
