"""`mtrain score`: how probable a model finds given translations."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple

from mtrain.api import LoadedModel
from mtrain.batches.store import open_prepared
from mtrain.commands.translate import open_run
from mtrain.config.schema import Config
from mtrain.console import progress_bar, say
from mtrain.corpus.sources import SPLITS, tags
from mtrain.decoding.inputs import count_all, find_texts, read_all
from mtrain.decoding.report import Places
from mtrain.decoding.scoring import PairScore
from mtrain.errors import InputError


class Pair(NamedTuple):
    """A line of text, its translation, where both stand, and the tag of the source."""

    source: str
    target: str
    place: str
    tag: str


_PAIRS_AT_ONCE = 2000


def score_files(config: Config, files: tuple[Path, Path], folders: Sequence[Path], tag: str = "") -> None:
    """Print the scores of two files, line N of which belong together."""
    sources, targets = find_texts(files[:1]), find_texts(files[1:])
    counts = count_all(sources), count_all(targets)
    if None not in counts and counts[0] != counts[1]:
        raise InputError(
            f"{files[0]} has {counts[0]:,} lines, but {files[1]} has {counts[1]:,}: "
            "line N of one must be the translation of line N of the other"
        )

    def pairs() -> Iterator[Pair]:
        for source, target in zip_longest(read_all(sources), read_all(targets)):
            if source is None or target is None:
                shorter = files[0] if source is None else files[1]
                raise InputError(f"{shorter}: has fewer lines than the other: they must go in pairs")
            yield Pair(source.text, target.text, source.place, tag)

    _score(open_run(config, folders), pairs(), counts[0])


def score_split(config: Config, name: str, folders: Sequence[Path]) -> None:
    """Print the scores of a split of the prepared data."""
    split = next((split for split in SPLITS if split == name), None)
    if split is None:
        raise InputError(f"--split {name}: there are {', '.join(SPLITS)}")
    prepared = open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)
    sources, targets = prepared.lines(split, "source"), prepared.lines(split, "target")
    places = (f"{split}:{number}" for number in range(1, len(sources) + 1))
    pairs = map(Pair, sources, targets, places, prepared.tags(split, tags(config.corpus, split)))
    _score(open_run(config, folders), pairs, len(sources))


def _score(model: LoadedModel, pairs: Iterator[Pair], total: int | None) -> None:
    limit = model.decoding.max_source_tokens
    odd = Places(
        {
            "empty": "pairs have a side without text",
            "long": f"sources have over {limit} tokens and were scored whole, where translate would cut them in parts",
        }
    )
    count, tokens, log_probability = 0, 0, 0.0
    with progress_bar("score", total, "pair") as bar:
        while some := list(islice(pairs, _PAIRS_AT_ONCE)):
            sources, targets, _, its_tags = map(list, zip(*some, strict=True))
            scores = model.score(sources, targets, tags=its_tags, progress=bar.update)
            for pair, score in zip(some, scores, strict=True):
                print(f"{score.score:.4f}\t{score.log_probability:.4f}\t{score.tokens}")
                _note(odd, pair, score, limit)
                tokens, log_probability = tokens + score.tokens, log_probability + score.log_probability
            count += len(some)
            bar.update(count - bar.n)
    mean = log_probability / max(1, tokens)
    say(f"{count:,} pairs, {tokens:,} tokens; {mean:.4f} nats a token, a perplexity of {math.exp(-mean):.2f}")
    odd.tell()


def _note(odd: Places, pair: Pair, score: PairScore, limit: int) -> None:
    if not (pair.source.strip() and pair.target.strip()):
        odd.note("empty", pair.place)
    if score.source_tokens > limit + 1:
        odd.note("long", pair.place)
