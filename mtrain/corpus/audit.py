"""What a training set knows of the dev and test sets that somebody has given it: read as they are, without cleaning."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from mtrain.config.schema import CorpusConfig
from mtrain.console import progress
from mtrain.corpus.held_out import Index, Leak
from mtrain.corpus.letters import Letters, count_short, letters, sentence_key
from mtrain.corpus.sources import SIDES, SPLITS, Block, Pair, Pairs, Side, Split, entries, read_corpora
from mtrain.errors import CorpusError

Kind = Literal["pair", "source", "target", "near_source", "near_target"]
KINDS: tuple[Kind, ...] = ("pair", "source", "target", "near_source", "near_target")
_EXACT: dict[Side, Kind] = {"source": "source", "target": "target"}
_NEAR: dict[Side, Kind] = {"source": "near_source", "target": "near_target"}
_EXAMPLES = 3


@dataclass
class Leaked:
    """One kind of leak: how many training pairs have it, which lines of the split they know, and examples."""

    train: int = 0
    lines: set[int] = field(default_factory=set)
    examples: list[Leak] = field(default_factory=list)


@dataclass
class SplitAudit:
    """What training knows of one split.

    `train` pairs have a leak of any kind; what is nearly one of the `short` sentences is not looked for. Of the split's
    `groups` some are `known` to training, with `known_pairs` of its pairs.
    """

    pairs: int
    leaked: dict[Kind, Leaked]
    short: int
    train: int = 0
    groups: int = 0
    known_groups: int = 0
    known_pairs: int = 0

    @property
    def lines(self) -> set[int]:
        """Return the lines of the split that training knows in any way."""
        return set().union(*(leaked.lines for leaked in self.leaked.values()))


@dataclass
class Audit:
    """What training pairs, `train` in all, know of each given split."""

    train: int
    splits: dict[Split, SplitAudit]


def audit(corpus: CorpusConfig) -> Audit:
    """Read the given splits and look for each sentence of dev and test on both sides of train. Raises: CorpusError."""
    given = [split for split in SPLITS if split != "train" and entries(corpus, split)]
    if not given:
        raise CorpusError("corpus.dev and corpus.test are empty: there are no given splits to audit. Name their files")
    # Where training may keep what is nearly held out, it should all the more be known how much that is.
    overlap = corpus.near_overlap or CorpusConfig.near_overlap
    watches = {split: _Watch(list(chain.from_iterable(read_corpora(corpus, split))), overlap) for split in given}
    corpora = read_corpora(corpus, "train")
    groups: set[str] = set()
    for block in chain.from_iterable(map(_read, corpora)):
        groups.update(block.groups)
        texts: dict[Side, list[str]] = {"source": block.sources, "target": block.targets}
        read = {side: letters(texts[side]) for side in SIDES}
        for watch in watches.values():
            watch.look(texts, read)
    return Audit(sum(pairs.read for pairs in corpora), {split: watch.found(groups) for split, watch in watches.items()})


def _read(pairs: Pairs) -> Iterator[Block]:
    label = f"look for dev and test in {pairs.name}"
    return progress(pairs.blocks(), label, pairs.total, "pair", lambda block: block.size)


class _Watch:
    """One split, looked for in the training pairs."""

    def __init__(self, pairs: Sequence[Pair], least_overlap: float) -> None:
        self._pairs = pairs
        self._indexes = {side: Index([getattr(pair, side) for pair in pairs], least_overlap) for side in SIDES}
        by_key: dict[Side, dict[str, list[int]]] = {side: defaultdict(list) for side in SIDES}
        self._both: dict[tuple[str, str], list[int]] = defaultdict(list)
        for line, pair in enumerate(pairs):
            keys = sentence_key(pair.source), sentence_key(pair.target)
            for side, key in zip(SIDES, keys, strict=True):
                by_key[side][key].append(line)
            self._both[keys].append(line)
        # By the sentences that the index gives, of which there can be a great many matches.
        self._lines = {
            side: {text: by_key[side][key] for key, text in self._indexes[side].texts.items()} for side in SIDES
        }
        short = count_short(chain.from_iterable(pair[:2] for pair in pairs))
        self._audit = SplitAudit(len(pairs), {kind: Leaked() for kind in KINDS}, short)

    def look(self, texts: dict[Side, list[str]], read: dict[Side, Letters]) -> None:
        """Note what these training pairs know; a sentence of the split counts on whichever side it stands."""
        rows: dict[Kind, set[int]] = {kind: set() for kind in KINDS}
        for side in SIDES:
            for asked in SIDES:
                for match in self._indexes[side].matches(texts[asked], read[asked]):
                    kind = (_EXACT if match.exact else _NEAR)[side]
                    rows[kind].add(match.row)
                    leak = Leak(texts[asked][match.row], match.held_out, match.overlap, match.exact)
                    self._note(kind, self._lines[side][match.held_out], leak)
        for row in rows["source"] & rows["target"]:
            source, target = (texts[side][row] for side in SIDES)
            keys = sentence_key(source), sentence_key(target)
            lines = self._both.get(keys) or self._both.get(keys[::-1])
            if lines:
                rows["pair"].add(row)
                self._note("pair", lines, Leak(source, self._pairs[lines[0]].source, 1.0, True))
        for kind in KINDS:
            self._audit.leaked[kind].train += len(rows[kind])
        self._audit.train += len(set().union(*rows.values()))

    def _note(self, kind: Kind, lines: Iterable[int], leak: Leak) -> None:
        leaked = self._audit.leaked[kind]
        leaked.lines.update(lines)
        if len(leaked.examples) < _EXAMPLES:
            leaked.examples.append(leak)

    def found(self, groups: set[str]) -> SplitAudit:
        """Return what was found, where training has these groups."""
        ours = [pair.group for pair in self._pairs if pair.group]
        self._audit.groups, self._audit.known_groups = len(set(ours)), len(set(ours) & groups)
        self._audit.known_pairs = sum(group in groups for group in ours)
        return self._audit
