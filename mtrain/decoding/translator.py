"""Text to text: normalise, cut what is too long, encode, search, decode, and put everything back in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtrain.config.schema import DecodingConfig
from mtrain.corpus.lines import normalise
from mtrain.decoding.beam import Hypothesis
from mtrain.decoding.search import Search
from mtrain.decoding.split import split_text
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import Tokenizers

Progress = Callable[[int], object]


def _nobody(_: int) -> None:
    """Tell nobody."""


# Languages written without spaces between sentences: the translated parts of a long input are joined directly.
_WRITTEN_WITHOUT_SPACES = {"zh", "lzh", "yue", "ja", "th"}


@dataclass(frozen=True)
class Candidate:
    """One way to translate a line.

    `score` is the search's (nats over the length penalty), summed over parts; `cut` says that a part reached the
    longest length allowed.
    """

    text: str
    score: float
    cut: bool


@dataclass(frozen=True)
class Translation:
    """One translated line.

    `candidates` are the best ones found, best first, as many as were asked for and found; `parts` is above 1 where
    the input was too long and translated in pieces; `spelt` are the characters of the input that have no piece in the
    vocabulary and went in as bytes.
    """

    candidates: tuple[Candidate, ...]
    parts: int
    spelt: str

    @property
    def text(self) -> str:
        """The best candidate's text."""
        return self.candidates[0].text

    @property
    def score(self) -> float:
        """The best candidate's score."""
        return self.candidates[0].score

    @property
    def cut(self) -> bool:
        """Tell whether the best candidate was."""
        return self.candidates[0].cut


class Translator:
    """A model, or several with the same vocabularies, ready to translate lines of text."""

    def __init__(
        self, models: Sequence[Transformer], tokenizers: Tokenizers, config: DecodingConfig, target_language: str
    ) -> None:
        self._search = Search(models, config)
        self._source, self._target = tokenizers["source"], tokenizers["target"]
        self._longest_source = config.max_source_tokens
        self._joint = "" if target_language.split("-", 1)[0] in _WRITTEN_WITHOUT_SPACES else " "

    def translate(
        self, lines: Sequence[str], progress: Progress = _nobody, best: int = 1, prefixes: Sequence[str] = ()
    ) -> list[Translation]:
        """Return a translation a line, in order; an empty line gives an empty translation.

        `progress` is told how many more lines, or parts of long ones, are done; `best` is how many candidates of each
        are wanted; `prefixes` are what each translation has to begin with.
        """
        pieces_of = [self._pieces(line) for line in lines]
        prefix_of = [self._target.encode(normalise(prefix)) for prefix in prefixes] or [[] for _ in lines]
        starts = [
            prefix if first else []
            for pieces, prefix in zip(pieces_of, prefix_of, strict=True)
            for first in [True, *[False] * (len(pieces) - 1)][: len(pieces)]
        ]
        sources = [ids for pieces in pieces_of for ids in pieces]
        found = iter(self._search(sources, starts, best, progress))
        return [
            Translation(self._join([next(found) for _ in pieces]), len(pieces), self._spelt(line))
            for line, pieces in zip(lines, pieces_of, strict=True)
        ]

    def _pieces(self, line: str) -> list[list[int]]:
        text = normalise(line)
        if not text:
            return []
        ids = self._source.encode(text)
        if len(ids) <= self._longest_source:
            return [ids]
        parts = split_text(text, lambda part: len(self._source.encode(part)), self._longest_source)
        return [self._source.encode(part.strip()) for part in parts if part.strip()]

    def _spelt(self, line: str) -> str:
        return "".join(c for c in dict.fromkeys(normalise(line)) if not self._source.has_piece(c))

    def _join(self, parts: list[list[Hypothesis]]) -> tuple[Candidate, ...]:
        """Return the best candidates of the parts joined, then the second best of each, and so on."""
        return tuple(
            Candidate(
                self._joint.join(self._target.decode(hypothesis.tokens) for hypothesis in hypotheses),
                sum(hypothesis.score for hypothesis in hypotheses),
                any(hypothesis.cut for hypothesis in hypotheses),
            )
            for hypotheses in zip(*parts, strict=False)
        ) or (Candidate("", 0.0, cut=False),)
