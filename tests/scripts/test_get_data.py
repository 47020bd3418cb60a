"""The corpora that get_data.py makes, from small stand-ins for what is published, and from the real one where it is."""

import bz2
import gzip
import io
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mtrain.errors import MtrainError

WENYAN = Path(__file__).parent.parent.parent.parent / "shared" / "data" / "wenyan"

DEV = ("庖丁为文惠君解牛，手之所触。", "庖丁给文惠君宰牛，手接触的地方。")
TEST = ("北冥有鱼，其名为鲲，鲲之大。", "北海里有一条鱼，它的名字叫鲲，鲲非常巨大。")
COMMON = ("上从之。", "皇上听从了他。")
PLAIN = ("吾生也有涯，而知也无涯。", "我的生命是有限的，而知识是无限的。")
BOOK = {
    "庄子/内篇/养生主": [PLAIN, DEV, COMMON],
    "庄子/内篇/逍遥游": [TEST, ("怒而飞，其翼若垂天之云。", "奋起而飞，它的翅膀就像天边的云。")],
    "资治通鉴/周纪": [
        COMMON,
        (" 初命  晋大夫\u3000魏斯为诸侯。", "周威烈王初次任命晋国大夫魏斯为诸侯国君。"),
        ("初命晋大夫魏斯为诸侯！", "周威烈王初次任命晋国大夫魏斯为诸侯国君！"),
        (DEV[0].replace("，", "。"), "庖丁替文惠君分解一头牛。"),
        ("于是" + DEV[0], "庖丁于是就给文惠君宰牛，他手接触的地方。"),
        ("崩。", "去世了。"),
        ("王曰善哉", "王说" + "好" * 23),
        ("山" * 201, "山" * 201),
        ("甲乙丙丁戊己庚辛", "甲乙"),
    ],
    "论语/学而": [("学而时习之，不亦说乎？", "学习并且时常温习，不也很愉快吗？")],
}


@pytest.fixture
def get_data(monkeypatch, tmp_path):
    """Return the script, whose lists of dev and test are empty until `hold_out` writes them."""
    import get_data
    from corpora import splits

    (tmp_path / "lists").mkdir()
    monkeypatch.setattr(splits, "_LISTS", tmp_path / "lists")
    return get_data


def hold_out(folder, name, **splits):
    from corpora.text import key

    for split, lines in splits.items():
        marks = (line if isinstance(line, str) else key(*line) for line in lines)
        (folder / "lists" / f"{name}.{split}").write_text("".join(f"{mark}\n" for mark in marks), "utf-8")


def repository(folder, chapters=None):
    for chapter, pairs in (chapters or BOOK).items():
        place = folder / "双语数据" / chapter
        place.mkdir(parents=True)
        for side, name in enumerate(("source.txt", "target.txt")):
            (place / name).write_text("".join(f"{pair[side]}\n" for pair in pairs), "utf-8")
        (place / "bitext.txt").write_text("古文：不读\n现代文：不读\n\n", "utf-8")
    return folder


def archived(folder, archive, mode="w:gz"):
    with tarfile.open(archive, mode) as file:
        file.add(folder, "repository-0123")
    return archive


def make(get_data, name, source, to):
    get_data.make(name, get_data.Shelf(source, may_fetch=False), to)
    return to


def lines(file):
    return file.read_bytes().decode("utf-8").removesuffix("\n").split("\n")


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture
def wenyan(get_data, tmp_path):
    hold_out(tmp_path, "wenyan", dev=[DEV, COMMON], test=[TEST])
    repository(tmp_path / "clone")
    return get_data


