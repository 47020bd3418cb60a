"""Columns of text: parquet files, and data sets of the Hugging Face hub through its `datasets` library."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.parquet import ParquetFile

from mtrain.config.schema import CorpusConfig
from mtrain.errors import CorpusError

# Source, target and group.
Row = tuple[str, str, str]

_ROWS_AT_ONCE = 10_000
_HUB_SPLITS = {"train": "train", "dev": "validation", "test": "test"}


def parquet_pairs(file: Path, corpus: CorpusConfig) -> tuple[int, Iterator[Row]]:
    """Return how many rows a parquet file has, and its pairs.

    It is read by pyarrow, as `datasets` would do, but without first copying it into a cache.
    """
    try:
        table = ParquetFile(file)
        columns = _text_columns(table.schema_arrow, corpus, str(file))
    except pa.ArrowException as error:
        raise CorpusError(f"{file}: not a whole parquet file ({_first_line(error)})") from error
    batches = table.iter_batches(_ROWS_AT_ONCE, columns=columns)
    return table.metadata.num_rows, _rows(map(_table, batches), columns, str(file))


def hub_pairs(entry: str, root: Path, split: str, corpus: CorpusConfig) -> tuple[int, Iterator[Row]]:
    """Return how many rows NAME[:CONFIG][:SPLIT] has, and its pairs; NAME may be a local folder below `root`.

    A single word after NAME is the split if it is a split's usual name, else the config. Without one dev is the hub's
    "validation". Downloads stay in the cache of `datasets`.
    """
    name, config, part = _hub_parts(entry, split)
    where = f"corpus.{split}: hub:{entry}"
    local = root / name
    try:
        data = _load(str(local) if local.is_dir() else name, config, part)
    # What can go wrong there (network, names, formats, scripts) comes as exceptions of a dozen libraries.
    except Exception as error:
        place = "" if local.is_dir() else f", and there is no folder {local} either"
        raise CorpusError(f"{where} cannot be loaded: {_first_line(error)}{place}") from error
    columns = _text_columns(data.features.arrow_schema, corpus, where)
    tops = [top for top in data.column_names if any(f"{column}.".startswith(f"{top}.") for column in columns)]
    batches = data.select_columns(tops).with_format("arrow").iter(_ROWS_AT_ONCE)
    return len(data), _rows(batches, columns, where)


def _load(name: str, config: str | None, part: str) -> Any:
    import datasets  # noqa: PLC0415  (a second to import, for the few corpora that need it)

    if not any((Path(name) / file).is_file() for file in ("dataset_dict.json", "state.json")):
        return datasets.load_dataset(name, config, split=part)
    saved = datasets.load_from_disk(name)  # what its `save_to_disk` has written
    return saved[part] if isinstance(saved, datasets.DatasetDict) else saved


def _hub_parts(entry: str, split: str) -> tuple[str, str | None, str]:
    name, *more = entry.split(":")
    usual = _HUB_SPLITS[split]
    if len(more) > 2 or not name:
        raise CorpusError(f"corpus.{split}: hub:{entry}: expects hub:NAME[:CONFIG][:SPLIT]")
    if len(more) == 1:
        return (name, None, more[0]) if more[0] in _HUB_SPLITS.values() else (name, more[0], usual)
    config, part = more or ("", usual)
    return name, config or None, part


def _text_columns(schema: pa.Schema, corpus: CorpusConfig, where: str) -> list[str]:
    """Return the names of two or three columns, `translation.zh` for a part of a column of translations."""
    flat = schema.empty_table().flatten().schema
    wanted = {
        "source": corpus.source_column or corpus.source_language,
        "target": corpus.target_column or corpus.target_language,
        "group": corpus.group_column,
    }
    return [_text_column(flat, name, where, f"corpus.{key}_column") for key, name in wanted.items() if name]


def _text_column(schema: pa.Schema, name: str, where: str, key: str) -> str:
    found = next((column for column in (name, f"translation.{name}") if column in schema.names), None)
    if found is None:
        raise CorpusError(f"{where}: no column {name} ({key}); there are: {', '.join(schema.names)}")
    kind = str(schema.field(found).type)
    if kind not in ("string", "large_string", "string_view"):
        raise CorpusError(f"{where}: column {found} ({key}) must hold text, found {kind}")
    return found


def _rows(tables: Iterable[pa.Table], columns: list[str], where: str) -> Iterator[Row]:
    try:
        for table in tables:
            flat = table.flatten()
            texts = [flat.column(column).fill_null("").to_pylist() for column in columns]
            yield from zip(*texts, *[repeat("", len(table))] * (3 - len(texts)), strict=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{where}: damaged ({_first_line(error)})") from error


def _table(batch: Any) -> pa.Table:
    return pa.Table.from_batches([batch])


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
