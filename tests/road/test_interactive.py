"""`mtrain translate --interactive`, from a pipe and from a terminal."""

import io
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mtrain.commands.interactive import converse
from mtrain.commands.translate import Wanted
from mtrain.errors import InputError

ANSWER = re.compile(r" *-\d+\.\d{3}  .*")


@pytest.fixture
def piped(monkeypatch):
    """Return what makes bytes come out of stdin."""

    def pipe(content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))

    return pipe


def test_each_line_is_answered_with_candidates_and_flags(trained, piped, capsys):
    piped("123\n\n犇4".encode())
    converse(trained, [], [], Wanted())
    lines = capsys.readouterr().out.split("\n")[:-1]
    candidates = [line for line in lines if ANSWER.fullmatch(line)]
    assert len(candidates) == 6
    for first in (0, 3):
        scores = [float(line.split()[0]) for line in candidates[first : first + 3]]
        assert scores == sorted(scores, reverse=True)
    assert lines[-1].startswith("   flags  ")
    assert "unknown" in lines[-1]
    piped(b"123\n")
    converse(trained, [], [], Wanted(nbest=1))
    assert capsys.readouterr().out.split("\n")[:-1][0] == candidates[0]


def test_what_is_for_files_and_bytes_that_are_no_text_are_refused(trained, piped, tmp_path):
    for given, wanted in (([tmp_path], Wanted()), ([], Wanted(output=tmp_path / "x")), ([], Wanted(unbuffered=True))):
        with pytest.raises(InputError, match="--interactive answers what you type"):
            converse(trained, given, [], wanted)
    piped(b"1\n\xb0\xa1\n")
    with pytest.raises(InputError, match="stdin:2: not UTF-8"):
        converse(trained, [], [], Wanted())
    piped(b"1\n")
    with pytest.raises(InputError, match=r"9 candidates .* decoding\.beam=9"):
        converse(trained, [], [], Wanted(nbest=9))


def test_on_a_terminal_there_is_a_prompt_and_ctrl_d_ends(trained):
    ours, theirs = pty.openpty()
    model = str(Path(trained.run.folder) / "model")
    process = subprocess.Popen(
        [sys.executable, "-m", "mtrain", "translate", "-i", "--model", model],
        stdin=theirs, stdout=theirs, stderr=theirs,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "dumb"},
    )  # fmt: skip
    os.close(theirs)
    killer = threading.Timer(120, process.kill)
    killer.start()
    seen = b""

    def wait_for(mark):
        nonlocal seen
        while mark not in seen:
            seen += os.read(ours, 1000)
        seen = seen.partition(mark)[2]

    wait_for(b"> ")
    os.write(ours, b"\xb0\xa1\n")
    wait_for(b"not UTF-8")
    wait_for(b"> ")
    os.write(ours, b"124\x7f3\n")  # a slip, taken back
    wait_for(b"-")
    wait_for(b"> ")
    os.write(ours, b"\x04")
    assert process.wait() == 0
    killer.cancel()
    os.close(ours)
