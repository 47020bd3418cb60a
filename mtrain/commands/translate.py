"""`mtrain translate`: lines in, as many translated lines out."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from mtrain.batches.store import Prepared, open_prepared
from mtrain.config.schema import Config
from mtrain.console import progress_bar, say, warn
from mtrain.corpus.sources import Split, count_lines, decode_lines
from mtrain.decoding.translator import Translation, Translator
from mtrain.errors import InputError
from mtrain.model.bundle import load_bundle, whole_origin
from mtrain.runtime import choose_device, set_threads

# Lines that are sorted by length and translated together: memory grows with this, not with the file.
_LINES_AT_ONCE = 2000
_PLACES_NAMED = 8


class Line(NamedTuple):
    """A line to translate, and where it stands."""

    text: str
    place: str


def translate(config: Config, files: Sequence[Path], model: Path | None, output: Path | None) -> None:
    """Translate `files`, one after the other, or stdin, to `output` or stdout, a line for a line.

    `output` may be one of `files`: it is replaced when all is done, and left as it was where something fails.
    """
    translator = _load(config, model)
    with ExitStack() as stack:
        streams = [(stack.enter_context(_open(file)), str(file)) for file in files] or [(sys.stdin.buffer, "stdin")]
        out = sys.stdout if output is None else stack.enter_context(_replacing(output))
        lines = chain.from_iterable(_lines(stream, name) for stream, name in streams)
        total = sum(map(count_lines, files)) if files and all(file.is_file() for file in files) else None
        for translation in _translate(translator, lines, total, config.decoding.max_source_tokens):
            out.write(translation.text + "\n")
        out.flush()


def translate_split(config: Config, split: Split) -> tuple[list[str], list[str], list[str]]:
    """Return sources, translations and references of a prepared split, translated with the run's model."""
    prepared = open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)
    sources, references = prepared.lines(split, "source"), prepared.lines(split, "target")
    if not sources:
        raise InputError(f"{config.corpus.folder}: the {split} split is empty. Set corpus.{split}, or {split}_pairs.")
    translator = _load(config, None)
    _check_origin(config, prepared)
    lines = (Line(text, f"{split}:{number}") for number, text in enumerate(sources, start=1))
    translations = _translate(translator, lines, len(sources), config.decoding.max_source_tokens)
    return sources, [translation.text for translation in translations], references


def _check_origin(config: Config, prepared: Prepared) -> None:
    origin = whole_origin(Path(config.run.folder) / "model")
    if "prepared_data" in origin and origin["prepared_data"] != prepared.fingerprint:
        warn(
            f"{config.corpus.folder} has been prepared anew since {config.run.folder} was trained: the model may have "
            "learnt these very sentences, and its scores may be too good"
        )


def _load(config: Config, model: Path | None) -> Translator:
    set_threads(config.run.threads)
    bundle = load_bundle(model or Path(config.run.folder) / "model")
    device = choose_device(config.run.device)
    return Translator([bundle.model.to(device)], bundle.tokenizers, config.decoding, bundle.target_language)


def _open(file: Path) -> BinaryIO:
    if not file.exists():
        raise InputError(f"{file}: there is no such file to translate")
    if file.is_dir():
        raise InputError(f"{file}: is a folder; name the files in it to translate")
    return file.open("rb")


@contextmanager
def _replacing(output: Path) -> Iterator[TextIO]:
    """Give a stream into a file beside `output`, whose place it takes when all is done."""
    if output.exists() and not output.is_file():  # a pipe or a device is no file to replace
        with output.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    partial = output.with_name(output.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
    except BaseException:
        say(f"what was translated until then is in {partial}")
        raise
    partial.replace(output)


def _lines(stream: BinaryIO, name: str) -> Iterator[Line]:
    for number, text in enumerate(decode_lines(stream, name, InputError), start=1):
        yield Line(text, f"{name}:{number}")


def _translate(
    translator: Translator, lines: Iterator[Line], total: int | None, max_source_tokens: int
) -> Iterator[Translation]:
    """Yield a translation a line, and say at the end which ones deserve a look."""
    done = 0
    parts, cut, spelt = _Places(), _Places(), _Places()
    with progress_bar("translate", total, "line") as bar:
        for window, error in _windows(lines):
            translations = translator.translate([line.text for line in window], bar.update)
            done += len(window)
            bar.update(done - bar.n)
            for line, translation in zip(window, translations, strict=True):
                parts.note(line.place, translation.parts > 1)
                cut.note(line.place, translation.cut)
                spelt.note(f"{line.place} ({translation.spelt})", bool(translation.spelt))
                yield translation
            if error is not None:
                raise error
    say(f"{done:,} lines translated")
    if parts:
        warn(f"{parts} longer than {max_source_tokens} tokens, translated in parts and joined: {parts.named()}")
    if cut:
        warn(f"{cut} stopped at the longest length allowed, probably looping: {cut.named()}")
    if spelt:
        say(f"{spelt} with characters that are not in the vocabulary and were spelt in bytes: {spelt.named()}")


def _windows(lines: Iterator[Line]) -> Iterator[tuple[list[Line], InputError | None]]:
    """Yield lines to be translated together; those before one that cannot be read come with its error."""
    while True:
        window: list[Line] = []
        try:
            for line in islice(lines, _LINES_AT_ONCE):
                window.append(line)  # each one counts if the next one cannot be read
        except InputError as error:
            yield window, error
        if not window:
            return
        yield window, None


class _Places:
    """Lines that have something in common."""

    def __init__(self) -> None:
        self._count = 0
        self._named: list[str] = []

    def note(self, place: str, applies: bool) -> None:
        """Count a line in if it `applies`."""
        self._count += applies
        if applies and len(self._named) < _PLACES_NAMED:
            self._named.append(place)

    def __bool__(self) -> bool:
        return self._count > 0

    def __str__(self) -> str:
        return "1 line" if self._count == 1 else f"{self._count:,} lines"

    def named(self) -> str:
        """Return where they stand, the first few of them."""
        more = self._count - len(self._named)
        return ", ".join(self._named) + (f" and {more:,} more" if more else "")
