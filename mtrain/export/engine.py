"""CTranslate2 in place of mtrain's own search: the same lines in and translations out, by the engine's arithmetic."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from mtrain.config.schema import DecodingConfig
from mtrain.decoding.beam import Hypothesis
from mtrain.decoding.length import length_penalty, longest_translation
from mtrain.errors import ExportError, InputError
from mtrain.export.ctranslate2 import TARGET
from mtrain.export.manifest import read_manifest
from mtrain.export.target import POSITIONS, check_installed
from mtrain.tokenizer import Tokenizers

Ids = Sequence[int]

_TOKENS_AT_ONCE = 2048
# The engine knows one limit for all lines that it is given together. Rounded up to multiples of this, lines of like
# length share theirs, and none depends on what other lines there are.
_LIMITS_STEP = 64


class Engine:
    """An export for CTranslate2, loaded.

    Raises: ExportError where the folder holds none, or the package is not installed.
    """

    def __init__(self, folder: Path, tokenizers: Tokenizers, device: str, threads: int) -> None:
        check_installed("ctranslate2", TARGET.packages)
        found = read_manifest(folder).target
        if found != "ctranslate2":
            raise ExportError(f"{folder}: is exported to {found}, and the engine is CTranslate2")
        from ctranslate2 import Translator  # noqa: PLC0415  optional

        # As in mtrain's own search, batches side by side are faster than each by all threads.
        workers = threads if device == "cpu" else 1
        self.translator = Translator(str(folder), device=device, inter_threads=workers, intra_threads=1)
        self.source_pieces = tokenizers["source"].all_pieces()
        self.target_ids = {piece: id_ for id_, piece in enumerate(tokenizers["target"].all_pieces())}

    def search(self, config: DecodingConfig) -> "EngineSearch":
        """Return the search that the settings describe. Raises: InputError where the engine has no such search."""
        return EngineSearch(self, config)


class EngineSearch:
    """Finds hypotheses by beam search, each with mtrain's score.

    The engine's length penalty is mtrain's `average`; what its beam has ended is ranked again here, for gnmt.
    Where min_length or no_repeat_ngram forbids a piece, the engine gives its probability to the others: such a
    translation's score is higher than mtrain's own.
    """

    def __init__(self, engine: Engine, config: DecodingConfig) -> None:
        _refuse(config)
        self._engine = engine
        self._config = config
        penalty = length_penalty(config.length_normalization, config.length_penalty)
        self._penalties = penalty(torch.arange(POSITIONS + _LIMITS_STEP)).tolist()
        # With none at all the engine would end the search at the first translation.
        self._exponent = max(config.length_penalty, 1e-6)

    def __call__(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids], best: int, progress: Callable[[int], object]
    ) -> list[list[Hypothesis]]:
        """Return up to `best` hypotheses of each source, best first."""
        if any(prefixes):
            raise InputError("--engine ctranslate2 gives what a translation begins with no score; leave prefixes out")
        config, lengths = self._config, torch.tensor([len(ids) + 1 for ids in sources])
        longest_B = longest_translation(lengths, config.max_length_factor, config.max_length_extra)
        rounded_B = (longest_B / _LIMITS_STEP).ceil().long() * _LIMITS_STEP
        limits = sorted(set(rounded_B.tolist()), reverse=True)
        groups = {most: (rounded_B == most).nonzero()[:, 0].tolist() for most in limits}
        asked = {most: self._ask([sources[i] for i in some], most) for most, some in groups.items()}
        found: dict[int, list[Hypothesis]] = {}
        for most, some in groups.items():
            for i, answer in zip(some, asked[most], strict=True):
                found[i] = self._ranked(answer.result(), most, best)
            progress(len(some))
        return [found[i] for i in range(len(sources))]

    def _ask(self, sources: Sequence[Ids], longest: int) -> list[Any]:
        """Return the engine's answers to come: pieces, and log-probabilities over length to the exponent."""
        config, pieces = self._config, self._engine.source_pieces
        answers: list[Any] = self._engine.translator.translate_batch(
            [[pieces[id_] for id_ in ids] for ids in sources],
            beam_size=config.beam,
            num_hypotheses=config.beam,
            length_penalty=self._exponent,
            min_decoding_length=max(0, min(config.min_length, longest) - 1),
            max_decoding_length=longest - 1,
            max_input_length=0,  # its default cuts long sources in silence
            no_repeat_ngram_size=config.no_repeat_ngram,
            max_batch_size=_TOKENS_AT_ONCE,
            batch_type="tokens",
            return_scores=True,
            asynchronous=True,
        )
        return answers

    def _ranked(self, result: Any, longest: int, best: int) -> list[Hypothesis]:
        found = []
        for pieces, score in zip(result.hypotheses, result.scores, strict=True):
            cut = len(pieces) + 1 >= longest
            length = len(pieces) + (not cut)
            log_probability = score * length**self._exponent
            found.append((log_probability / self._penalties[length], log_probability, cut, pieces))
        found.sort(key=lambda one: -one[0])
        ids = self._engine.target_ids
        return [
            Hypothesis([ids[piece] for piece in pieces], score, log_probability, cut)
            for score, log_probability, cut, pieces in found[:best]
        ]


def _refuse(config: DecodingConfig) -> None:
    """Raise InputError for a setting that the engine has not got, or has otherwise."""
    missing = {
        "method": config.method != "beam",
        "coverage_penalty": config.coverage_penalty != 0,
        "min_length_factor": config.min_length_factor != 0,
        "repetition_penalty": config.repetition_penalty != 1,
    }
    for name, asked in missing.items():
        if asked:
            raise InputError(
                f"decoding.{name}: {getattr(config, name)}: CTranslate2 has not got it as mtrain has. "
                "Leave it at its default, or --engine out"
            )
    translation = int(config.max_source_tokens * config.max_length_factor) + config.max_length_extra
    for what, longest in (("sources", config.max_source_tokens + 1), ("translations", translation)):
        if longest > POSITIONS:
            raise InputError(
                f"decoding.max_source_tokens: {config.max_source_tokens}: the export has no place for {what} of up "
                f"to {longest} tokens, only of {POSITIONS}. Lower it, or leave --engine out"
            )
