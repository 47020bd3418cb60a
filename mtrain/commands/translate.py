"""`mtrain translate`: lines in, as many translated lines out."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from mtrain.batches.store import open_prepared
from mtrain.config.schema import Config
from mtrain.console import progress_bar, say, warn
from mtrain.corpus.sources import Split, decode_lines
from mtrain.decoding.translator import Translation, Translator
from mtrain.errors import InputError
from mtrain.model.bundle import load_bundle, settings_file
from mtrain.runtime import choose_device, set_threads

__all__ = ["settings_file", "translate", "translate_split"]

# Lines that are sorted by length and translated together: memory grows with this, not with the file.
_LINES_AT_ONCE = 2000
_LINES_NAMED = 8


def translate(config: Config, files: Sequence[Path], model: Path | None, output: Path | None) -> None:
    """Translate `files`, one after the other, or stdin, to `output` or stdout, a line for a line."""
    translator = _load(config, model)
    with ExitStack() as stack:
        out = sys.stdout if output is None else stack.enter_context(output.open("w", encoding="utf-8", newline="\n"))
        streams = [(stack.enter_context(_open(file)), str(file)) for file in files] or [(sys.stdin.buffer, "stdin")]
        lines = chain.from_iterable(decode_lines(stream, name, InputError) for stream, name in streams)
        notes = _Notes()
        for translation in _translate_in_windows(translator, lines, total=None):
            out.write(translation.text + "\n")
            notes.take(translation)
        out.flush()
    notes.say(config.decoding.max_source_tokens)


def translate_split(config: Config, split: Split) -> tuple[list[str], list[str], list[str]]:
    """Return sources, translations and references of a prepared split, translated with the run's model."""
    prepared = open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)
    sources, references = prepared.lines(split, "source"), prepared.lines(split, "target")
    translations = list(_translate_in_windows(_load(config, None), iter(sources), len(sources)))
    notes = _Notes()
    for translation in translations:
        notes.take(translation)
    notes.say(config.decoding.max_source_tokens)
    return sources, [translation.text for translation in translations], references


def _load(config: Config, model: Path | None) -> Translator:
    set_threads(config.run.threads)
    bundle = load_bundle(model or Path(config.run.folder) / "model")
    device = choose_device(config.run.device)
    return Translator(bundle.model.to(device), bundle.tokenizer, config.decoding, bundle.target_language)


def _open(file: Path) -> BinaryIO:
    if not file.is_file():
        raise InputError(f"{file}: there is no such file to translate")
    return file.open("rb")


def _translate_in_windows(translator: Translator, lines: Iterator[str], total: int | None) -> Iterator[Translation]:
    with progress_bar("translate", total, "line") as bar:
        while window := list(islice(lines, _LINES_AT_ONCE)):
            for translation in translator.translate(window):
                yield translation
                bar.update(1)


class _Notes:
    """Lines whose translation deserves a look, gathered while they go by."""

    def __init__(self) -> None:
        self._lines = 0
        self._split: list[int] = []
        self._cut: list[int] = []

    def take(self, translation: Translation) -> None:
        """Note one more line."""
        self._lines += 1
        if translation.parts > 1:
            self._split.append(self._lines)
        if translation.cut:
            self._cut.append(self._lines)

    def say(self, max_source_tokens: int) -> None:
        """Tell how many there were, and which."""
        say(f"{self._lines:,} lines translated")
        if self._split:
            warn(f"longer than {max_source_tokens} tokens, translated in parts and joined: line {_named(self._split)}")
        if self._cut:
            warn(f"translation stopped at its longest length, probably looping: line {_named(self._cut)}")


def _named(lines: list[int]) -> str:
    more = len(lines) - _LINES_NAMED
    return ", ".join(map(str, lines[:_LINES_NAMED])) + (f" and {more} more" if more > 0 else "")
