"""Files and folders in, files and folders out: every text gets its own, whole, and none gets in another's way."""

import gzip
import lzma
import os
from pathlib import Path

import pyarrow as pa
import pytest

from mtrain.decoding.inputs import STDIN, count_all, find_texts, read_all, with_prefixes
from mtrain.decoding.outputs import check_each_its_own, each_in_its_place, find_outputs
from mtrain.errors import InputError

PACKED = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: pa.compress(content, codec="zstd", asbytes=True),
}


@pytest.fixture
def chapters(tmp_path):
    """Return a folder of texts, one of them empty, one in a folder, and one that no person sees."""
    folder = tmp_path / "chapters"
    texts = {"b.txt": "三\n", "a.txt": "一\n二", "empty.txt": "", "part 2/c.txt": "四\n", "z.txt": "", ".git/x": "no\n"}
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def test_all_files_of_a_folder_are_read_in_order_but_hidden_ones(chapters):
    texts = find_texts([chapters])
    assert [str(text.name) for text in texts] == ["a.txt", "b.txt", "empty.txt", "part 2/c.txt", "z.txt"]
    assert count_all(texts) == 4
    lines = list(read_all(texts))
    assert [line.text for line in lines] == ["一", "二", "三", "四"]
    assert lines[1].place == f"{chapters}/a.txt:2"


def test_each_text_gets_a_file_of_its_name_and_an_empty_one_stays_empty(chapters, tmp_path):
    texts = find_texts([chapters])
    outputs = find_outputs([chapters], texts, tmp_path / "out")
    for stream, number, line in each_in_its_place(read_all(texts), lambda line: line.of_text, outputs):
        stream.write(f"{number}{line.text}\n")
    written = {str(file.relative_to(tmp_path / "out")): file for file in (tmp_path / "out").rglob("*.txt")}
    assert {name: file.read_text("utf-8") for name, file in written.items()} == {
        "a.txt": "1一\n2二\n", "b.txt": "1三\n", "empty.txt": "", "part 2/c.txt": "1四\n", "z.txt": "",
    }  # fmt: skip


def test_several_files_go_into_one_file_or_into_a_folder_that_is_there(chapters, tmp_path):
    given = [chapters / "a.txt", chapters / "b.txt"]
    texts = find_texts(given)
    assert find_outputs(given, texts, None) == [None]
    assert find_outputs(given, texts, tmp_path / "all.txt") == [tmp_path / "all.txt"]
    (tmp_path / "out").mkdir()
    assert find_outputs(given, texts, tmp_path / "out") == [tmp_path / "out" / "a.txt", tmp_path / "out" / "b.txt"]


def test_what_cannot_be_is_said_with_its_cure(chapters, tmp_path):
    def outputs(given, output):
        return find_outputs(given, find_texts(given) if given else [STDIN], output)

    (tmp_path / "nothing").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("1\n", "utf-8")
    for given, output, complaint in (
        ([chapters], None, "chapters: is a folder; name one for its translations with --output"),
        ([chapters], chapters / "b.txt", "b.txt: is a file; the translations of a folder need a folder"),
        ([chapters], chapters, "chapters: is in the folder that is to be translated"),
        ([chapters], chapters / "translated", "translated: is in the folder that is to be translated"),
        ([chapters, tmp_path / "other"], tmp_path / "out", "a.txt: 2 files have this name"),
        ([], tmp_path / "other", "other: is a folder; name a file in it for the translation of stdin"),
        ([tmp_path / "nothing"], tmp_path / "out", "nothing: there is no file in this folder"),
        ([tmp_path / "absent"], None, "absent: there is no such file"),
    ):
        with pytest.raises(InputError, match=complaint):
            outputs(given, output)


def test_no_two_things_go_into_one_file(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(file)
    check_each_its_own([None, None, file, Path(os.devnull), Path(os.devnull), tmp_path / "other"])
    for _ in ("a new file", "an old one"):
        with pytest.raises(InputError, match="file: --output, --report and --alignment cannot go into the same file"):
            check_each_its_own([link, None, file])
        file.touch()


def test_where_something_fails_the_old_file_stays_and_those_before_are_whole(chapters, tmp_path, capsys):
    texts = find_texts([chapters])
    outputs = find_outputs([chapters], texts, tmp_path / "out")
    (tmp_path / "out").mkdir()
    outputs[1].write_text("yesterday's\n", "utf-8")

    def failing():
        for stream, _, line in each_in_its_place(read_all(texts), lambda line: line.of_text, outputs):
            stream.write(line.text)
            if line.text == "三":
                raise RuntimeError("enough")

    with pytest.raises(RuntimeError):
        failing()
    assert outputs[0].read_text("utf-8") == "一二"
    assert outputs[1].read_text("utf-8") == "yesterday's\n"
    assert f"{outputs[1]}.partial" in capsys.readouterr().err


@pytest.mark.parametrize(("suffix", "packed"), PACKED.items())
def test_compressed_texts_are_read_and_their_translations_have_the_plain_name(suffix, packed, tmp_path):
    folder = tmp_path / "packed"
    folder.mkdir()
    file = folder / f"a.txt{suffix}"
    file.write_bytes(packed("\ufeff一\r\n\n三".encode()))
    for given in (file, folder):
        texts = find_texts([given])
        assert texts[0].name == Path("a.txt")
        assert count_all(texts) == 3
        assert [line.text for line in read_all(texts)] == ["一", "", "三"]
        assert [line.place for line in read_all(texts)][2] == f"{file}:3"
    file.write_bytes(packed("长".encode() * 9999)[:-9])
    with pytest.raises(InputError, match=rf"a\.txt{suffix}: damaged or cut short"):
        list(read_all(texts))


def test_a_file_whose_name_is_no_utf_8_has_a_place_that_can_be_written(tmp_path):
    try:
        (tmp_path / os.fsdecode(b"\xb0\xa1.txt")).write_text("一\n", "utf-8")
    except OSError:
        pytest.skip("such a name cannot be on this system")
    (line,) = read_all(find_texts([tmp_path]))
    assert line.place.encode().endswith(b"\\udcb0\\udca1.txt:1")


def test_the_number_of_lines_in_a_pipe_is_not_known_beforehand(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert count_all(find_texts([tmp_path / "pipe"])) is None
    assert count_all([STDIN]) is None


def test_lines_and_prefixes_must_be_equally_many(chapters):
    two, one = find_texts([chapters / "a.txt"]), chapters / "b.txt"
    with pytest.raises(InputError, match=r"b\.txt: has fewer lines than"):
        list(with_prefixes(read_all(two), one))
    with pytest.raises(InputError, match=r"a\.txt: has more lines than"):
        list(with_prefixes(read_all(find_texts([one])), chapters / "a.txt"))
    (line,) = with_prefixes(read_all(find_texts([one])), one)
    assert (line.text, line.prefix) == ("三", "三")
