"""The scripts as modules, and an end to what their tests would otherwise do on the network."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def _scripts_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))


@pytest.fixture(autouse=True)
def _nothing_but_this_machine_is_asked(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
