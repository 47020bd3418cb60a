"""`mtrain bleu`: of files, and of a run's test split."""

import json
import os
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


def test_all_files_may_be_pipes() -> None:
    ends = [os.pipe() for _ in range(3)]
    for (_, writer), lines in zip(ends, (HYPOTHESES, REFERENCES, SOURCES), strict=True):
        os.write(writer, "".join(f"{line}\n" for line in lines).encode())
        os.close(writer)
    hypotheses, references, sources = (f"/dev/fd/{reader}" for reader, _ in ends)
    found = bleu(hypotheses, references, "--source", sources, "--language", "zh")
    for reader, _ in ends:
        os.close(reader)
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == bleu("hyp", "ref", "--source", "src", "--language", "zh").stdout


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
            ["hyp", "ref", "-l", "zh", "--by", "short"],
            "--by: short has 1 lines, but there are 4 sentences; line N must name the group of sentence N",
        ),
        (["hyp", "ref", "-l", "zh", "--by", "nowhere"], "nowhere: there is no such file"),
        (["hyp", "hyp", "ref", "--by", "x"], "--by tells of one file of translations; leave the others out"),
        (
            ["hyp", "ref", "-l", "zh", "--strip-punctuation"],
            "--strip-punctuation translates a run's test split anew; give no files with it",
        ),
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


def test_by_a_file_of_groups(tmp_path: Path) -> None:
    Path("books").write_text("史记\n汉书\n史记\n\n", encoding="utf-8")
    result = bleu("hyp", "ref", "-l", "zh", "--by", "books", "--source", "src")
    assert [line.split()[:2] for line in result.stdout.split("\n\n")[1].split("\n")[1:5]] == [
        ["all", "4"], ["史记", "2"], ["(none)", "1"], ["汉书", "1"],
    ]  # fmt: skip
    groups = json.loads(bleu("hyp", "ref", "-l", "zh", "--by", "books", "--json").stdout)["groups"]
    assert (groups["by"], [row["sentences"] for row in groups["rows"]]) == ("books", [4, 2, 1, 1])
    assert groups["rows"][0]["bleu"]["score"] == score(HYPOTHESES, REFERENCES, None, "zh").bleu


def test_several_systems_are_compared_with_the_first() -> None:
    result = bleu("src", "hyp", "ref", "-l", "zh")
    assert result.stdout.split("\n")[1].split()[0] == "src"
    assert " BLEU better than src (p = " in result.stdout
    assert "hyp: 1 translations are empty" in result.stdout
    systems = json.loads(bleu("src", "hyp", "ref", "-l", "zh", "--json").stdout)["systems"]
    assert [system["name"] for system in systems] == ["src", "hyp"]
    assert systems[1]["bleu"]["score"] == score(HYPOTHESES, REFERENCES, None, "zh").bleu


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """Return a list of how the translator is called; it only looks up what it has to say."""
    asked: list[tuple[object, ...]] = []

    def translate_split(config: Config, *wanted: object) -> tuple[list[str], list[str], list[str]]:
        asked.append((config.run.folder, *wanted))
        return SOURCES, HYPOTHESES, REFERENCES

    monkeypatch.setitem(sys.modules, "mtrain.commands.translate", SimpleNamespace(translate_split=translate_split))
    return asked


def test_a_runs_test_split_is_translated_scored_and_kept(run: list[tuple[object, ...]]) -> None:
    result = bleu("-c", "sample-lzh", "--json")
    assert run == [("runs/sample-lzh", "test", False)]
    kept = Path("runs/sample-lzh")
    assert (kept / "test.hypotheses.txt").read_text(encoding="utf-8") == Path("hyp").read_text(encoding="utf-8")
    assert (kept / "scores.json").read_text(encoding="utf-8") == result.stdout
    assert json.loads(result.stdout)["copy_bleu"] == score(SOURCES, REFERENCES, None, "zh").bleu
    assert result.stderr.count("source       ") == 3
    assert "reference    今天天气不错。\ntranslation  今天天气很好。\n" in result.stderr


def test_without_punctuation_it_is_kept_beside(run: list[tuple[object, ...]]) -> None:
    result = bleu("-c", "sample-lzh", "--strip-punctuation")
    assert run == [("runs/sample-lzh", "test", True)]
    assert "the test sources without their punctuation" in result.stderr
    assert sorted(file.name for file in Path("runs/sample-lzh").iterdir()) == [
        "scores.unpunctuated.json",
        "test.unpunctuated.hypotheses.txt",
    ]


def test_a_run_is_scored_by_the_groups_of_its_prepared_data(
    run: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def scored(groups: list[str], *arguments: str) -> Result:
        prepared = SimpleNamespace(groups=lambda split: groups, manifest=SimpleNamespace(pairs={"test": 4}))
        monkeypatch.setattr("mtrain.batches.store.open_prepared", lambda *_: prepared)
        return bleu("-c", "sample-lzh", *arguments)

    books = ["史记", "汉书", "史记", "史记"]
    for by, name in ((["book", "-s", "corpus.group_column=book"], "book"), (["group"], "group")):
        table = scored(books, "--by", *by).stdout.split("\n\n")[1].split("\n")
        assert table[0].split()[:3] == ["by", name, "sentences"]
        assert [line.split()[:2] for line in table[1:4]] == [["all", "4"], ["史记", "3"], ["汉书", "1"]]
    Path("mine").write_text("a\nb\nb\nb\n", encoding="utf-8")
    assert "by mine  sentences" in scored([], "--by", "mine").stdout
    assert scored([], "--by", "book").stderr == (
        "error: --by book: the prepared test split has no groups, and there is no such file. Name a file with a line "
        "per sentence, or set corpus.group_column and prepare again\n"
    )
    assert "grouped by group only, and there is no such file" in scored(books, "--by", "book").stderr
