"""`mtrain translate`: lines in, as many translated lines out."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from mtrain.api import LoadedModel, open_export, open_models
from mtrain.batches.augment import without_punctuation
from mtrain.batches.store import Prepared, open_prepared
from mtrain.config.schema import Config
from mtrain.console import progress_bar, warn
from mtrain.corpus.sources import Split, tags
from mtrain.decoding.glossary import read_terms
from mtrain.decoding.glossary_search import check_glossary
from mtrain.decoding.inputs import STDIN, Line, count_all, find_texts, read_all, with_prefixes
from mtrain.decoding.outputs import check_each_its_own, each_in_its_place, find_outputs
from mtrain.decoding.report import Flagged, Obeyed, output_lines, record
from mtrain.decoding.translation import Translation, pharaoh
from mtrain.decoding.translator import check_candidates
from mtrain.errors import ExportError, InputError
from mtrain.export.manifest import read_manifest
from mtrain.model.bundle import whole_origin
from mtrain.storage import replaced_when_done, sha256

# Lines that are sorted by length and translated together: memory grows with this, not with the file.
_LINES_AT_ONCE = 2000

EngineName = Literal["pytorch", "ctranslate2"]


@dataclass(frozen=True)
class Wanted:
    """What is to be written beside plain translations, and where.

    `output` is a file, or a folder for a file each; `nbest` candidates of each line (0: the best, as a plain line);
    `scores` before the text; files for alignments and for records of all that is known; a file of what each translation
    has to begin with; the tag of all lines; the engine that computes; a file of terms and their translations.
    """

    output: Path | None = None
    nbest: int = 0
    scores: bool = False
    alignment: Path | None = None
    report: Path | None = None
    prefixes: Path | None = None
    tag: str = ""
    unbuffered: bool = False
    engine: EngineName = "pytorch"
    glossary: Path | None = None


class _Asked(NamedTuple):
    """What the model is asked for, and for how many lines at once."""

    nbest: int = 1
    alignment: bool = False
    lines_at_once: int = _LINES_AT_ONCE


def translate(config: Config, given: Sequence[Path], folders: Sequence[Path], wanted: Wanted) -> None:
    """Translate files, those in folders, or stdin to the output or stdout, a line for a line.

    The output may be one of the files: it is replaced when all is done, and left as it was where something fails.
    """
    check_candidates(config.decoding, wanted.nbest)
    texts = find_texts(given) if given else [STDIN]
    outputs = find_outputs(given, texts, wanted.output)
    check_each_its_own([*outputs, wanted.report, wanted.alignment])
    lines = with_prefixes(read_all(texts), wanted.prefixes) if wanted.prefixes else read_all(texts)
    lines = (line._replace(tag=wanted.tag) for line in lines)
    model = open_wanted(config, folders, wanted)
    asked = _Asked(max(1, wanted.nbest), wanted.alignment is not None, 1 if wanted.unbuffered else _LINES_AT_ONCE)
    with ExitStack() as stack:
        alignment = stack.enter_context(replaced_when_done(wanted.alignment)) if wanted.alignment else None
        report = stack.enter_context(replaced_when_done(wanted.report)) if wanted.report else None
        translated = _translate(model, lines, count_all(texts), asked)
        in_places = each_in_its_place(translated, lambda pair: pair[0].of_text, outputs)
        for out, number, (line, translation) in in_places:
            out.write(output_lines(translation, number, wanted.nbest, wanted.scores))
            if alignment:
                alignment.write(pharaoh(translation.alignment or ()) + "\n")
            if report:
                report.write(record(translation, line.place))
            if wanted.unbuffered:
                out.flush()
    sys.stdout.flush()


def translate_split(
    config: Config, split: Split, strip_punctuation: bool = False
) -> tuple[list[str], list[str], list[str]]:
    """Return sources, translations and references of a prepared split, translated with the run's model.

    With `strip_punctuation`, sources are as they are in training where `batches.strip_punctuation` strips them.
    """
    prepared = open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)
    sources, references = prepared.lines(split, "source"), prepared.lines(split, "target")
    if not sources:
        raise InputError(f"{config.corpus.folder}: the {split} split is empty. Set corpus.{split}, or {split}_pairs.")
    if strip_punctuation:
        sources = list(map(without_punctuation, sources))
    model = open_run(config, [])
    _check_origin(config, prepared)
    all_tags = prepared.tags(split, tags(config.corpus, split))
    lines = (
        Line(text, f"{split}:{number}", tag=tag)
        for number, (text, tag) in enumerate(zip(sources, all_tags, strict=True), start=1)
    )
    translations = _translate(model, lines, len(sources), _Asked())
    return sources, [translation.text for _, translation in translations], references


def open_run(config: Config, folders: Sequence[Path], engine: EngineName = "pytorch") -> LoadedModel:
    """Return the models of these folders, or the run's own, or its export for `engine`, with the config's settings.

    Raises: ExportError where the run's model is another one by now, InputError where several are to work together.
    """
    run = Path(config.run.folder)
    if engine == "pytorch":
        return open_models(folders or [run / "model"], config.decoding, config.run.device, config.run.threads)
    if len(folders) > 1:
        raise InputError(f"--engine {engine} takes one --model: an export that works alone")
    if not folders and read_manifest(run / engine).weights != sha256(run / "model" / "model.safetensors"):
        raise ExportError(f"{run / engine}: is of another model than {run} has now. Run `mtrain export --to {engine}`")
    folder = folders[0] if folders else run / engine
    return open_export(folder, config.decoding, config.run.device, config.run.threads)


def open_wanted(config: Config, folders: Sequence[Path], wanted: Wanted) -> LoadedModel:
    """Return what `open_run` returns for the engine that is wanted, with the terms of the glossary that is.

    Raises: InputError, before a model is read, where these do not go together or the glossary cannot be used.
    """
    for option in ("alignment", "prefixes", "glossary"):
        if wanted.engine != "pytorch" and getattr(wanted, option):
            raise InputError(f"--{option} is not to be had from --engine {wanted.engine}; leave one of the two out")
    if wanted.glossary is None:
        return open_run(config, folders, wanted.engine)
    check_glossary(config.decoding)
    terms = read_terms(wanted.glossary)
    return open_run(config, folders, wanted.engine).with_glossary(terms)


def _check_origin(config: Config, prepared: Prepared) -> None:
    origin = whole_origin(Path(config.run.folder) / "model")
    if "prepared_data" in origin and origin["prepared_data"] != prepared.fingerprint:
        warn(
            f"{config.corpus.folder} has been prepared anew since {config.run.folder} was trained: the model may have "
            "learnt these very sentences, and its scores may be too good"
        )


def _translate(
    model: LoadedModel, lines: Iterator[Line], total: int | None, asked: _Asked
) -> Iterator[tuple[Line, Translation]]:
    """Yield each line with its translation, and say at the end which ones deserve a look."""
    done = 0
    flagged, obeyed = Flagged(), Obeyed()
    with progress_bar("translate", total, "line") as bar:
        for window, error in _windows(lines, asked.lines_at_once):
            translations = model.translate(
                [line.text for line in window],
                nbest=asked.nbest,
                prefixes=[line.prefix for line in window],
                tags=[line.tag for line in window],
                alignment=asked.alignment,
                progress=bar.update,
            )
            done += len(window)
            bar.update(done - bar.n)
            for line, translation in zip(window, translations, strict=True):
                flagged.note(translation, line.place)
                obeyed.note(translation, line.place)
                yield line, translation
            if error is not None:
                raise error
    flagged.tell()
    if model.glossary:
        obeyed.tell()


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
