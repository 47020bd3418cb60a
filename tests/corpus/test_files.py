"""Globs, folders and lists: which files are meant, which are two sides of one text, and what is told of others."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mtrain.config.schema import CorpusConfig
from mtrain.corpus.sources import input_files, read_pairs
from mtrain.errors import CorpusError

Reader = Callable[..., list[str]]


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., None]:
    """Return a maker of files that say in each line which file and language they are, two lines each."""

    def make(*names: str) -> None:
        for name in names:
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            line = f"{file.stem}\t{file.stem}\n" if name.endswith(".tsv") else f"{name}\n"
            file.write_text(2 * line, encoding="utf-8")

    return make


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """Return a reader of pairs as `source > target`, each pair once."""

    def pairs(*names: str, **settings: object) -> list[str]:
        corpus = CorpusConfig(root=str(tmp_path), train=names, **settings)  # type: ignore[arg-type]
        found = read_pairs(corpus, "train")
        rows = [" > ".join(filter(None, pair[:3])) for pair in found]
        assert found.total == len(rows)
        assert rows[::2] == rows[1::2]
        return rows[::2]

    return pairs


def test_several_tables_are_read_one_after_the_other(files: Callable[..., None], read: Reader) -> None:
    files("b.tsv", "a.tsv", "sub/c.tsv")
    assert read("b.tsv", "a.tsv") == ["b > b", "a > a"]
    assert read("[ab].tsv") == read("?.tsv") == ["a > a", "b > b"]
    assert read("**/*.tsv") == ["a > a", "b > b", "c > c"]
    assert read("sub") == ["c > c"]


def test_globs_with_a_side_each(files: Callable[..., None], read: Reader, tmp_path: Path) -> None:
    files("p-1.zh", "p-2.zh", "p-10.zh", "p-2.en", "p-1.en", "p-10.en", "p-1.book", "p-2.book", "p-10.book")
    expected = ["p-1.zh > p-1.en", "p-10.zh > p-10.en", "p-2.zh > p-2.en"]
    assert read("p-*.zh", "p-*.en") == expected
    assert read(f"{tmp_path}/p-*.zh", f"{tmp_path}/p-*.en") == expected


def test_a_folder_of_everything(files: Callable[..., None], read: Reader) -> None:
    files("in/z.tsv", "in/b.zh-en.zh", "in/b.zh-en.en", "in/a.en.txt", "in/a.zh_CN.txt", "in/README", "in/.c.zh")
    files("in/deeper/d.zh", "in/LICENSE.txt", "in/news-com", "in/zh.txt", "in/en.txt")
    assert read("in") == [
        "z > z",
        "in/zh.txt > in/en.txt",
        "in/a.zh_CN.txt > in/a.en.txt",
        "in/b.zh-en.zh > in/b.zh-en.en",
    ]
    assert read("in", source_language="en", target_language="zh")[1] == "in/en.txt > in/zh.txt"


def test_folders_with_a_side_each(files: Callable[..., None], read: Reader) -> None:
    files("zh/1.txt", "zh/2.zh.txt", "en/1.txt", "en/2.en.txt", "book/1.txt", "book/2.txt")
    assert read("zh", "en") == ["zh/1.txt > en/1.txt", "zh/2.zh.txt > en/2.en.txt"]
    assert read("en", "zh")[0] == "en/1.txt > zh/1.txt"
    assert read("zh", "en", "book")[0] == "zh/1.txt > en/1.txt > book/1.txt"


def test_two_languages_of_one_name(files: Callable[..., None], read: Reader) -> None:
    files("in/a.zh_Hans", "in/a.zh_Hant", "in/b.zh-Hans", "in/b.zh-Hant")
    assert read("in", source_language="zh-Hant", target_language="zh-Hans") == [
        "in/a.zh_Hant > in/a.zh_Hans",
        "in/b.zh-Hant > in/b.zh-Hans",
    ]


@pytest.mark.parametrize(
    ("there", "names", "said"),
    [
        (["in/a.zh", "in/a.en", "in/b.zh"], ["in"], "in/b.zh has no other side in en. Add it, or take this file away"),
        (["in/a.zh", "in/a.zh.gz", "in/a.en"], ["in"], "in/a.zh and a.zh.gz are one side of the same text. Take one"),
        (["in/README"], ["in"], "corpus.train: in is no parallel text by itself. Give two aligned"),
        (["a.zh"], ["*.tsv"], "corpus.train: no file matches *.tsv in "),
        (["a.zh", "in/a.tsv"], ["a.zh", "in"], "a.zh, in: a.tsv holds pairs by itself. Give it an entry of its own"),
        (["p-1.zh", "p-2.zh", "p-1.en"], ["p-*.zh", "p-*.en"], "p-2.zh has no other side in p-*.en. Add it"),
        (["a.zh"], ["a.zh"], "a.zh has no other side in en. Add it"),
    ],
)
def test_mistakes(files: Callable[..., None], read: Reader, there: list[str], names: list[str], said: str) -> None:
    files(*there)
    with pytest.raises(CorpusError) as caught:
        read(*names)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_folder(tmp_path: Path, read: Reader) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(CorpusError, match=r"^corpus\.train: the folder .*in holds no files\. Name another, or put"):
        read("in")


def test_a_root_with_signs_of_a_glob_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "[raw]*").mkdir()
    (tmp_path / "[raw]*" / "a.tsv").write_text("一\tone\n", encoding="utf-8")
    corpus = CorpusConfig(root=str(tmp_path / "[raw]*"), train=("*.tsv",))
    assert [name for name, _ in input_files(corpus, "train")] == [str(tmp_path / "[raw]*" / "a.tsv")]
