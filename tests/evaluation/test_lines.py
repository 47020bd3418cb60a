"""Reading what is scored: as many lines as the file has, and a clear word about what cannot be read."""

import os
from pathlib import Path

import pytest

from mtrain.errors import InputError
from mtrain.evaluation.lines import read_aligned, read_to_score


def file(folder: Path, content: bytes, name: str = "hyp.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\ntwo", ["one", "two"]),
        (b"one\r\n\r\ntwo\r\n", ["one", "", "two"]),
        (b"\n\none\n\n", ["", "", "one", ""]),
        (b"\n", [""]),
        ("a\x85b\u2028c\u2029d\x0be\x0cf\x1cg\rh\n".encode(), ["a\x85b\u2028c\u2029d\x0be\x0cf\x1cg\rh"]),
    ],
)
def test_only_a_line_feed_ends_a_line(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    assert read_to_score(file(tmp_path, content)) == lines


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "hyp.txt: the file is empty"),
        (
            "好\n很好".encode() + b"\xff\n",
            "hyp.txt:2: not UTF-8 (byte 0xff at column 7): convert it, e.g. iconv -f gb18030 -t utf-8",
        ),
        (None, "hyp.txt: there is no such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        file(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read_to_score(Path("hyp.txt"))
    assert str(caught.value) == message


def test_unequal_files_are_told_with_both_counts(tmp_path: Path) -> None:
    paths = [file(tmp_path, b"a\nb\n", "hyp"), file(tmp_path, b"a\nb\n", "ref"), file(tmp_path, b"a\nb\nc\n", "src")]
    assert read_aligned(paths[:2]) == [["a", "b"], ["a", "b"]]
    with pytest.raises(InputError, match=r"hyp has 2 lines, but \S+src has 3; line N of one must belong to line N"):
        read_aligned(paths)


def test_a_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"^{tmp_path}: is a folder\. Name a file in it$"):
        read_to_score(tmp_path)


def test_a_pipe_is_read_like_a_file() -> None:
    reader, writer = os.pipe()
    os.write(writer, "好\n\n".encode())
    os.close(writer)
    assert read_to_score(Path(f"/dev/fd/{reader}")) == ["好", ""]
    os.close(reader)
