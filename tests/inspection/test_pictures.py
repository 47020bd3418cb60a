"""Pictures: where they can be drawn, and that Chinese is not lost in them unsaid."""

from pathlib import Path

import pytest

from mtrain.errors import InspectionError
from mtrain.inspection import pictures
from mtrain.inspection.pictures import check_picture, chinese_font, picture


def test_only_two_kinds_of_file_can_be_drawn(tmp_path):
    with pytest.raises(InspectionError, match=r"--plot a\.jpg: ends in neither \.png nor \.svg\. Give it one"):
        check_picture(Path("a.jpg"))
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InspectionError, match=r"folder\.png: is a folder"):
        check_picture(tmp_path / "folder.png")


def test_without_matplotlib_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(pictures, "find_spec", lambda name: None)
    with pytest.raises(InspectionError, match=r'^--plot needs Matplotlib.* Run pip install "mtrain\[plot\]"$'):
        check_picture(Path("a.png"))


def draw(file, text):
    pytest.importorskip("matplotlib", reason="Matplotlib, an optional package, is not installed")
    check_picture(file)
    with picture(file, 2, 2) as figure:
        figure.text(0.5, 0.5, text)


@pytest.mark.parametrize(("name", "start"), [("deep/a.png", b"\x89PNG"), ("a.SVG", b"<?xml")])
def test_both_kinds_are_written(tmp_path, name, start):
    draw(tmp_path / name, "$ → $")
    assert (tmp_path / name).read_bytes().startswith(start)


def test_chinese_is_drawn_where_there_is_a_font_for_it(tmp_path, told):
    pytest.importorskip("matplotlib", reason="Matplotlib, an optional package, is not installed")
    if chinese_font() is None:
        pytest.skip("no font with Chinese characters is installed")
    draw(tmp_path / "a.png", "天地玄黄，宇宙洪荒")
    assert told() == ""


def test_where_there_is_none_one_line_says_so(tmp_path, told, monkeypatch):
    monkeypatch.setattr(pictures, "_CHINESE_FONTS", ())
    draw(tmp_path / "a.png", "loss")
    assert told() == ""
    draw(tmp_path / "a.png", "天地天")
    said = told()
    assert said.startswith("warning: no font with Chinese characters was found, 2 of them are boxes. Install one")
    assert said.count("\n") == 1
