"""A kill at any moment leaves the old thing or the new one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mtrain.errors import BusyError
from mtrain.storage import folder_written_whole, held_alone, replaced_when_done, sha256, standing_folder, write_whole


def write(folder, text):
    with folder_written_whole(folder) as partial:
        (partial / "file").write_text(text)


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    folder = tmp_path / "deep" / "folder"
    write(folder, "old")
    (folder / "stale").write_text("")
    write(folder, "new")
    assert (folder / "file").read_text() == "new"
    assert [path.name for path in folder.parent.iterdir()] == ["folder"]
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_a_failure_while_writing_leaves_the_old_folder(tmp_path):
    folder = tmp_path / "folder"
    write(folder, "old")
    with pytest.raises(RuntimeError), folder_written_whole(folder) as partial:  # noqa: PT012
        (partial / "file").write_text("half")
        raise RuntimeError
    assert (folder / "file").read_text() == "old"
    assert list(tmp_path.iterdir()) == [folder]


def test_what_a_kill_left_half_written_is_in_nobodys_way(tmp_path):
    folder = tmp_path / "folder"
    partial = tmp_path / ".folder.mtrain-partial"
    partial.mkdir()
    (partial / "rubbish").write_text("")
    write(folder, "new")
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_a_kill_between_the_two_renames_is_mended(tmp_path):
    folder = tmp_path / "folder"
    write(folder, "old")
    folder.rename(tmp_path / ".folder.mtrain-old")
    assert (standing_folder(folder) / "file").read_text() == "old"
    with pytest.raises(RuntimeError), folder_written_whole(folder):
        raise RuntimeError
    assert standing_folder(folder) == folder
    assert (folder / "file").read_text() == "old"


def test_a_persons_own_copies_are_left_alone(tmp_path):
    for name in ("folder.old", "folder.partial"):
        (tmp_path / name).mkdir()
    write(tmp_path / "folder", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "folder.old", "folder.partial"]


def test_only_one_process_works_on_a_folder(tmp_path):
    folder = tmp_path / "run"
    other = "import sys, time; from pathlib import Path; from mtrain.storage import held_alone\n"
    other += "with held_alone(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", other, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(BusyError, match="another mtrain"), held_alone(folder):
            pass
        process.kill()
    with held_alone(folder):
        pass


def test_a_file_is_replaced_as_a_whole(tmp_path):
    file = tmp_path / "new" / "file"
    write_whole(file, "一\n")
    write_whole(file, "二\n")
    assert file.read_bytes() == "二\n".encode()
    assert list(file.parent.iterdir()) == [file]


def test_links_and_open_files_stay_what_they_are(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to("file")
    for text in ("into a new file", "into an old one"):
        with replaced_when_done(link) as stream:
            stream.write(text)
        assert link.readlink() == Path("file")
        assert file.read_text() == text
    with (tmp_path / "open").open("w") as redirected:
        with replaced_when_done(Path(f"/proc/self/fd/{redirected.fileno()}")) as stream:
            stream.write("into an open one")
        assert os.fstat(redirected.fileno()).st_nlink == 1
    assert (tmp_path / "open").read_text() == "into an open one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "open"]


def test_sha256_is_that_of_the_contents(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    assert sha256(file) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
