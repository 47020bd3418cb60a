"""CSV, TMX and compressed files: each is read as it stands; each planted fault is told in one line with its place."""

import csv
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from mtrain.config.schema import CorpusConfig
from mtrain.corpus.sources import Pair, read_pairs
from mtrain.corpus.text_files import count_lines, read_lines
from mtrain.errors import CorpusError

PAIRS = [Pair("你好。", "Hello."), Pair("“再见”，她说", '"Bye", she said'), Pair("行一\u3000行二", "x,y")]

Reader = Callable[..., list[Pair]]

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """Return a reader of `train` from the test's folder."""

    def pairs(*names: str, **settings: object) -> list[Pair]:
        corpus = CorpusConfig(root=str(tmp_path), train=names, **settings)  # type: ignore[arg-type]
        return list(read_pairs(corpus, "train"))

    return pairs


def failure(read: Reader, *names: str, **settings: object) -> str:
    with pytest.raises(CorpusError) as caught:
        read(*names, **settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def write(folder: Path, name: str, text: str, encoding: str = "utf-8") -> None:
    content = text.encode(encoding)
    suffix = Path(name).suffix
    (folder / name).write_bytes(COMPRESS[suffix](content) if suffix in COMPRESS else content)


@pytest.mark.parametrize("compression", ["", *COMPRESS])
def test_every_text_form_compressed_or_not(tmp_path: Path, read: Reader, compression: str) -> None:
    write(tmp_path, f"a.zh{compression}", "".join(f"{pair.source}\n" for pair in PAIRS))
    write(tmp_path, f"a.en{compression}", "\r\n".join(pair.target for pair in PAIRS))
    write(tmp_path, f"a.tsv{compression}", "".join(f"{pair.source}\t{pair.target}\n" for pair in PAIRS))
    write(tmp_path, f"a.jsonl{compression}", '{"zh": "一", "en": "one"}\n')
    write(tmp_path, f"a.tmx{compression}", tmx(unit(zh="一", en="one")))
    write(tmp_path, f"a.csv{compression}", "zh,en\n一,one\n")
    assert read(f"a.zh{compression}", f"a.en{compression}") == read(f"a.tsv{compression}") == PAIRS
    for form in ("jsonl", "tmx", "csv"):
        assert read(f"a.{form}{compression}") == [Pair("一", "one")]


def test_a_compressed_file_of_several_parts_is_read_to_its_end(tmp_path: Path, read: Reader) -> None:
    for suffix, compress in COMPRESS.items():
        (tmp_path / f"a.tsv{suffix}").write_bytes(compress("一\tone\n".encode()) + compress("二\ttwo\n".encode()))
        assert read(f"a.tsv{suffix}") == [Pair("一", "one"), Pair("二", "two")]


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("harm", ["cut", "not compressed at all"])
def test_a_damaged_compressed_file(tmp_path: Path, read: Reader, suffix: str, harm: str) -> None:
    whole = COMPRESS[suffix]("".join(f"{number}\t{number * 7919}\n" for number in range(9999)).encode())
    (tmp_path / f"a.tsv{suffix}").write_bytes(whole[: len(whole) // 2] if harm == "cut" else b"1\tone\n" * 9)
    said = failure(read, f"a.tsv{suffix}")
    assert f"a.tsv{suffix}: damaged or cut short (" in said
    assert said.endswith("Copy or download it again")


def test_not_utf_8_in_a_compressed_file(tmp_path: Path, read: Reader) -> None:
    write(tmp_path, "a.tsv.gz", "你\tyou\n" * 70_000, "gb18030")
    assert "a.tsv.gz:1: not UTF-8 (byte 0xc4 at column 1): convert it" in failure(read, "a.tsv.gz")
    content = "一\tone\n".encode() * 70_000 + b"ab\xff\ttwo\n"
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(content))
    assert "b.tsv.gz:70001: not UTF-8 (byte 0xff at column 3)" in failure(read, "b.tsv.gz")


def test_different_line_counts_in_compressed_files(tmp_path: Path, read: Reader) -> None:
    write(tmp_path, "a.zh.gz", "一\n二\n")
    write(tmp_path, "a.en.gz", "one\n")
    assert "a.zh.gz has 2 lines, but " in failure(read, "a.zh.gz", "a.en.gz")


def test_an_empty_compressed_file(tmp_path: Path, read: Reader) -> None:
    write(tmp_path, "a.tsv.gz", "")
    assert failure(read, "a.tsv.gz").endswith("a.tsv.gz: the file is empty")


def test_lines_longer_than_a_block_and_blocks_that_end_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["长" * 50, "", "a", "b\r", "", "c" * 31]
    write(tmp_path, "a.txt", "\n".join(lines))
    for size in range(1, 70):
        monkeypatch.setattr("mtrain.corpus.text_files._BLOCK_BYTES", size)
        assert list(read_lines(tmp_path / "a.txt")) == ["长" * 50, "", "a", "b", "", "c" * 31]
        assert count_lines(tmp_path / "a.txt") == 6


def test_csv(tmp_path: Path, read: Reader) -> None:
    odd = [*PAIRS, Pair('"', "two\nlines, one cell"), Pair("", "")]
    for end in ("\n", "\r\n"):
        with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator=end).writerows([("en", "id", "zh"), *((b, 7, a) for a, b, *_ in odd)])
        expected = [pair._replace(target=pair.target.replace("\n", " ")) for pair in odd]
        assert read("a.csv") == expected
        assert read("a.csv", group_column="id") == [pair._replace(group="7") for pair in expected]
    write(tmp_path, "b.csv", "一,one\n二,two\n")
    assert read("b.csv") == [Pair("一", "one"), Pair("二", "two")]
    assert read("b.csv", source_column="2", target_column="1") == [Pair("one", "一"), Pair("two", "二")]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("一,one\n二,two, or so\n", "a.csv:3: found 3 columns, line 1 has 2. A cell with a comma in it must"),
        ("一,one\n二\n", "a.csv:3: found 1 columns between commas, column 2 is needed"),
        ("一,one\n\n二,two\n", "a.csv:3: found an empty line, column 2 is needed"),
        ('一,one\n"二,two\n三,three\n', "a.csv:3: the record that begins here is not CSV (unexpected end of data)"),
        ('一,one\n"二" 号,two\n', "a.csv:3: the record that begins here is not CSV (',' expected after '\"')"),
        ('"two\nlines",one\n二,a"b"\n"三"x,c\n', "a.csv:5: the record that begins here is not CSV"),
        ('"一,' + "长" * 200_000, "a.csv:2: the record that begins here is not CSV (field larger than field limit"),
    ],
)
def test_csv_mistakes(tmp_path: Path, read: Reader, rows: str, said: str) -> None:
    write(tmp_path, "a.csv", "zh,en\n" + rows)
    assert said in failure(read, "a.csv")


