"""The README's programs that use an export without mtrain do so."""

import re

import pytest

from mtrain.config.schema import DecodingConfig
from mtrain.export import ctranslate2, huggingface


@pytest.mark.parametrize("module", [ctranslate2, huggingface], ids=["ctranslate2", "huggingface"])
def test_the_program_prints_a_translation(module, make_bundle, root, tmp_path, monkeypatch, capsys):
    name = module.__name__.rpartition(".")[2]
    folder = tmp_path / "runs" / "sample" / name
    folder.mkdir(parents=True)
    module.TARGET.write(make_bundle(), DecodingConfig(max_source_tokens=20), "", folder)
    monkeypatch.chdir(tmp_path)
    programs = re.findall(r"^```python\n(.*?)^```$", (root / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (program,) = [program for program in programs if f"runs/sample/{name}" in program]
    assert "mtrain" not in program
    exec(program, {})
    assert capsys.readouterr().out.strip()
