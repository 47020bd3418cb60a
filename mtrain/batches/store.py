"""Prepared data on disk: token ids, memory-mapped, and a manifest that says what they are.

    train.source.txt  train.target.txt     the pairs that are trained on; dev and test as they were read
    train.groups.txt                       what each pair belongs to, where the corpus says it
    train.corpora                          the number of each pair's corpus, where there are several (uint8)
    train.source.ids                       all token ids of a side, one after the other (uint16, or uint32 if need be)
    train.source.ends.npy                  where each example ends in them (int64)
    tokenizer.model                        SentencePiece; or tokenizer.source.model and tokenizer.target.model
    report.txt                             what `mtrain prepare` had to say
    manifest.json                          settings, inputs, report in figures, sizes and hashes of the others

Ids are without begin and end of sentence, which `collate` adds.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mtrain.batches.id_files import TokenIds, ends_file, ids_file
from mtrain.batches.settings import SEED, Settings, changed_settings, in_short, prepare_settings
from mtrain.config.schema import CorpusConfig, TokenizerConfig
from mtrain.console import progress
from mtrain.corpus.inputs import Input
from mtrain.corpus.pair_files import corpora_file, groups_file, text_file
from mtrain.corpus.sources import SIDES, SPLITS, Side, Split
from mtrain.corpus.text_files import read_lines
from mtrain.errors import PreparedDataError
from mtrain.storage import sha256, standing_folder
from mtrain.tokenizer import TOKENIZER_NAMES, Tokenizers, load_tokenizers

FORMAT_VERSION = 2
REPORT = "report.txt"
_MANIFEST = "manifest.json"
CURE = "Run `mtrain prepare` with the same --config and --set first."


class Examples:
    """The examples of one split, read from the disk as they are asked for."""

    def __init__(self, folder: Path, split: Split) -> None:
        # As plain arrays: a number out of NumPy's own class of mapped ones costs many times as much.
        self._ends = {side: np.asarray(np.load(ends_file(folder, split, side), mmap_mode="r")) for side in SIDES}
        self._ids = {side: _map_ids(ids_file(folder, split, side), self._ends[side]) for side in SIDES}
        self.source_lengths, self.target_lengths = (_lengths(self._ends[side]) for side in SIDES)

    def __len__(self) -> int:
        return len(self.source_lengths)

    def source(self, index: int) -> TokenIds:
        """Return the source ids of an example, a view of the file."""
        return self._example("source", index)

    def target(self, index: int) -> TokenIds:
        """Return the target ids of an example, a view of the file."""
        return self._example("target", index)

    def lengths(self, side: Side) -> NDArray[np.int32]:
        """Return the tokens of each example on one side."""
        return self.source_lengths if side == "source" else self.target_lengths

    def token_counts(self, side: Side, vocabulary_size: int) -> NDArray[np.int64]:
        """Return how often each piece of the vocabulary occurs on one side."""
        counts = np.zeros(vocabulary_size, dtype=np.int64)
        for ids in self.blocks(side):
            counts += np.bincount(ids, minlength=vocabulary_size)
        return counts

    def blocks(self, side: Side) -> Iterator[TokenIds]:
        """Give all token ids of one side, without regard to examples, a block that fits the memory at a time."""
        ids = self._ids[side]
        yield from (ids[start : start + (1 << 20)] for start in range(0, len(ids), 1 << 20))

    def _example(self, side: Side, index: int) -> TokenIds:
        ends = self._ends[side]
        return self._ids[side][ends[index - 1] if index else 0 : ends[index]]


class Lines:
    """The lines of a text file, found by where they start and read from the disk as they are asked for."""

    def __init__(self, file: Path) -> None:
        self._bytes = _map(file, np.uint8)
        blocks = range(0, len(self._bytes), 1 << 20)
        ends = (start + np.flatnonzero(self._bytes[start : start + (1 << 20)] == ord("\n")) for start in blocks)
        self._starts = np.concatenate((np.zeros(1, dtype=np.int64), *(block + 1 for block in ends)))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, index: int) -> str:
        return self._bytes[self._starts[index] : self._starts[index + 1] - 1].tobytes().decode("utf-8")


@dataclass(frozen=True)
class Manifest:
    """What prepared data are and were made from; `files` holds [size in bytes, SHA-256] of each."""

    format_version: int
    source_language: str
    target_language: str
    pairs: dict[Split, int]
    settings: Settings
    inputs: list[Input]
    report: dict[str, Any]
    files: dict[str, tuple[int, str]]


class Prepared:
    """A prepared folder in which each file is there and as it was written."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest

    @property
    def fingerprint(self) -> str:
        """A hash of all that training can see."""
        unseen = {REPORT, *(groups_file(self.folder, split).name for split in SPLITS)}
        hashes = {name: digest for name, (_, digest) in self.manifest.files.items() if name not in unseen}
        return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()

    def examples(self, split: Split) -> Examples:
        """Return the token ids of a split."""
        return Examples(self.folder, split)

    def tokenizers(self) -> Tokenizers:
        """Return what the token ids were made with."""
        return load_tokenizers(self.folder)

    def lines(self, split: Split, side: Side) -> list[str]:
        """Return the text of a split; given dev and test are as they were, so that references are the true ones."""
        return list(read_lines(text_file(self.folder, split, side)))

    def groups(self, split: Split) -> list[str]:
        """Return what each pair of a split belongs to; empty where the corpus does not say it."""
        file = groups_file(self.folder, split)
        return list(read_lines(file)) if file.name in self.manifest.files else []

    def corpora(self, split: Split) -> NDArray[np.uint8]:
        """Return the number of the corpus that each pair of a split is from."""
        file = corpora_file(self.folder, split)
        if file.name in self.manifest.files:
            return np.fromfile(file, dtype=np.uint8)
        return np.zeros(self.manifest.pairs[split], dtype=np.uint8)

    def tags(self, split: Split, of_corpora: Sequence[str]) -> list[str]:
        """Return the tag of each pair of a split, given those of its corpora."""
        return [of_corpora[number] for number in self.corpora(split)]

    def text(self, split: Split, side: Side) -> Lines:
        """Return the same text for reading a line here and there of a file that is too large to be held."""
        return Lines(text_file(self.folder, split, side))


