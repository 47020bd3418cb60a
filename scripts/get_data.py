"""Fetch public corpora and make the folders that the shipped configs expect of them.

python scripts/get_data.py wenyan | zh-en | test-sets [--to DIR] [--from DIR]

What is fetched stays in data/downloads; what is there is not fetched again. data/README.md tells of sources and splits.
"""

import argparse
import sys
from pathlib import Path

from corpora import test_sets, wenyan, zh_en
from corpora.downloads import Shelf

from mtrain.console import complain, say
from mtrain.errors import MtrainError

DATA = Path(__file__).parent.parent / "data"
CORPORA = {"wenyan": wenyan, "zh-en": zh_en, "test-sets": test_sets}


def main() -> None:
    parser = argparse.ArgumentParser(description="Fetch public corpora and make data/NAME of them.")
    parser.add_argument("name", choices=CORPORA)
    parser.add_argument("--to", type=Path, metavar="DIR", help="the folder to write, instead of data/NAME")
    parser.add_argument(
        "--from", type=Path, metavar="DIR", dest="source",
        help="take the downloads (for wenyan also a clone of the repository) from here, and fetch nothing",
    )  # fmt: skip
    asked = parser.parse_args()
    shelf = Shelf(asked.source or DATA / "downloads", may_fetch=asked.source is None)
    to = asked.to or DATA / asked.name
    try:
        make(asked.name, shelf, to)
    except MtrainError as error:
        complain(str(error))
        sys.exit(1)
    except OSError as error:
        complain(f"{error.filename or to}: {error.strerror or error}")
        sys.exit(1)
    except KeyboardInterrupt:
        complain("interrupted; what has been fetched is kept")
        sys.exit(130)


def make(name: str, shelf: Shelf, to: Path) -> None:
    """Write one corpus, after saying whose it is. Raises: MtrainError, OSError."""
    if not shelf.may_fetch and not shelf.folder.is_dir():
        raise MtrainError(f"--from {shelf.folder}: there is no such folder")
    corpus = CORPORA[name]
    for licence in dict.fromkeys(download.licence for download in corpus.DOWNLOADS):
        say(licence)
    corpus.build(shelf, to)
    say(f"written: {to}")


if __name__ == "__main__":
    main()
