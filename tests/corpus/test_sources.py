"""Each form of parallel text is read as it stands, and each thing wrong with it is said where it is."""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mtrain.config.schema import CorpusConfig
from mtrain.corpus.sources import Pair, input_files, read_pairs
from mtrain.corpus.text_files import count_lines, read_lines
from mtrain.errors import CorpusError

PAIRS = [Pair("你好。", "Hello."), Pair("", ""), Pair("“再见”，她说", '"Bye", she said')]

Reader = Callable[..., list[Pair]]


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """Return a reader of `train` from the test's folder."""

    def pairs(*names: str, **settings: str) -> list[Pair]:
        corpus = CorpusConfig(root=str(tmp_path), train=names, **settings)  # type: ignore[arg-type]
        found = read_pairs(corpus, "train")
        rows = list(found)
        assert found.total == len(rows)
        return rows

    return pairs


def write(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    return file


def parquet(folder: Path, name: str = "train.parquet", **columns: list[Any]) -> None:
    pq.write_table(pa.table(columns), folder / name)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_two_text_files(tmp_path: Path, read: Reader, end: str, last: bool, mark: str) -> None:
    for side, name in enumerate(("a.zh", "a.en")):
        write(tmp_path, name, mark + end.join(pair[side] for pair in PAIRS) + (end if last else ""))
    assert read("a.zh", "a.en") == PAIRS


def test_stray_line_ends_shift_nothing_and_are_counted(tmp_path: Path) -> None:
    write(tmp_path, "a.zh", "一\r二\n三\u2028四\n五\x85\x0b\x1c六\n七\n")
    write(tmp_path, "a.en", "one\ntwo\nthree\x0cfour\nfive\tsix\n")
    pairs = read_pairs(CorpusConfig(root=str(tmp_path), train=("a.zh", "a.en")), "train")
    assert list(pairs) == [
        Pair("一 二", "one"),
        Pair("三 四", "two"),
        Pair("五   六", "three four"),
        Pair("七", "five\tsix"),
    ]
    assert pairs.mended == 4


GROUPED = [Pair("一", "one", "论语"), Pair("二", "two", ""), Pair("三", "three", "孟子")]


def test_the_group_of_a_pair_in_each_form(tmp_path: Path, read: Reader) -> None:
    zh, en, book, _ = map(list, zip(*GROUPED, strict=True))
    for name, lines in (("a.zh", zh), ("a.en", en), ("a.book", book)):
        write(tmp_path, name, "\n".join(lines) + "\n")
    rows = ["\t".join(pair[:3]) for pair in GROUPED]
    write(tmp_path, "headed.tsv", "\n".join(["zh\ten\tbook", *rows]))
    write(tmp_path, "plain.tsv", "\n".join(rows))
    write(tmp_path, "a.jsonl", "\n".join(json.dumps({"zh": a, "en": b, "book": c or None}) for a, b, c, _ in GROUPED))
    parquet(tmp_path, zh=zh, en=en, book=[one or None for one in book])
    assert read("a.zh", "a.en", "a.book") == GROUPED
    assert read("plain.tsv", group_column="3") == read("headed.tsv", group_column="3") == GROUPED
    for name in ("headed.tsv", "a.jsonl", "train.parquet"):
        assert read(name, group_column="book") == GROUPED
        assert read(name) == [pair._replace(group="") for pair in GROUPED]
        with pytest.raises(CorpusError, match=r"no (column|key) boko .*group_column"):
            read(name, group_column="boko")


def test_as_many_groups_as_pairs(tmp_path: Path, read: Reader) -> None:
    for name, count in (("a.zh", 2), ("a.en", 2), ("a.book", 3)):
        write(tmp_path, name, "一\n" * count)
    with pytest.raises(CorpusError, match=r"a\.zh has 2 lines, but .*a\.book has 3: line N .* must be the group of"):
        read("a.zh", "a.en", "a.book")


def test_unequal_sides_are_an_error_before_anything_is_read(tmp_path: Path, read: Reader) -> None:
    write(tmp_path, "a.zh", "一\n二\n")
    write(tmp_path, "a.en", "one\ntwo\nthree\n")
    with pytest.raises(CorpusError, match=r"a\.zh has 2 lines, but .*a\.en has 3: line N of one must be"):
        read("a.zh", "a.en")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("一\n".encode() + b"abcd\xb0\xa1\n", r"a\.zh:2: not UTF-8 \(byte 0xb0 at column 5\): .*-f gb18030 -t utf-8$"),
        # 上 is 4E 0A: of UTF-16, counting line feeds gives more lines than there are.
        ("一上\n二\n".encode("utf-16"), r"a\.zh:1: not UTF-8 \(byte 0xff at column 1\): .*iconv -f utf-16 -t utf-8$"),
        (b"\xed\xa0\x80\n\n", r"a\.zh:1: not UTF-8 \(byte 0xed at column 1\)"),
        (b"", r"a\.zh: the file is empty"),
    ],
)
def test_bytes_that_are_no_text(tmp_path: Path, read: Reader, content: bytes, message: str) -> None:
    write(tmp_path, "a.zh", content)
    write(tmp_path, "a.en", "one\ntwo\n")
    with pytest.raises(CorpusError, match=message):
        read("a.zh", "a.en")


