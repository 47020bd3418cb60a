"""What the name of an input says: the form of what it holds, and whether that is compressed."""

from pathlib import PurePath

HUB = "hub:"
# Files that hold pairs by themselves; all others are one side of a text.
TABLES = (".tsv", ".csv", ".jsonl", ".parquet", ".tmx")
COMPRESSIONS = (".gz", ".xz", ".zst")


def uncompressed(name: str) -> str:
    """Return the name without the suffix of a compression."""
    path = PurePath(name)
    return str(path.with_suffix("")) if path.suffix in COMPRESSIONS else name


def holds_pairs(name: str) -> bool:
    """Tell whether this is a table, or a data set of the hub."""
    return name.startswith(HUB) or uncompressed(name).endswith(TABLES)
