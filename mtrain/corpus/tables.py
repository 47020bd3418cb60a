"""Columns of text: parquet files, and data sets of the Hugging Face hub through its `datasets` library."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.parquet import ParquetFile

from mtrain.config.forms import COMPRESSIONS
from mtrain.config.schema import CorpusConfig
from mtrain.errors import CorpusError

# Source, target and group.
Row = tuple[str, str, str]
# How many rows there are, where that can be known beforehand, and the rows.
Rows = tuple[int | None, Iterator[Row]]

_ROWS_AT_ONCE = 10_000
_HUB_SPLITS = {"train": "train", "dev": "validation", "test": "test"}


def wanted_columns(corpus: CorpusConfig) -> dict[str, str]:
    """Return the names of the columns to be read, by what they hold; a group only where there is one."""
    columns = {
        "source": corpus.source_column or corpus.source_language,
        "target": corpus.target_column or corpus.target_language,
        "group": corpus.group_column,
    }
    return {key: name for key, name in columns.items() if name}


def parquet_pairs(file: Path, corpus: CorpusConfig) -> Rows:
    """Return how many rows a parquet file has, and its pairs.

    It is read by pyarrow, as `datasets` would do, but without first copying it into a cache.
    """
    if file.suffix in COMPRESSIONS:
        unpacked = file.with_suffix("").name
        raise CorpusError(f"{file}: parquet is compressed inside, not in {file.suffix} too. Unpack it: {unpacked}")
    try:
        with ParquetFile(file) as table:
            columns = _text_columns(table.schema_arrow, corpus, str(file))
            return table.metadata.num_rows, _rows(_parquet_tables(file, columns), columns, str(file))
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(f"{file}: not a whole parquet file ({_first_line(error)})") from error


def _parquet_tables(file: Path, columns: list[str]) -> Iterator[pa.Table]:
    with ParquetFile(file) as table:
        # Asked for all row groups at once, Arrow keeps what it has read of the file until the last row.
        for group in range(table.num_row_groups):
            # In several threads each row costs more than three times the work.
            for batch in table.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=columns, use_threads=False):
                yield pa.Table.from_batches([batch])


def hub_pairs(entry: str, root: Path, split: str, corpus: CorpusConfig) -> Rows:
    """Return how many rows NAME[:CONFIG][:SPLIT] has, and its pairs; NAME may be a local folder below `root`.

    A single word after NAME is the split if it is a split's usual name, else the config. Without one dev is the hub's
    "validation". Downloads stay in the cache of `datasets`, or are read as they come where corpus.streaming says so.
    """
    name, config, part = _hub_parts(entry, split)
    where = f"corpus.{split}: hub:{entry}"
    local = root / name
    try:
        data = _load(str(local) if local.is_dir() else name, config, part, corpus.streaming)
    # What can go wrong there (network, names, formats, scripts) comes as exceptions of a dozen libraries.
    except Exception as error:
        place = "" if local.is_dir() else f", and there is no folder {local} either"
        raise CorpusError(f"{where} cannot be loaded: {_first_line(error)}{place}") from error
    features = data.features or data._resolve_features().features  # read from the first rows of a stream
    columns = _text_columns(features.arrow_schema, corpus, where)
    tops = [top for top in features if any(f"{column}.".startswith(f"{top}.") for column in columns)]
    batches = data.select_columns(tops).with_format("arrow").iter(_ROWS_AT_ONCE)
    return None if corpus.streaming else len(data), _rows(batches, columns, where)


def _load(name: str, config: str | None, part: str, streaming: bool) -> Any:
    import datasets  # noqa: PLC0415  (a second to import, for the few corpora that need it)

    if not any((Path(name) / file).is_file() for file in ("dataset_dict.json", "state.json")):
        return datasets.load_dataset(name, config, split=part, streaming=streaming)
    saved = datasets.load_from_disk(name)  # what its `save_to_disk` has written
    data = saved[part] if isinstance(saved, datasets.DatasetDict) else saved
    return data.to_iterable_dataset() if streaming else data


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
    return [_text_column(flat, name, where, key) for key, name in wanted_columns(corpus).items()]


def _text_column(schema: pa.Schema, name: str, where: str, key: str) -> str:
    found = next((column for column in (name, f"translation.{name}") if column in schema.names), None)
    if found is None:
        raise CorpusError(f"{where}: no column {name} (corpus.{key}_column); there are: {', '.join(schema.names)}")
    if (namesakes := schema.names.count(found)) > 1:
        raise CorpusError(f"{where}: {namesakes} columns are called {found}. Rename all but one of them")
    kind = schema.field(found).type
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    numbered = key == "group" and pa.types.is_integer(value)
    if not numbered and str(value) not in ("string", "large_string", "string_view"):
        raise CorpusError(f"{where}: column {found} (corpus.{key}_column) must hold text, found {kind}")
    return found


def _rows(tables: Iterable[pa.Table], columns: list[str], where: str) -> Iterator[Row]:
    try:
        for table in tables:
            flat = table.flatten()
            texts = [flat.column(column).cast(pa.string()).fill_null("").to_pylist() for column in columns]
            yield from zip(*texts, *[repeat("", len(table))] * (3 - len(texts)), strict=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{where}: damaged ({_first_line(error)})") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
