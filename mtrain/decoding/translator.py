"""Text to text: normalise, cut what is too long, encode, search, decode, and put everything back in order."""

from collections.abc import Callable, Sequence

from mtrain.config.schema import DecodingConfig
from mtrain.decoding.beam import Hypothesis
from mtrain.decoding.forced import align
from mtrain.decoding.search import Search, Searching
from mtrain.decoding.split import split_text
from mtrain.decoding.translation import Candidate, Translation, flags_of, in_order
from mtrain.errors import InputError
from mtrain.languages import joins_without_space
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import Tokenizer, Tokenizers

Progress = Callable[[int], object]
Ids = list[int]


def _nobody(_: int) -> None:
    """Tell nobody."""


class Translator:
    """A model, or several with the same vocabularies, ready to translate lines of text.

    `search` finds the hypotheses, where that is not to be the search of `config`.
    """

    def __init__(
        self,
        models: Sequence[Transformer],
        tokenizers: Tokenizers,
        config: DecodingConfig,
        target_language: str,
        search: Searching | None = None,
    ) -> None:
        self._models = models
        self._search = search or Search(models, config)
        self._source, self._target = tokenizers["source"], tokenizers["target"]
        self._config = config
        self._language = target_language

    def translate(
        self,
        lines: Sequence[str],
        progress: Progress = _nobody,
        best: int = 1,
        prefixes: Sequence[str] = (),
        aligned: bool = False,
        tags: Sequence[str] = (),
    ) -> list[Translation]:
        """Return a translation a line, in order; an empty line gives an empty translation.

        `progress` is told how many more lines, or parts of long ones, are done; `best` is how many candidates of each
        are wanted; `prefixes` are what each translation has to begin with; `aligned` asks for alignments as well;
        `tags` are put before the sources, as training has put them before those of a corpus.
        """
        check_candidates(self._config, best)
        texts = [self._source.normalise(line) for line in lines]
        tag_of = [tag_ids(self._source, tag) for tag in tags] or [[] for _ in lines]
        parts_of = [self._parts(text, tag) for text, tag in zip(texts, tag_of, strict=True)]
        prefix_of = [self._target.encode(self._target.normalise(prefix)) for prefix in prefixes] or [[] for _ in lines]
        starts: list[Ids] = []
        for parts, prefix in zip(parts_of, prefix_of, strict=True):
            starts += [prefix if first == 0 else [] for first in range(len(parts))]
        sources = [ids for parts in parts_of for ids in parts]
        found = self._search(sources, starts, best, progress)
        pairs = align(self._models[0], sources, [of_part[0].tokens for of_part in found]) if aligned else []
        results, begin = [], 0
        for text, parts in zip(texts, parts_of, strict=True):
            here = slice(begin, begin + len(parts))
            alignment = _joined(pairs[here], parts, found[here]) if aligned else None
            results.append(self._translation(text, parts, found[here], alignment))
            begin += len(parts)
        return results

    def _parts(self, text: str, tag: Ids) -> list[Ids]:
        if not text:
            return []
        ids = self._source.encode(text)
        limit = self._config.max_source_tokens - len(tag)
        if len(ids) <= limit:
            return [tag + ids]
        parts = split_text(text, lambda part: len(self._source.encode(part)), limit)
        return [tag + self._source.encode(part.strip()) for part in parts if part.strip()]

    def _translation(
        self,
        text: str,
        parts: list[Ids],
        found: list[list[Hypothesis]],
        alignment: tuple[tuple[int, int], ...] | None,
    ) -> Translation:
        # The best candidates of the parts joined, then the second best of each, and so on.
        candidates = tuple(map(self._candidate, zip(*found, strict=False))) or (Candidate("", 0.0, 0.0, False, ()),)
        spelt = "".join(character for character in dict.fromkeys(text) if not self._source.has_piece(character))
        flags = flags_of(text, candidates[0], sum(map(len, parts)), len(parts), self._language)
        return Translation(
            source=text,
            candidates=candidates,
            pieces=tuple(self._source.pieces(id_ for ids in parts for id_ in ids)),
            parts=len(parts),
            spelt=spelt,
            flags=in_order(flags | ({"unknown"} if spelt else set())),
            alignment=alignment,
        )

    def _candidate(self, hypotheses: Sequence[Hypothesis]) -> Candidate:
        between = "" if joins_without_space(self._language) else " "
        return Candidate(
            between.join(self._target.decode(hypothesis.tokens) for hypothesis in hypotheses),
            sum(hypothesis.score for hypothesis in hypotheses),
            sum(hypothesis.log_probability for hypothesis in hypotheses),
            any(hypothesis.cut for hypothesis in hypotheses),
            tuple(self._target.pieces(token for hypothesis in hypotheses for token in hypothesis.tokens)),
        )


def tag_ids(tokenizer: Tokenizer, tag: str) -> Ids:
    """Return what is put before a source with this tag, nothing for an empty one.

    Raises: InputError for one that the model does not know.
    """
    known = tokenizer.tags
    if tag and tag not in known:
        there = f"it knows {', '.join(known)}" if known else "it knows none (corpus.train: tag)"
        raise InputError(f"this model has been trained without the tag {tag}; {there}")
    return [known[tag]] if tag else []


def check_candidates(config: DecodingConfig, best: int) -> None:
    """Raise: InputError where more candidates are wanted than a search ends."""
    if config.method == "beam" and best > config.beam:
        raise InputError(
            f"{best} candidates of a line are wanted (nbest), but a beam of {config.beam} ends at most {config.beam}. "
            f"Set decoding.beam={best}"
        )


def _joined(
    pairs_of: list[list[tuple[int, int]]], parts: list[Ids], found: list[list[Hypothesis]]
) -> tuple[tuple[int, int], ...]:
    """Return the alignments of the parts of one line as one, counted through."""
    joined: list[tuple[int, int]] = []
    source_begin = target_begin = 0
    for pairs, ids, hypotheses in zip(pairs_of, parts, found, strict=True):
        joined += [(source_begin + s, target_begin + t) for s, t in pairs]
        source_begin, target_begin = source_begin + len(ids), target_begin + len(hypotheses[0].tokens)
    return tuple(joined)
