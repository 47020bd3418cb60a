"""`mtrain bleu`: of files, and of a run's test split."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner, Result

from mtrain.cli import app
from mtrain.config.schema import Config
from mtrain.evaluation.metrics import score

SOURCES = ["天甚佳。", "子食乎？", "书贵，不可买也。", "吾欲往。"]
HYPOTHESES = ["今天天气很好。", "你吃了吗？", "", "我想去。"]
REFERENCES = ["今天天气不错。", "你吃饭了吗？", "书很贵，不能买。", "我想去。"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, lines in (("src", SOURCES), ("hyp", HYPOTHESES), ("ref", REFERENCES)):
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def bleu(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["bleu", *arguments])


def test_files_are_scored_on_stdout() -> None:
    result = bleu("hyp", "ref", "--source", "src", "--language", "zh")
    scores = score(HYPOTHESES, REFERENCES, SOURCES, "zh")
    assert result.stderr == ""
    assert f"BLEU   {scores.bleu:6.2f}   {scores.bleu_signature}\n" in result.stdout
    assert "1 empty translations" in result.stdout


def test_json_is_for_machines() -> None:
    figures = json.loads(bleu("hyp", "ref", "-l", "zh", "--json").stdout)
    assert figures["bleu"] == score(HYPOTHESES, REFERENCES, None, "zh").bleu
    assert figures["copy_bleu"] is None


def test_a_config_gives_language_and_tokenizer_and_the_option_wins() -> None:
    def tokenizer(*arguments: str) -> str:
        return str(json.loads(bleu("hyp", "ref", "--json", *arguments).stdout)["tokenizer"])

    assert tokenizer("-c", "sample-lzh") == "zh"
    assert tokenizer("-c", "sample") == "13a"
    assert tokenizer("-c", "sample", "-l", "zh") == "zh"
    assert tokenizer("-c", "sample", "-s", "evaluation.bleu_tokenizer=char") == "char"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hyp", "ref"], "which language are the translations in? Say --language zh (or en, ...), or give --config"),
        (["hyp"], "hyp: which file holds the references? mtrain bleu HYP REF --language zh"),
        (["hyp", "ref", "-l", "cn"], "--language: expects a language code such as zh, lzh or en, found 'cn'. Write zh"),
        (["hyp", "nowhere", "-l", "zh"], "nowhere: there is no such file"),
        (
            ["hyp", "short", "-l", "zh"],
            "hyp has 4 lines, but short has 1; line N of one must belong to line N of the other",
        ),
        (
            ["hyp", "broken", "-l", "zh"],
            "broken:2: not UTF-8 (byte 0xff at column 1): convert it, e.g. iconv -f gb18030 -t utf-8",
        ),
        (["hyp", "empty", "-l", "zh"], "empty: the file is empty"),
        (["--source", "src"], "--source and --language go with two files: mtrain bleu HYP REF --language zh"),
        (
            ["hyp", "ref", "-s", "decoding.beam=1"],
            "--set changes a config, and files are scored without one; add --config",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_told_in_one_line(arguments: list[str], message: str) -> None:
    Path("short").write_text("a\n", encoding="utf-8")
    Path("broken").write_bytes(b"a\n\xff\n")
    Path("empty").write_bytes(b"")
    result = bleu(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"error: {message}\n")


def test_a_runs_test_split_is_translated_scored_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def translate_split(config: Config, split: str) -> tuple[list[str], list[str], list[str]]:
        asked.append((config.run.folder, split))
        return SOURCES, HYPOTHESES, REFERENCES

    monkeypatch.setitem(sys.modules, "mtrain.commands.translate", SimpleNamespace(translate_split=translate_split))
    result = bleu("-c", "sample-lzh", "--json")
    assert asked == [("runs/sample-lzh", "test")]
    kept = Path("runs/sample-lzh")
    assert (kept / "test.hypotheses.txt").read_text(encoding="utf-8") == Path("hyp").read_text(encoding="utf-8")
    assert (kept / "scores.json").read_text(encoding="utf-8") == result.stdout
    assert json.loads(result.stdout)["copy_bleu"] == score(SOURCES, REFERENCES, None, "zh").bleu
    assert result.stderr.count("source       ") == 3
    assert "reference    今天天气不错。\ntranslation  今天天气很好。\n" in result.stderr
