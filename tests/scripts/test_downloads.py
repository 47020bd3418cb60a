"""Fetching: broken connections are gone on from, hashes are checked, and every failure is one clear line."""

import hashlib
import json
import threading
from collections import namedtuple
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mtrain.errors import MtrainError

CONTENT = bytes(range(256)) * 400


class Server(BaseHTTPRequestHandler):
    """Serves CONTENT; `breaks` holds after how many bytes the next answers break off."""

    breaks: list[int] = []  # noqa: RUF012  set anew by each test
    ranges: list[str | None] = []  # noqa: RUF012
    etag = '"one"'
    content = CONTENT

    def do_GET(self):
        self.ranges.append(self.headers.get("Range"))
        if self.path != "/file":
            self.send_error(404)
            return
        start = 0
        if self.headers.get("Range") and self.headers.get("If-Range") == self.etag:
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(self.content) - start))
        self.send_header("ETag", self.etag)
        self.end_headers()
        self.wfile.write(self.content[start:][: self.breaks.pop(0) if self.breaks else None])

    def log_message(self, *_):
        pass


@contextmanager
def serving(**settings):
    handler = type("Handler", (Server,), {"breaks": [], "ranges": [], **settings})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield handler, f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def downloads(monkeypatch):
    from corpora import downloads

    monkeypatch.setattr(downloads, "_SECONDS_BEFORE_THE_NEXT", 0)
    return downloads


def fetch(downloads, folder, url, **known):
    download = downloads.Download("file", url, "free", **known)
    return downloads.Shelf(folder, may_fetch=True).files([download])["file"]


def test_a_file_is_fetched_once_and_its_hash_recorded(downloads, tmp_path):
    with serving() as (server, url):
        for _ in range(2):
            assert fetch(downloads, tmp_path, f"{url}/file").read_bytes() == CONTENT
    assert len(server.ranges) == 1
    assert json.loads((tmp_path / downloads.LOCK).read_text()) == {"file": hashlib.sha256(CONTENT).hexdigest()}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["file", downloads.LOCK])


def test_a_broken_connection_is_gone_on_from(downloads, tmp_path):
    with serving(breaks=[1000, 500]) as (server, url):
        assert fetch(downloads, tmp_path, f"{url}/file").read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=1000-", "bytes=1500-"]


def test_a_later_run_goes_on_where_one_gave_up(downloads, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "_ATTEMPTS", 1)
    with serving(breaks=[1000]) as (server, url):
        with pytest.raises(MtrainError, match=r"/file cannot be fetched: the connection broke after 1,000 of 102,400"):
            fetch(downloads, tmp_path, f"{url}/file")
        assert not (tmp_path / "file").exists()
        assert fetch(downloads, tmp_path, f"{url}/file").read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=1000-"]


def test_a_file_that_has_changed_meanwhile_is_fetched_from_its_beginning(downloads, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "_ATTEMPTS", 1)
    with serving(breaks=[1000]) as (server, url):
        with pytest.raises(MtrainError):
            fetch(downloads, tmp_path, f"{url}/file")
        server.etag, server.content = '"two"', CONTENT[::-1]
        assert fetch(downloads, tmp_path, f"{url}/file").read_bytes() == CONTENT[::-1]


def test_what_is_not_there_is_not_asked_for_again(downloads, tmp_path):
    with serving() as (server, url), pytest.raises(MtrainError, match=r"/gone cannot be fetched: HTTP Error 404"):
        fetch(downloads, tmp_path, f"{url}/gone")
    assert len(server.ranges) == 1


def test_a_server_that_does_not_answer_is_one_clear_line(downloads, tmp_path):
    with pytest.raises(MtrainError, match=r"^http://127\.0\.0\.1:9/file cannot be fetched: .*refused.* --from$"):
        fetch(downloads, tmp_path, "http://127.0.0.1:9/file")


@pytest.mark.parametrize("method", ["sha256", "md5"])
def test_a_published_hash_is_checked(downloads, tmp_path, method):
    right, wrong = hashlib.new(method, CONTENT).hexdigest(), hashlib.new(method, b"").hexdigest()
    with serving() as (_, url):
        with pytest.raises(MtrainError, match=f"its {method} is {right}, that of the published file is {wrong}"):
            fetch(downloads, tmp_path, f"{url}/file", **{method: wrong})
        assert list(tmp_path.iterdir()) == []
        file = fetch(downloads, tmp_path, f"{url}/file", **{method: right})
        file.write_bytes(b"damaged")
        with pytest.raises(MtrainError, match=r"file is damaged: .* Delete it and run this again"):
            fetch(downloads, tmp_path, f"{url}/file", **{method: right})


def test_a_file_without_a_published_hash_must_stay_as_it_was_fetched(downloads, tmp_path):
    with serving() as (_, url):
        fetch(downloads, tmp_path, f"{url}/file").write_bytes(CONTENT[:-1])
        with pytest.raises(MtrainError, match="is damaged: it has changed since it was fetched"):
            fetch(downloads, tmp_path, f"{url}/file")


def test_another_file_at_the_same_place_is_told(downloads, tmp_path, capsys):
    with serving() as (server, url):
        fetch(downloads, tmp_path, f"{url}/file").unlink()
        server.content = CONTENT[::-1]
        fetch(downloads, tmp_path, f"{url}/file")
    assert "warning: file is another file than the one that was fetched before" in capsys.readouterr().err


def test_too_small_a_disk_is_seen_before_the_file_comes(downloads, tmp_path, monkeypatch):
    usage = namedtuple("Usage", "free")
    monkeypatch.setattr(downloads.shutil, "disk_usage", lambda _: usage(5))
    complaint = r"no room for .*/file in .*: 102,400 bytes are to come"
    with serving() as (_, url), pytest.raises(MtrainError, match=complaint):
        fetch(downloads, tmp_path, f"{url}/file")


def test_without_fetching_all_that_is_missing_is_named(downloads, tmp_path):
    wanted = [downloads.Download(name, f"http://place/{name}", "free") for name in ("a", "b", "c")]
    (tmp_path / "b").write_bytes(b"")
    with pytest.raises(MtrainError, match=r"lacks a \(published at http://place/a\), c \(published at http://place/c\)$"):
        downloads.Shelf(tmp_path, may_fetch=False).files(wanted)
