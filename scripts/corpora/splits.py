"""Which pairs are dev and test: lists of hashes that come with the script; and the files that are written."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from corpora.text import Pair

from mtrain.storage import write_whole

_LISTS = Path(__file__).parent / "held_out"


def read_list(name: str) -> list[tuple[str, str]]:
    """Return the keys of a list in their order, each with the name of the part that it stands in ("# part" lines)."""
    part, keys = "", []
    for line in (_LISTS / name).read_text("utf-8").split("\n")[:-1]:
        if line.startswith("# "):
            part = line.removeprefix("# ")
        else:
            keys.append((line, part))
    return keys


def write_lines(folder: Path, name: str, languages: tuple[str, str], pairs: Iterable[Pair], origin: str = "") -> None:
    """Write pairs as aligned text files NAME.LANGUAGE; with `origin`, also where each comes from, as NAME.ORIGIN."""
    for column, ending in enumerate((*languages, origin) if origin else languages):
        write_whole(folder / f"{name}.{ending}", "".join(f"{pair[column]}\n" for pair in pairs))


def write_train(folder: Path, columns: tuple[str, str, str], pairs: list[Pair]) -> None:
    """Write `train.parquet` with the sources, the targets and their origins in these columns."""
    data = {column: pa.array([pair[number] for pair in pairs], pa.string()) for number, column in enumerate(columns)}
    partial = folder / ".train.parquet.partial"
    pq.write_table(pa.table(data), partial, compression="zstd")
    partial.replace(folder / "train.parquet")