def test_wenyan_has_what_was_held_out_in_its_order_and_train_without_it(wenyan, tmp_path, capsys):
    to = make(wenyan, "wenyan", tmp_path / "clone", tmp_path / "out")
    assert [lines(to / f"dev.{ending}") for ending in ("lzh", "zh", "book")] == [
        [DEV[0], COMMON[0]], [DEV[1], COMMON[1]], ["庄子", "庄子"]
    ]  # fmt: skip
    assert lines(to / "test.lzh") == [TEST[0]]
    # Whole chapters are held out, and all that is left of the others is one pair.
    assert pq.read_table(to / "train.parquet").to_pylist() == [
        {"lzh": "初命 晋大夫 魏斯为诸侯。", "zh": "周威烈王初次任命晋国大夫魏斯为诸侯国君。", "book": "资治通鉴"}
    ]
    told = capsys.readouterr().err
    counts = {" ".join(line.split()[:-1]): line.split()[-1] for line in told.split("\n") if line}
    assert counts["read"] == "15"
    assert counts["2 chapters of dev and test"] == "-5"
    assert counts["books 孙子兵法 孟子 梦溪笔谈 论语"] == "-1"
    assert counts["fewer than 2 Chinese characters"] == "-1"
    assert counts["over 200 or 300 characters"] == "-1"
    assert counts["Chinese characters 1 to more than 6, or more than 3 to 1"] == "-2"
    assert counts["duplicates"] == "-1"
    assert counts["a side is held out"] == "-2"
    assert counts["nearly a held-out source"] == "-1"
    assert "MIT" in told
    assert "warning: " in told  # these are not the benchmark's sentences


def test_wenyan_is_the_same_from_a_clone_its_folder_and_the_archive(wenyan, tmp_path):
    from corpora.wenyan import ARCHIVE

    (tmp_path / "downloads").mkdir()
    archived(tmp_path / "clone", tmp_path / "downloads" / ARCHIVE.name)
    sources = (tmp_path / "clone", tmp_path / "clone" / "双语数据", tmp_path / "downloads")
    made = [contents(make(wenyan, "wenyan", source, tmp_path / f"out{n}")) for n, source in enumerate(sources)]
    assert made[0] == made[1] == made[2]