def write_manifest(folder: Path, prepared_with: Settings, inputs: list[Input], figures: dict[str, Any]) -> None:
    """Write the manifest of all that lies in `folder`; last of all, because it says that the rest is there.

    `figures` are the `pairs` of each split and the `report`.
    """
    made = sorted(folder.iterdir())
    all_made = progress(made, "hash what was made", len(made), "file")
    files = {file.name: (file.stat().st_size, sha256(file)) for file in all_made}
    manifest = Manifest(
        FORMAT_VERSION,
        prepared_with["corpus.source_language"],
        prepared_with["corpus.target_language"],
        settings=prepared_with,
        inputs=inputs,
        files=files,
        **figures,
    )
    text = json.dumps(asdict(manifest), ensure_ascii=False, indent=1)
    (folder / _MANIFEST).write_text(text + "\n", encoding="utf-8", newline="\n")


def open_prepared(folder: Path, corpus: CorpusConfig, tokenizer: TokenizerConfig) -> Prepared:
    """Return the prepared data of a folder.

    Raises: PreparedDataError where they are absent, damaged, or made with other settings than these.
    """
    prepared = read_prepared(folder)
    # The seed, which only `prepare` knows of, is no part of what is asked for here.
    old = {key: value for key, value in prepared.manifest.settings.items() if key != SEED}
    changes = changed_settings(old, prepare_settings(corpus, tokenizer))
    if changes:
        raise PreparedDataError(f"{folder}: prepared with other settings: {in_short(changes)}. {CURE}")
    return prepared


def read_prepared(folder: Path) -> Prepared:
    """Return the prepared data of a folder, whatever their settings, after reading all to see that it is as written.

    Raises: PreparedDataError.
    """
    folder = standing_folder(folder)
    file = folder / _MANIFEST
    if not file.is_file():
        raise PreparedDataError(f"{folder}: not prepared yet. {CURE}")
    try:
        content = json.loads(file.read_bytes())
        if content["format_version"] != FORMAT_VERSION:
            raise PreparedDataError(
                f"{folder}: prepared data of format {content['format_version']}, but this mtrain reads format "
                f"{FORMAT_VERSION}. {CURE}"
            )
        manifest = Manifest(**{**content, "inputs": [Input(**one) for one in content["inputs"]]})
    except (ValueError, TypeError, KeyError) as error:
        raise PreparedDataError(f"{file}: damaged, not a manifest of prepared data. {CURE}") from error
    for name, (size, _) in manifest.files.items():
        found = (folder / name).stat().st_size if (folder / name).is_file() else None
        if found != size:
            damage = "missing" if found is None else f"damaged, {found:,} bytes instead of {size:,}"
            raise PreparedDataError(f"{folder / name}: {damage}. {CURE}")
    _check_contents(folder, manifest)
    return Prepared(folder, manifest)


def _check_contents(folder: Path, manifest: Manifest) -> None:
    """Compare the hashes of all files, at a gigabyte a second: a flipped bit is better named now than trained on."""
    total = sum(size for size, _ in manifest.files.values())
    label = f"check {folder}"
    for name, (_, digest) in progress(manifest.files.items(), label, total, "byte", lambda entry: entry[1][0]):
        if name != REPORT and sha256(folder / name) != digest:
            raise PreparedDataError(f"{folder / name}: damaged, its contents are not those that were written. {CURE}")


def prepared_names() -> set[str]:
    """Return the names of all files that a prepared folder can hold."""
    each = (maker(Path(), split, side) for maker in _PER_SIDE for split in SPLITS for side in SIDES)
    perhaps = (maker(Path(), split) for maker in (groups_file, corpora_file) for split in SPLITS)
    return {_MANIFEST, REPORT, *TOKENIZER_NAMES, *(file.name for file in (*each, *perhaps))}


_PER_SIDE = (text_file, ids_file, ends_file)


def _lengths(ends: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.diff(ends, prepend=0).astype(np.int32)


def _map_ids(file: Path, ends: NDArray[np.int64]) -> TokenIds:
    """Map the ids; the size of their file tells which of the two types they have."""
    count = int(ends[-1]) if len(ends) else 0
    return _map(file, np.uint16 if file.stat().st_size == 2 * count else np.uint32)


def _map(file: Path, dtype: DTypeLike) -> TokenIds:
    # An empty file cannot be mapped: a split may have no pairs (corpus.test_pairs: 0).
    return np.memmap(file, dtype=dtype, mode="r") if file.stat().st_size else np.zeros(0, dtype=dtype)
