"""What the READMEs say is so: their commands run, their tree is the real one, and both say the same."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mtrain.config.load import load_config

LANGUAGES = ["README.md", "README.zh.md"]
OWN_DATA = ["data/own-data.md", "data/own-data.zh.md"]
# Quick stand-ins for the real amount of work; everything else is done as the README says.
QUICK = {
    "fit": "--set training.max_updates=2 --set training.cooldown=0 --set training.validate_pairs=2",
    "translate": "--set decoding.beam=1 --set decoding.max_length_factor=1 --set decoding.max_length_extra=1",
    "export": "--set decoding.beam=1 --set decoding.max_length_factor=0.1 --set decoding.max_length_extra=5",
    "bleu": "--set decoding.beam=1 --set decoding.max_length_factor=1 --set decoding.max_length_extra=1",
}


def blocks(text, language):
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [block for its_language, block in found if its_language == language]


def commands(text):
    return [line for block in blocks(text, "bash") for line in block.strip().split("\n")]


@pytest.fixture(params=LANGUAGES)
def readme(request, root):
    return (root / request.param).read_text("utf-8")


@pytest.mark.parametrize("pages", [LANGUAGES, OWN_DATA])
def test_both_languages_have_the_same_commands_settings_and_outline(root, pages):
    english, chinese = ((root / name).read_text("utf-8") for name in pages)
    for language in ("bash", "yaml", "text", "python"):
        assert blocks(english, language) == blocks(chinese, language)
    for mark in (r"^#+ ", r"^\|", r"^\d\. ", r"^- "):
        assert len(re.findall(mark, english, re.MULTILINE)) == len(re.findall(mark, chinese, re.MULTILINE))


@pytest.mark.parametrize("page", OWN_DATA)
def test_the_page_on_own_data_has_settings_that_are_right_and_links_that_lead_somewhere(root, tmp_path, page):
    text = (root / page).read_text("utf-8")
    (tune,) = blocks(text, "yaml")
    (tmp_path / "tune.yaml").write_text(tune, "utf-8")
    config = load_config(str(tmp_path / "tune.yaml"))
    assert config.tokenizer.take_from == config.training.start_from == "runs/wenyan-small"
    for target in re.findall(r"\]\(([^)#:]+)[^)]*\)", text):
        assert (root / page).parent.joinpath(target).exists(), target


def test_the_tree_is_the_real_one(readme, root):
    tree = next(block for block in blocks(readme, "") if "pyproject.toml" in block)
    for line in tree.strip().split("\n"):
        name = line.split()[0]
        assert (root / name).is_dir() if name.endswith("/") else (root / name).is_file(), name


def test_make_targets_exist(readme, root):
    targets = re.findall(r"^([a-z-]+):.*##", (root / "Makefile").read_text("utf-8"), re.MULTILINE)
    for command in commands(readme):
        if command.startswith("make "):
            assert command.split()[1] in targets


def test_links_lead_somewhere(readme, root):
    for target in re.findall(r"\]\(([^)#:]+)\)", readme):
        assert (root / target).exists(), target


@pytest.mark.slow
def test_every_mtrain_command_runs(root, tmp_path):
    text = (root / "README.md").read_text("utf-8")
    shim = tmp_path / "bin" / "mtrain"
    shim.parent.mkdir()
    cases = "".join(f"  {command}) set -- \"$@\" {quick} ;;\n" for command, quick in QUICK.items())
    shim.write_text(
        "#!/bin/sh\ncase \"$*\" in *--language*) ;; *) case $1 in\n"
        f"{cases}esac ;; esac\nexec {sys.executable} -m mtrain \"$@\"\n"
    )
    shim.chmod(0o755)
    (tmp_path / "data").mkdir()
    shutil.copytree(root / "data" / "sample", tmp_path / "data" / "sample")
    (tmp_path / "my-text").mkdir()
    for side in ("zh", "en"):
        lines = (root / "data" / "sample" / "zh-en" / f"train.{side}").read_text("utf-8").split("\n")[:3000]
        (tmp_path / "my-text" / f"all.{side}").write_text("\n".join(lines) + "\n", "utf-8")
    (settings,) = blocks(text, "yaml")
    (tmp_path / "my.yaml").write_text(settings, "utf-8")
    path = os.pathsep.join([str(shim.parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    # What torchrun starts is tried in tests/road/test_processes.py: it cannot be cut short here as the others are.
    ran = [command for command in commands(text) if "mtrain" in command and not command.startswith("torchrun")]
    assert len(ran) >= 9
    for command in ran:
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stderr.decode()}"
    for program in blocks(text, "python"):
        python = [sys.executable, "-c", program]
        done = subprocess.run(python, cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "translations.en").read_text("utf-8").count("\n") == 500
    assert Path(tmp_path / "runs" / "my" / "scores.json").is_file()
