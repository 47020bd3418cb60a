"""The command line: help that starts at once, mistakes in one line each, results on stdout and all else on stderr."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import mtrain
from mtrain.cli import app
from mtrain.config.schema import Config
from mtrain.errors import CorpusError

PACKAGE_ROOT = Path(mtrain.__file__).resolve().parent.parent
COMMANDS = ["prepare", "fit", "translate", "bleu"]
WITH_CONFIG = [*COMMANDS, "score", "diagnose", "inspect data", "inspect model"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def run(*arguments: str, path: tuple[Path, ...] = (), **how: Any) -> "subprocess.CompletedProcess[str]":
    """Run the program in a process of its own, with `path` before what Python finds modules in."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*path, PACKAGE_ROOT])), "PYTHONUTF8": "1"}
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    return subprocess.run([sys.executable, "-m", "mtrain", *arguments], env=environment, text=True, check=False, **how)


def two_files() -> tuple[str, str]:
    Path("hyp.txt").write_text("今天天气很好。\n", encoding="utf-8")
    Path("ref.txt").write_text("今天天气不好。\n", encoding="utf-8")
    return "hyp.txt", "ref.txt"


def raising(error: BaseException) -> Callable[..., None]:
    def prepare(config: Config, *wanted: object) -> None:
        raise error

    return prepare


def prepare_failing_with(error: BaseException, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.setitem(sys.modules, "mtrain.commands.prepare", SimpleNamespace(prepare=raising(error)))
    return call("prepare", *arguments)


def test_help_names_the_commands_and_each_has_an_example() -> None:
    for asking in ([], ["--help"], ["-h"]):
        assert all(f"  {command} " in call(*asking).output for command in (*COMMANDS, "score", "inspect", "diagnose"))
    for command in WITH_CONFIG:
        result = call(*command.split(), "--help")
        assert result.exit_code == 0
        assert "Example" in result.stdout
        assert f"mtrain {command}" in result.stdout
        assert all(option in result.stdout for option in ("--config", "--set", "--debug"))


def test_version() -> None:
    result = run("--version")
    assert (result.returncode, result.stdout, result.stderr) == (0, f"mtrain {mtrain.__version__}\n", "")


@pytest.mark.parametrize(
    "words",
    ["--help", "fit --help", "inspect --help", "bleu hyp.txt ref.txt -l zh", "fit -c nowhere", "inspect run nowhere"],
)
def test_neither_help_nor_scoring_nor_a_mistake_waits_for_torch(tmp_path: Path, words: str) -> None:
    two_files()
    for module in ("torch", "datasets"):
        (tmp_path / f"{module}.py").write_text(f"raise SystemExit('{module} was imported')", encoding="utf-8")
    result = run(*words.split(), path=(tmp_path,))
    assert "was imported" not in result.stderr
    assert result.returncode == (1 if "nowhere" in words else 0)


def test_an_option_that_does_not_exist_is_told() -> None:
    result = call("fit", "--confg", "sample")
    assert result.exit_code == 2
    assert "No such option: --confg" in result.stderr


def test_a_config_that_does_not_exist_is_told_in_one_line() -> None:
    result = call("fit", "--config", "wenyan-smal")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: there is no config wenyan-smal. Did you mean wenyan-small? ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", WITH_CONFIG)
def test_three_mistakes_are_told_at_once_without_a_traceback(command: str) -> None:
    Path("mine.yaml").write_text("extends: sample\nmodel:\n  haeds: 4\ntraining:\n  clip_norm: no\n", encoding="utf-8")
    result = call(*command.split(), "--config", "mine.yaml", "--set", "decoding.beam=0")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.split("\n") == [
        "error: mine.yaml:3 model.haeds: unknown key. Did you mean heads?",
        "error: mine.yaml:5 training.clip_norm: expects a number, found 'no'",
        "error: --set decoding.beam=0: must be at least 1, found 0",
        "",
    ]


def test_debug_shows_where_an_error_arose() -> None:
    result = call("prepare", "--config", "nowhere", "--debug")
    assert result.exit_code == 1
    assert "Traceback (most recent call last)" in result.stderr
    assert result.stderr.split("\n")[-2].startswith("error: there is no config nowhere.")


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (CorpusError("train.zh:3: not UTF-8"), 1, "error: train.zh:3: not UTF-8\n"),
        (PermissionError(errno.EACCES, "Permission denied", "runs/a"), 1, "error: runs/a: Permission denied\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "error: No space left on device\n"),
        (ConnectionError("the hub does not answer"), 1, "error: the hub does not answer\n"),
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
    ],
)
def test_what_goes_wrong_outside_the_program_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, line: str
) -> None:
    result = prepare_failing_with(error, monkeypatch)
    assert (result.exit_code, result.stdout, result.stderr) == (status, "", line)


def test_a_bug_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    bug = ZeroDivisionError("ours")
    assert prepare_failing_with(bug, monkeypatch).exception is bug


def test_the_commands_get_the_resolved_config(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Config] = []
    monkeypatch.setitem(sys.modules, "mtrain.commands.fit", SimpleNamespace(fit=seen.append))
    assert call("fit", "-c", "big", "-s", "run.seed=7", "-s", "model.heads=8", "--set", "run.seed=9").exit_code == 0
    assert (seen[0].run.folder, seen[0].run.seed) == ("runs/big", 9)
    assert (seen[0].model.heads, seen[0].model.d_model) == (8, 1024)
    assert call("fit").exit_code == 0
    assert seen[1].run.folder == "runs/sample"


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    two_files()
    reading_end, writing_end = os.pipe()
    os.close(reading_end)
    result = run("bleu", "hyp.txt", "ref.txt", "-l", "zh", stdout=writing_end)
    os.close(writing_end)
    assert (result.returncode, result.stderr) == (1, "")


@pytest.mark.skipif(os.name == "nt", reason="closes streams as a Unix shell does")
def test_streams_that_are_closed_are_no_error() -> None:
    command = ["sh", "-c", 'exec "$0" "$@" <&- >&-', sys.executable, "-m", "mtrain", "bleu", *two_files(), "-l", "zh"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_chinese_is_printed_whatever_the_locale() -> None:
    Path("mine.yaml").write_text("extends: sample\nmodel: {宽: 4}\n", encoding="utf-8")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "mtrain", "fit", "-c", "mine.yaml"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), **ascii_only}
    result = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert result.stderr.decode("utf-8").startswith("error: mine.yaml:2 model.宽: unknown key.")
