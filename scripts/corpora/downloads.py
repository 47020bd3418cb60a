"""Files that others publish: fetched once, gone on with after a break, checked against what is known of them."""

import errno
import hashlib
import json
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from mtrain.console import progress_bar, say, warn
from mtrain.errors import MtrainError
from mtrain.storage import write_whole

LOCK = "get_data.lock.json"

_ATTEMPTS = 5
_SECONDS_BEFORE_THE_NEXT = 3
_SECONDS_OF_SILENCE = 60
_BLOCK_BYTES = 1 << 18
# Codes with which a server may answer differently the next time; 416: what we have is not a beginning of what it has.
_PASSING = {408, 416, 425, 429, 500, 502, 503, 504}


@dataclass(frozen=True)
class Download:
    """A file: what it is called here, where it comes from, under which licence, and its hash where one is published."""

    name: str
    url: str
    licence: str
    sha256: str = ""
    md5: str = ""

    def fault(self, file: Path) -> str:
        """Return how a file differs from the published hash, or nothing."""
        for method, published in (("sha256", self.sha256), ("md5", self.md5)):
            found = digest(file, method) if published else ""
            if found != published:
                return f"its {method} is {found}, that of the published file is {published}"
        return ""


@dataclass(frozen=True)
class Shelf:
    """The folder with the files, and whether missing ones may be fetched into it.

    What no hash is published for (a corpus that grows, an archive made on demand) is hashed when it is fetched, and
    must stay as it was then: the hashes stand in a lock file beside the files.
    """

    folder: Path
    may_fetch: bool

    def files(self, downloads: Iterable[Download]) -> dict[str, Path]:
        """Return by their names where the files lie, fetched if need be, and checked. Raises: MtrainError."""
        files = {download: self.folder / download.name for download in downloads}
        missing = [download for download, file in files.items() if not file.is_file()]
        if missing and not self.may_fetch:
            places = ", ".join(f"{download.name} (published at {download.url})" for download in missing)
            raise MtrainError(f"{self.folder} lacks {places}")
        for download, file in files.items():
            (self._fetch if download in missing else self._check)(download, file)
        return {download.name: file for download, file in files.items()}

    def _check(self, download: Download, file: Path) -> None:
        fault = download.fault(file)
        locked = self._lock().get(download.name)
        if not fault and locked and not (download.sha256 or download.md5) and digest(file) != locked:
            fault = f"it has changed since it was fetched (sha256 {locked} in {LOCK})"
        if fault:
            raise MtrainError(f"{file} is damaged: {fault}. Delete it and run this again")

    def _fetch(self, download: Download, file: Path) -> None:
        say(f"fetching {download.url}")
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        _fetch_into(partial, download.url)
        if fault := download.fault(partial):
            partial.unlink()
            raise MtrainError(f"{download.url} is not what it should be: {fault}. Nothing of it was kept")
        lock, found = self._lock(), digest(partial)
        if lock.get(download.name, found) != found:
            warn(f"{download.name} is another file than the one that was fetched before; {LOCK} now has its hash")
        write_whole(self.folder / LOCK, json.dumps(lock | {download.name: found}, indent=1) + "\n")
        partial.replace(file)

    def _lock(self) -> dict[str, str]:
        file = self.folder / LOCK
        return json.loads(file.read_text("utf-8")) if file.is_file() else {}


def digest(file: Path, method: str = "sha256") -> str:
    """Return the hash of a file's contents by SHA-256 or MD5."""
    found = hashlib.new(method, usedforsecurity=False)
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            found.update(block)
    return found.hexdigest()


def _fetch_into(partial: Path, url: str) -> None:
    for left in reversed(range(_ATTEMPTS)):
        try:
            _go_on(partial, url)
        except (OSError, HTTPException) as found:
            if isinstance(found, OSError) and found.errno == errno.ENOSPC:
                raise MtrainError(f"no room for {url} in {partial.parent}: {found.strerror}") from found
            if isinstance(found, HTTPError) and found.code == 416:
                partial.unlink(missing_ok=True)
            if not left or (isinstance(found, HTTPError) and found.code not in _PASSING):
                raise MtrainError(
                    f"{url} cannot be fetched: {found or type(found).__name__}. What has come is kept, and running "
                    "this again goes on from there; or fetch the file yourself and give its folder with --from"
                ) from found
            time.sleep(_SECONDS_BEFORE_THE_NEXT)
        else:
            _tag_of(partial).unlink(missing_ok=True)
            return


def _go_on(partial: Path, url: str) -> None:
    """Fetch what is missing: the rest, if the server still has the same file (by its ETag), else all of it."""
    request = Request(url, headers={"User-Agent": "mtrain", "Accept-Encoding": "identity"})
    tag = _tag_of(partial)
    if partial.exists() and tag.exists():
        request.add_header("Range", f"bytes={partial.stat().st_size}-")
        request.add_header("If-Range", tag.read_text("ascii"))
    with urlopen(request, timeout=_SECONDS_OF_SILENCE) as answer:
        goes_on = answer.status == 206
        done = partial.stat().st_size if goes_on else 0
        coming = answer.headers.get("Content-Length")
        total = done + int(coming) if coming else None
        if coming and int(coming) > shutil.disk_usage(partial.parent).free:
            raise OSError(errno.ENOSPC, f"{int(coming):,} bytes are to come")
        etag = answer.headers.get("ETag", "")
        if etag and not etag.startswith("W/"):
            tag.write_text(etag, "ascii")
        else:
            tag.unlink(missing_ok=True)
        with (
            partial.open("ab" if goes_on else "wb") as stream,
            progress_bar(partial.name[1:].removesuffix(".partial"), total, "B", done) as bar,
        ):
            while block := answer.read(_BLOCK_BYTES):
                stream.write(block)
                bar.update(len(block))
    if total is not None and partial.stat().st_size != total:
        raise ConnectionError(f"the connection broke after {partial.stat().st_size:,} of {total:,} bytes")


def _tag_of(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.etag")