def test_a_column_that_csv_does_not_have(tmp_path: Path, read: Reader) -> None:
    write(tmp_path, "a.csv", "zh,english\n一,one\n")
    assert "a.csv:1: no column eng (corpus.target_column); there are: zh, english" in failure(
        read, "a.csv", target_column="eng"
    )


def unit(*before: str, **texts: str) -> str:
    variants = "".join(
        f'<tuv xml:lang="{code.replace("_", "-")}"><seg>{text}</seg></tuv>' for code, text in texts.items()
    )
    return f"<tu>{''.join(before)}{variants}</tu>"


def tmx(*units: str, head: str = '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n') -> str:
    return f'{head}<tmx version="1.4"><header srclang="en"/><body>\n' + "\n".join(units) + "\n</body></tmx>\n"


def test_tmx(tmp_path: Path, read: Reader, capsys: pytest.CaptureFixture[str]) -> None:
    units = [
        unit(zh_CN="一 &amp; &#20108;", fr="un", en_US="one"),
        unit(en="only English"),
        unit(zh_TW="繁", zh_CN="简", zh="中", en="first", EN="second"),
        unit(en="a <bpt i='1'>&lt;b></bpt><hi>bold</hi><ept>&lt;/b></ept> end<ph>[1<sub>note</sub>]</ph>", zh="粗"),
        unit('<prop type="book">论语</prop><note>no text</note>', en="", zh=""),
        '<tu><tuv lang="EN"><prop type="x">y</prop><seg>1.1</seg></tuv><tuv lang="ZH"><seg>旧</seg></tuv></tu>',
    ]
    write(tmp_path, "a.tmx", tmx(*units))
    expected = [("一 & 二", "one"), ("中", "first"), ("粗", "a bold end"), ("", ""), ("旧", "1.1")]
    assert [pair[:2] for pair in read("a.tmx")] == expected
    assert "a.tmx: 1 of 6 units have not both languages and are left out" in capsys.readouterr().err
    assert [pair.group for pair in read("a.tmx", group_column="book")] == ["", "", "", "论语", ""]
    assert read("a.tmx", source_column="zh-TW")[1].source == "繁"
    assert read("a.tmx", source_language="fr", target_language="zh_Hans") == [Pair("un", "一 & 二")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_tmx_in_other_encodings_and_small_blocks(
    tmp_path: Path, read: Reader, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = [unit(zh=f"第{number}行", en=f"line {number}") for number in range(30)]
    write(tmp_path, "a.tmx", tmx(*units, head=""), encoding)
    expected = [Pair(f"第{number}行", f"line {number}") for number in range(30)]
    assert read_pairs(CorpusConfig(root=str(tmp_path), train=("a.tmx",)), "train").total == 30
    for size in (7, 1 << 18):
        monkeypatch.setattr("mtrain.corpus.text_files._BLOCK_BYTES", size)
        assert read("a.tmx") == expected


BOMB = '<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (tmx(unit(fr="un", en="one")), "a.tmx: no unit has both zh and en (corpus.source_language, "),
        (tmx(unit(fr="un", en="one")), "source_column, target_column); the languages there are: en, fr"),
        (tmx(), "the languages there are: none at all"),
        (tmx(unit(zh="&b;", en="b"), head=BOMB), "a.tmx:1: entity a: entities of a file's own are not read"),
        (tmx(unit(zh="一&nbsp;", en="b")), "a.tmx:4: entity nbsp: entities"),
        (tmx(unit(zh="一", en="one"))[:-40], "a.tmx:4: not whole XML (no element found)"),
        (tmx(unit(zh="一", en="R&D")), "a.tmx:4: not whole XML (not well-formed (invalid token))"),
        (tmx("<tu>", unit(zh="一", en="one")), "not whole XML (mismatched tag)"),
        (tmx(head='<?xml version="1.0" encoding="klingon"?>\n'), "a.tmx:1: not whole XML (unknown encoding)"),
        (tmx(head='<?xml version="1.0" encoding="gb18030"?>\n'), "a.tmx:1: its encoding is none that XML is read in"),
        (tmx(head='<?xml version="1.0" encoding="big5"?>\n'), "Convert it to UTF-8, and say so in its first line"),
    ],
)
def test_tmx_mistakes(tmp_path: Path, read: Reader, content: str, said: str) -> None:
    write(tmp_path, "a.tmx", content)
    assert said in failure(read, "a.tmx")


def test_a_large_tmx_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    write(tmp_path, "a.tmx", tmx(*[unit(zh=f"第{number}行", en=f"line {number}") for number in range(20_000)]))
    pairs = iter(read_pairs(CorpusConfig(root=str(tmp_path), train=("a.tmx",)), "train"))
    with (tmp_path / "a.tmx").open("r+b") as file:
        next(pairs)
        file.truncate(1_500_000)  # what is read later is missed, so it has not been read yet
    with pytest.raises(CorpusError, match="not whole XML"):
        list(pairs)


def test_tsv_rows_with_more_cells_than_names_are_told(
    tmp_path: Path, read: Reader, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "a.tsv", "zh\ten\n一\tone\n二\ttwo\tor so\n三\tthree\t\n四\tfour\tor\tfive\n")
    assert [pair.target for pair in read("a.tsv")] == ["one", "two", "three", "four"]
    assert "a.tsv:3: 2 lines, of which this is the first, have more than the 2 columns" in capsys.readouterr().err
    write(tmp_path, "b.tsv", "一\tone\tCC BY\n")
    read("b.tsv")
    assert "columns that line" not in capsys.readouterr().err