def test_a_missing_file_says_where_it_was_looked_for_and_what_is_like_it(tmp_path: Path, read: Reader) -> None:
    write(tmp_path, "train.zh.txt", "一\n")
    with pytest.raises(CorpusError) as error:
        read("train.zh", "train.en")
    assert str(error.value) == (
        f"corpus.train: there is no file train.zh in {tmp_path} (corpus.root). Did you mean train.zh.txt?"
    )
    with pytest.raises(CorpusError, match=r"Set corpus\.root to the folder of your corpus"):
        read("quite_another_name.zh", "train.en")
    with pytest.raises(CorpusError, match=r"corpus.root: there is no folder .*nowhere"):
        input_files(CorpusConfig(root=str(tmp_path / "nowhere"), train=("a.tsv",)), "train")


def test_a_tilde_without_a_user_is_a_name_like_others(tmp_path: Path, read: Reader) -> None:
    write(tmp_path, "~no-such-user.tsv", "一\tone\n")
    assert read("~no-such-user.tsv") == [Pair("一", "one")]


def test_a_split_without_pairs(tmp_path: Path, read: Reader) -> None:
    write(tmp_path, "a.tsv", "zh\ten\n")
    pq.write_table(pa.table({"zh": pa.array([], pa.string()), "en": pa.array([], pa.string())}), tmp_path / "a.parquet")
    for name in ("a.tsv", "a.parquet"):
        with pytest.raises(CorpusError, match=rf"^corpus\.train: {name} holds not a single pair$"):
            read(name)


def test_one_file_of_unknown_kind(tmp_path: Path, read: Reader) -> None:
    write(tmp_path, "a.docx", "?")
    with pytest.raises(CorpusError, match=r"^corpus.train: a.docx is no parallel text by itself. Give .*, .tsv, "):
        read("a.docx")


