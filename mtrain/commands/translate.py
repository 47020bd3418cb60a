"""`mtrain translate`: lines in, as many translated lines out."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from mtrain.batches.store import Prepared, open_prepared
from mtrain.config.schema import Config
from mtrain.console import progress_bar, say, warn
from mtrain.corpus.sources import SIDES, Split, count_lines, decode_lines
from mtrain.decoding.report import Flagged, output_lines, record
from mtrain.decoding.translation import Translation, pharaoh
from mtrain.decoding.translator import Translator
from mtrain.errors import InputError
from mtrain.model.bundle import load_bundle, whole_origin
from mtrain.runtime import choose_device, set_threads

# Lines that are sorted by length and translated together: memory grows with this, not with the file.
_LINES_AT_ONCE = 2000


class Line(NamedTuple):
    """A line to translate, where it stands, and what its translation has to begin with."""

    text: str
    place: str
    prefix: str = ""


@dataclass(frozen=True)
class Wanted:
    """What is to be written beside plain translations, and where.

    `nbest` candidates of each line (0: the best, as a plain line); `scores` before the text; files for alignments and
    for records of all that is known; a file of what each translation has to begin with.
    """

    output: Path | None = None
    nbest: int = 0
    scores: bool = False
    alignment: Path | None = None
    report: Path | None = None
    prefixes: Path | None = None
    unbuffered: bool = False


def translate(config: Config, files: Sequence[Path], models: Sequence[Path], wanted: Wanted) -> None:
    """Translate `files`, one after the other, or stdin, to the output or stdout, a line for a line.

    The output may be one of `files`: it is replaced when all is done, and left as it was where something fails.
    """
    _check(config, wanted)
    translator = _load(config, models)
    with ExitStack() as stack:
        streams = [(stack.enter_context(_open(file)), str(file)) for file in files] or [(sys.stdin.buffer, "stdin")]
        out = sys.stdout if wanted.output is None else stack.enter_context(_replacing(wanted.output))
        alignment = stack.enter_context(_replacing(wanted.alignment)) if wanted.alignment else None
        report = stack.enter_context(_replacing(wanted.report)) if wanted.report else None
        lines: Iterator[Line] = chain.from_iterable(_lines(stream, name) for stream, name in streams)
        if wanted.prefixes:
            lines = _with_prefixes(lines, wanted.prefixes, stack.enter_context(_open(wanted.prefixes)))
        total = sum(map(count_lines, files)) if files and all(file.is_file() for file in files) else None
        asked = _Asked(max(1, wanted.nbest), alignment is not None, 1 if wanted.unbuffered else _LINES_AT_ONCE)
        for number, (line, translation) in enumerate(_translate(translator, lines, total, asked), start=1):
            out.write(output_lines(translation, number, wanted.nbest, wanted.scores))
            if alignment:
                alignment.write(pharaoh(translation.alignment or ()) + "\n")
            if report:
                report.write(record(translation, line.place))
            if wanted.unbuffered:
                out.flush()
        out.flush()


def _check(config: Config, wanted: Wanted) -> None:
    if config.decoding.method == "beam" and wanted.nbest > config.decoding.beam:
        raise InputError(
            f"--nbest {wanted.nbest}: a beam of {config.decoding.beam} ends at most {config.decoding.beam} candidates. "
            f"Add --set decoding.beam={wanted.nbest}"
        )


class _Asked(NamedTuple):
    """What the translator is asked for, and for how many lines at once."""

    best: int = 1
    aligned: bool = False
    lines_at_once: int = _LINES_AT_ONCE


def translate_split(config: Config, split: Split) -> tuple[list[str], list[str], list[str]]:
    """Return sources, translations and references of a prepared split, translated with the run's model."""
    prepared = open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)
    sources, references = prepared.lines(split, "source"), prepared.lines(split, "target")
    if not sources:
        raise InputError(f"{config.corpus.folder}: the {split} split is empty. Set corpus.{split}, or {split}_pairs.")
    translator = _load(config, [])
    _check_origin(config, prepared)
    lines = (Line(text, f"{split}:{number}") for number, text in enumerate(sources, start=1))
    translations = _translate(translator, lines, len(sources), _Asked())
    return sources, [translation.text for _, translation in translations], references


def _check_origin(config: Config, prepared: Prepared) -> None:
    origin = whole_origin(Path(config.run.folder) / "model")
    if "prepared_data" in origin and origin["prepared_data"] != prepared.fingerprint:
        warn(
            f"{config.corpus.folder} has been prepared anew since {config.run.folder} was trained: the model may have "
            "learnt these very sentences, and its scores may be too good"
        )


def _load(config: Config, models: Sequence[Path]) -> Translator:
    set_threads(config.run.threads)
    folders = models or [Path(config.run.folder) / "model"]
    bundles = [load_bundle(folder) for folder in folders]
    for folder, bundle in zip(folders[1:], bundles[1:], strict=True):
        pairs = [(bundle.tokenizers[side], bundles[0].tokenizers[side]) for side in SIDES]
        if any(one.all_pieces() != other.all_pieces() for one, other in pairs):
            raise InputError(f"{folder}: has another vocabulary than {folders[0]}; models that work together share one")
    device = choose_device(config.run.device)
    models_there = [bundle.model.to(device) for bundle in bundles]
    return Translator(models_there, bundles[0].tokenizers, config.decoding, bundles[0].target_language)


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


def _with_prefixes(lines: Iterator[Line], file: Path, stream: BinaryIO) -> Iterator[Line]:
    """Give each line the beginning of its translation. Raises: InputError where the file has fewer lines, or more."""
    prefixes = decode_lines(stream, str(file), InputError)
    for line, prefix in zip_longest(lines, prefixes):
        if line is None or prefix is None:
            raise InputError(f"{file}: has {'more' if line is None else 'fewer'} lines than there are to translate")
        yield line._replace(prefix=prefix)


def _translate(
    translator: Translator, lines: Iterator[Line], total: int | None, asked: _Asked
) -> Iterator[tuple[Line, Translation]]:
    """Yield each line with its translation, and say at the end which ones deserve a look."""
    done = 0
    flagged = Flagged()
    with progress_bar("translate", total, "line") as bar:
        for window, error in _windows(lines, asked.lines_at_once):
            prefixes = [line.prefix for line in window]
            translations = translator.translate(
                [line.text for line in window], bar.update, asked.best, prefixes, asked.aligned
            )
            done += len(window)
            bar.update(done - bar.n)
            for line, translation in zip(window, translations, strict=True):
                flagged.note(translation, line.place)
                yield line, translation
            if error is not None:
                raise error
    flagged.tell()


def _windows(lines: Iterator[Line], at_once: int) -> Iterator[tuple[list[Line], InputError | None]]:
    """Yield lines to be translated together; those before one that cannot be read come with its error."""
    while True:
        window: list[Line] = []
        try:
            for line in islice(lines, at_once):
                window.append(line)  # each one counts if the next one cannot be read
        except InputError as error:
            yield window, error
        if not window:
            return
        yield window, None
