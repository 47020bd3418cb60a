"""A run that many tests look at."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare
from mtrain.config.load import load_config
from mtrain.config.schema import Config

_SHORT = ["training.max_updates=8"]


@pytest.fixture(scope="session")
def _trained_once(tmp_path_factory: pytest.TempPathFactory, digits_in: Callable[..., Path]) -> Path:
    """Return the folder of a run that no test may touch."""
    folder = tmp_path_factory.mktemp("trained")
    config = load_config(str(digits_in(folder)), _SHORT)
    prepare(config)
    fit(config)
    return folder


@pytest.fixture
def trained(_trained_once: Path, tmp_path: Path) -> Config:
    """Return the config of a run that has learnt next to nothing: enough for all that does not need quality."""
    shutil.copytree(_trained_once, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "digits.yaml"
    file.write_text(file.read_text("utf-8").replace(str(_trained_once), str(tmp_path)), "utf-8")
    return load_config(str(file), _SHORT)