def test_tsv_by_position_and_by_header(
    tmp_path: Path, read: Reader, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{number}\t{pair.target}\t{pair.source}" for number, pair in enumerate(PAIRS)]
    write(tmp_path, "plain.tsv", "\n".join(rows))
    assert read("plain.tsv", source_column="3", target_column="2") == PAIRS
    write(tmp_path, "headed.tsv", "\n".join(["id\ten\tzh", *rows]))
    assert read("headed.tsv") == PAIRS
    assert read("headed.tsv", source_column="zh", target_column="en") == PAIRS
    write(tmp_path, "two.tsv", "\n".join(f"{pair.source}\t{pair.target}" for pair in PAIRS))
    assert read("two.tsv") == PAIRS
    said = capsys.readouterr().err.split("\n")
    assert said[0].endswith("plain.tsv: reading columns 3 and 2, line 1 included, for it names no columns")
    assert said[1].endswith("headed.tsv: reading the columns zh and en")


def test_tsv_mistakes(tmp_path: Path, read: Reader) -> None:
    write(tmp_path, "a.tsv", "一\tone\n二\n")
    with pytest.raises(CorpusError, match=r"a\.tsv:2: found 1 columns between tabs, column 2 is needed"):
        read("a.tsv")
    write(tmp_path, "b.tsv", "一\tone\n\n")
    with pytest.raises(CorpusError, match=r"b\.tsv:2: found an empty line, column 2 is needed"):
        read("b.tsv")
    with pytest.raises(CorpusError, match=r"a\.tsv:1: no column src \(corpus.source_column\); there are: 一, one"):
        read("a.tsv", source_column="src")
    with pytest.raises(CorpusError, match=r"no column 0 \(corpus.target_column\)"):
        read("a.tsv", target_column="0")


def test_jsonl(tmp_path: Path, read: Reader) -> None:
    flat = "\n".join(json.dumps({"zh": zh, "en": en, "id": 1}) for zh, en, *_ in PAIRS)
    nested = "\n".join(json.dumps({"translation": {"zh": zh, "en": en}}, ensure_ascii=False) for zh, en, *_ in PAIRS)
    write(tmp_path, "flat.jsonl", flat)
    write(tmp_path, "nested.jsonl", nested)
    assert read("flat.jsonl") == read("nested.jsonl") == PAIRS
    write(tmp_path, "null.jsonl", '{"zh": null, "en": "one"}\n')
    assert read("null.jsonl") == [Pair("", "one")]
    write(tmp_path, "broken.jsonl", '{"zh": "a\\nb\\ud83d", "en": "c\\u2028d"}\n')
    assert read("broken.jsonl") == [Pair("a b ", "c d")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"zh": "一", "en": ' + "7" * 5000 + "}", r"a\.jsonl:2: found a number far too long, a JSON object"),
        ("[" * 100_000, r"a\.jsonl:2: found brackets in brackets without end, a JSON object"),
        ('{"zh": "一" "en"}', r"a\.jsonl:2: not JSON \(Expecting ',' delimiter at column 12\)"),
        ('{"zh": "一", "english": "one"}', r"a\.jsonl:2: no key en \(.*group_column\); there are: zh, english"),
        ('{"zh": 1, "en": "one"}', r"a\.jsonl:2: zh must be text, found 1"),
        ("", r"a\.jsonl:2: found an empty line, a JSON object is needed"),
        ('["一", "one"]', r"a\.jsonl:2: expects a JSON object with the key zh, found \["),
    ],
)
def test_jsonl_mistakes(tmp_path: Path, read: Reader, line: str, message: str) -> None:
    write(tmp_path, "a.jsonl", '{"zh": "一", "en": "one"}\n' + line + "\n")
    with pytest.raises(CorpusError, match=message):
        read("a.jsonl")


def test_parquet(tmp_path: Path, read: Reader) -> None:
    zh, en, *_ = map(list, zip(*PAIRS, strict=True))
    parquet(tmp_path, id=[1, 2, 3], en=en, zh=zh)
    assert read("train.parquet") == PAIRS
    assert read("train.parquet", source_column="en", target_column="zh") == [Pair(b, a) for a, b, *_ in PAIRS]
    parquet(tmp_path, "nested.parquet", translation=[{"zh": zh or None, "en": en or None} for zh, en, *_ in PAIRS])
    assert read("nested.parquet") == PAIRS
    parquet(tmp_path, "dotted.parquet", **{"text.zh": zh, "text.en": en, "text": en})
    assert read("dotted.parquet", source_column="text.zh", target_column="text.en") == PAIRS