def test_another_state_of_the_corpus_is_refused_before_anything_is_written(wenyan, tmp_path):
    other = repository(tmp_path / "other", {"庄子/内篇/养生主": [PLAIN, DEV]})
    with pytest.raises(MtrainError, match="2 of the 3 sentences of dev and test are not in this corpus"):
        make(wenyan, "wenyan", other, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_chapter_with_a_missing_line_is_left_out_and_told(wenyan, tmp_path, capsys):
    (tmp_path / "clone" / "双语数据" / "论语" / "学而" / "target.txt").write_text("", "utf-8")
    with (tmp_path / "clone" / "双语数据" / "论语" / "学而" / "source.txt").open("a", encoding="utf-8") as file:
        file.write("有朋自远方来，不亦乐乎？\n")
    make(wenyan, "wenyan", tmp_path / "clone", tmp_path / "out")
    assert "warning: 论语/学而: 2 sentences and 1 translations; the chapter is left out" in capsys.readouterr().err


def test_folders_that_are_something_else_are_named(wenyan, tmp_path):
    from corpora.wenyan import ARCHIVE

    (tmp_path / "empty").mkdir()
    (tmp_path / "hollow" / "双语数据").mkdir(parents=True)
    for folder, complaint in (
        ("absent", "there is no such folder"), ("empty", "has neither 双语数据/"), ("hollow", "is it the right one?"),
    ):  # fmt: skip
        with pytest.raises(MtrainError, match=complaint):
            make(wenyan, "wenyan", tmp_path / folder, tmp_path / "out")
    whole = archived(tmp_path / "clone", tmp_path / "whole.tar.gz").read_bytes()
    (tmp_path / "empty" / ARCHIVE.name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(MtrainError, match=r"tar\.gz cannot be read: .* Delete it and run this again"):
        make(wenyan, "wenyan", tmp_path / "empty", tmp_path / "out")


def test_a_mistake_is_one_line_and_an_exit_code(wenyan, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["get_data.py", "zh-en", "--from", str(tmp_path / "clone")])
    with pytest.raises(SystemExit) as ended:
        wenyan.main()
    *_, last = capsys.readouterr().err.removesuffix("\n").split("\n")
    assert ended.value.code == 1
    assert last.startswith(f"error: {tmp_path / 'clone'} lacks wmt17.test.tgz (published at https://")


# -- zh-en and the test sets -------------------------------------------------------------------------------------------

SETS = {
    "newstest2017": [("“你好，世界”。", "Hello & welcome to the world."), ("今天下雨。", "It rains  today.")],
    "newstest2018": [("许多核心故事都是一样的。", "Many core stories are the same.")],
    "flores200_dev": [("这种芯片可以打印出来。", "The chip can be printed.")],
    "flores200_devtest": [("研究仍处在早期阶段。", "The research is in its early days.")],
}
TATOEBA_TEST = ("他靠什么维持生活？", "What does he do for a living?")


def packed(file, texts):
    with tarfile.open(file, "w:gz") as archive:
        for name, text in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode("utf-8"))
            archive.addfile(member, io.BytesIO(text.encode("utf-8")))


def sgml(side):
    segments = "\n".join(f'<seg id="{number}">{line}</seg>' for number, line in enumerate(side, start=1))
    return f'<srcset setid="x">\n<doc docid="d">\n<p>\n{segments}\n</p>\n</doc>\n</srcset>\n'


@pytest.fixture
def published(monkeypatch, tmp_path):
    """Return a folder with stand-ins for all that zh-en and the test sets are made of."""
    from corpora import downloads

    monkeypatch.setattr(downloads.Download, "fault", lambda *_: "")
    folder = tmp_path / "published"
    folder.mkdir()
    for year in (17, 18):
        chinese, english = zip(*SETS[f"newstest20{year}"], strict=True)
        names = [f"test/newstest20{year}-zhen-{side}.sgm" for side in ("src.zh", "ref.en")]
        packed(folder / f"wmt{year}.test.tgz", dict(zip(names, (sgml(chinese), sgml(english)), strict=True)))
    flores = {}
    for split in ("dev", "devtest"):
        for side, language in enumerate(("zho_Hans", "eng_Latn")):
            text = "".join(f"{pair[side]}\n" for pair in SETS[f"flores200_{split}"])
            flores[f"./flores200_dataset/{split}/{language}.{split}"] = text
    packed(folder / "flores200_dataset.tar.gz", flores)
    tables = {
        "cmn_sentences.tsv.bz2": f"1\tcmn\t{TATOEBA_TEST[0]}\n2\tcmn\t我忘了。\n3\tcmn\t没有翻译。\n",
        "eng_sentences.tsv.bz2": f"7\teng\t{TATOEBA_TEST[1]}\n8\teng\tI forgot.\n9\teng\tNot linked.\n",
        "cmn-eng_links.tsv.bz2": "1\t7\n2\t8\n3\t404\n",
    }
    for name, text in tables.items():
        (folder / name).write_bytes(bz2.compress(text.encode("utf-8")))
    news = "The economy is growing.\t经济正在增长。\n\n\t\nIt rains today!\t今天正在下雨！\n"
    (folder / "news-commentary-v18.en-zh.tsv.gz").write_bytes(gzip.compress(news.encode("utf-8")))
    rows = [{"en": "Many stories.", "zh": "许多核心故事都是一样的！"}, {"en": "Fine, thanks.", "zh": "很好，谢谢。"}]
    rows += [{"en": "……", "zh": "没有字母。"}, rows[1]]
    pq.write_table(pa.table({"translation": rows}), folder / "opus-100.en-zh.train.parquet")
    return folder


def test_zh_en_has_the_recorded_lines_that_are_public_and_tells_what_is_missing(get_data, published, tmp_path, capsys):
    gone = ("此句已被删除。", "This sentence was deleted.")
    hold_out(
        tmp_path, "zh-en",
        dev=["# newstest2018", *SETS["newstest2018"]],
        test=["# newstest2017", SETS["newstest2017"][0], "# tatoeba", gone, TATOEBA_TEST],
    )  # fmt: skip
    to = make(get_data, "zh-en", published, tmp_path / "out")
    assert lines(to / "dev.zh") == [SETS["newstest2018"][0][0]]
    assert lines(to / "test.source") == ["newstest2017", "tatoeba"]
    assert lines(to / "test.en") == [SETS["newstest2017"][0][1], TATOEBA_TEST[1]]
    told = capsys.readouterr().err
    assert "\ndev: 1 of 1 newstest2018\n" in told
    assert "\nwarning: test: 1 of 2 tatoeba\n" in told
    assert "AI Challenger" in told
    assert "CC BY-SA 4.0" in told


def test_zh_en_trains_on_nothing_that_stands_in_a_test_set(get_data, published, tmp_path):
    hold_out(tmp_path, "zh-en", dev=[], test=["# tatoeba", TATOEBA_TEST])
    train = pq.read_table(make(get_data, "zh-en", published, tmp_path / "out") / "train.parquet").to_pylist()
    assert {(row["zh"], row["en"], row["source"]) for row in train} == {
        ("我忘了。", "I forgot.", "tatoeba"),
        ("经济正在增长。", "The economy is growing.", "news_commentary"),
        ("很好，谢谢。", "Fine, thanks.", "opus100"),
    }
    assert len(train) == 3


def test_the_test_sets_are_written_as_sacrebleu_reads_them(get_data, published, tmp_path):
    to = make(get_data, "test-sets", published, tmp_path / "out")
    assert lines(to / "newstest2017.en") == ["Hello & welcome to the world.", "It rains today."]
    assert sorted(contents(to)) == [
        f"{name}.{language}"
        for name in ("flores200_devtest", "newstest2017", "newstest2018")
        for language in ("en", "zh")
    ]


def test_archives_that_are_something_else_are_named(get_data, published, tmp_path):
    packed(published / "wmt17.test.tgz", {"other": "text"})
    with pytest.raises(MtrainError, match=r"wmt17\.test\.tgz has no test/newstest2017-zhen-src\.zh\.sgm"):
        make(get_data, "test-sets", published, tmp_path / "out")
    (published / "wmt17.test.tgz").write_text("<html>Please log in</html>")
    with pytest.raises(MtrainError, match=r"wmt17\.test\.tgz cannot be read"):
        make(get_data, "test-sets", published, tmp_path / "out")


def test_a_damaged_download_of_zh_en_is_named(get_data, published, tmp_path):
    (published / "cmn_sentences.tsv.bz2").write_bytes(b"BZh9 and then nothing")
    with pytest.raises(MtrainError, match="tatoeba cannot be read"):
        make(get_data, "zh-en", published, tmp_path / "out")
    (published / "cmn_sentences.tsv.bz2").write_bytes(bz2.compress(b"1\tcmn\t\xe5\xa5\xbd\n2\n"))
    (published / "cmn-eng_links.tsv.bz2").write_bytes(bz2.compress(b"2\t3\n"))
    with pytest.raises(MtrainError, match="tatoeba cannot be read"):
        make(get_data, "zh-en", published, tmp_path / "out2")


# -- the lists that come with the script -------------------------------------------------------------------------------


def test_the_lists_are_as_long_as_the_splits():
    from corpora.splits import read_list

    places = [(name, split) for name in ("wenyan", "zh-en") for split in ("dev", "test")]
    lists = {(name, split): read_list(f"{name}.{split}") for name, split in places}
    assert {place: len(marks) for place, marks in lists.items()} == {
        ("wenyan", "dev"): 2000, ("wenyan", "test"): 2000, ("zh-en", "dev"): 1400, ("zh-en", "test"): 4013,
    }  # fmt: skip
    assert len(set(lists["wenyan", "dev"] + lists["wenyan", "test"])) == 4000
    assert {part for _, part in lists["zh-en", "test"]} == {"flores200_devtest", "newstest2017", "tatoeba"}


@pytest.mark.slow
def test_the_benchmark_comes_out_as_it_is(tmp_path, monkeypatch, capsys):
    """Put the benchmark's own pairs back into chapters: all splits must come out again."""
    if not WENYAN.is_dir():
        pytest.skip(f"the corpus is not at {WENYAN}")
    import get_data

    chapters = {}
    train = pq.read_table(WENYAN / "train.parquet").to_pylist()
    for number, row in enumerate(train):
        chapters.setdefault(f"{row['book']}/卷/{number // 5000}", []).append((row["lzh"], row["zh"]))
    for split in ("dev", "test"):
        columns = (lines(WENYAN / f"{split}.{ending}") for ending in ("lzh", "zh", "book"))
        for source, target, book in zip(*columns, strict=True):
            chapters.setdefault(f"{book}/{split}", [("此亦在其章", "这句话也在同一章里。")]).append((source, target))
    to = make(get_data, "wenyan", repository(tmp_path / "clone", chapters), tmp_path / "out")
    assert "dev and test are the benchmark's, byte by byte" in capsys.readouterr().err
    for name in ("dev.lzh", "dev.zh", "dev.book", "test.lzh", "test.zh", "test.book"):
        assert (to / name).read_bytes() == (WENYAN / name).read_bytes()
    made = pq.read_table(to / "train.parquet").to_pylist()
    assert sorted(tuple(row.values()) for row in made) == sorted(tuple(row.values()) for row in train)