def test_parquet_mistakes(tmp_path: Path, read: Reader) -> None:
    parquet(tmp_path, zh=["一"], English=["one"], en=[1])
    with pytest.raises(CorpusError, match=r": no column fr \(corpus.target_column\); there are: zh, English, en$"):
        read("train.parquet", target_column="fr")
    with pytest.raises(CorpusError, match=r"column en \(corpus.target_column\) must hold text, found int64"):
        read("train.parquet")
    whole = (tmp_path / "train.parquet").read_bytes()
    write(tmp_path, "cut.parquet", whole[: len(whole) // 2])
    with pytest.raises(CorpusError, match=r"cut.parquet: not a whole parquet file"):
        read("cut.parquet")
    write(tmp_path, "packed.parquet.gz", gzip.compress(whole))
    with pytest.raises(CorpusError, match=r"gz: parquet is compressed inside, .* Unpack it: packed.parquet$"):
        read("packed.parquet.gz")
    write(tmp_path, "foot.parquet", whole[:-60] + b"\xff" * 52 + whole[-8:])
    with pytest.raises(CorpusError, match=r"foot.parquet: not a whole parquet file"):
        read("foot.parquet")
    pq.write_table(pa.table([["一"], ["one"], ["二"]], names=["zh", "en", "zh"]), tmp_path / "twice.parquet")
    with pytest.raises(CorpusError, match=r"twice.parquet: 2 columns are called zh. Rename all but one of them"):
        read("twice.parquet")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a local data set, with the cache of `datasets` beside it and no network."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    folder = tmp_path / "news"
    folder.mkdir()
    rows = [{"zh": zh, "en": en} for zh, en, *_ in PAIRS]
    parquet(folder, "train.parquet", translation=rows)
    parquet(folder, "validation.parquet", translation=rows[:1])
    return folder


def test_hub(hub: Path, read: Reader) -> None:
    assert read("hub:news") == PAIRS
    assert read("hub:news:validation") == read("hub:news:default:validation") == PAIRS[:1]
    dev = read_pairs(CorpusConfig(root=str(hub.parent), dev=("hub:news",)), "dev")
    assert list(dev) == PAIRS[:1]
    corpus = CorpusConfig(root=str(hub.parent), train=("hub:news",))
    files = [file for _, file in input_files(corpus, "train")]
    assert [file and file.name for file in files] == ["train.parquet", "validation.parquet"]
    assert input_files(CorpusConfig(train=("hub:some/where",)), "train") == [("hub:some/where", None)]


def test_hub_saved_to_disk(hub: Path, read: Reader) -> None:
    import datasets

    saved = datasets.Dataset.from_dict({"zh": ["一"], "en": ["one"]})
    saved.save_to_disk(str(hub.parent / "saved"))
    datasets.DatasetDict(train=saved).save_to_disk(str(hub.parent / "several"))
    assert read("hub:saved") == read("hub:several") == [Pair("一", "one")]


def test_hub_streamed(hub: Path, read: Reader) -> None:
    import datasets

    datasets.Dataset.from_dict({"zh": ["一"], "en": ["one"]}).save_to_disk(str(hub.parent / "saved"))
    for entry, expected in (("hub:news:validation", PAIRS[:1]), ("hub:saved", [Pair("一", "one")])):
        corpus = CorpusConfig(root=str(hub.parent), train=(entry,), streaming=True)
        pairs = read_pairs(corpus, "train")
        assert (pairs.total, list(pairs)) == (None, expected)
    corpus = CorpusConfig(root=str(hub.parent), train=("hub:news",), streaming=True, target_column="fr")
    with pytest.raises(CorpusError, match=r"no column fr .*there are: translation.zh, translation.en"):
        read_pairs(corpus, "train")


def test_hub_column_with_a_point_in_its_name(hub: Path, read: Reader) -> None:
    import datasets

    datasets.Dataset.from_dict({"text.zh": ["一"], "text.en": ["one"]}).save_to_disk(str(hub.parent / "dotted"))
    assert read("hub:dotted", source_column="text.zh", target_column="text.en") == [Pair("一", "one")]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("hub:no/such", r"^corpus.train: hub:no/such cannot be loaded: .*, and there is no folder .*no/such either$"),
        ("hub:news:default:test", r"hub:news:default:test cannot be loaded: Unknown split"),
        ("hub:a:b:c:d", r"hub:a:b:c:d: expects hub:NAME\[:CONFIG\]\[:SPLIT\]"),
    ],
)
def test_hub_mistakes(hub: Path, read: Reader, entry: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message) as error:
        read(entry)
    assert "\n" not in str(error.value)


def test_hub_missing_column(hub: Path, read: Reader) -> None:
    with pytest.raises(CorpusError, match=r"no column fr .*there are: translation.zh, translation.en"):
        read("hub:news", target_column="fr")


@pytest.mark.parametrize("content", ["", "a", "a\n", "a\nb", "\n", "\n\n", "a\n\n"])
def test_counting_lines_and_reading_them_agree(tmp_path: Path, content: str) -> None:
    file = write(tmp_path, "a.txt", content)
    assert count_lines(file) == len(list(read_lines(file)))


def test_a_parquet_file_is_not_kept_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "train.parquet"
    draw = random.Random(1)
    groups = [[draw.randbytes(500).hex() for _ in range(1000)] for _ in range(20)]
    with pq.ParquetWriter(file, pa.schema([("zh", pa.string()), ("en", pa.string())])) as writer:
        for texts in groups:
            writer.write_table(pa.table({"zh": texts, "en": texts}))
    before, most = pa.total_allocated_bytes(), 0
    for _ in read_pairs(CorpusConfig(root=str(tmp_path), train=("train.parquet",)), "train"):
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < file.stat().st_size / 4
