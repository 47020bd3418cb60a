"""`mtrain translate --interactive`: a prompt that translates each line as it is typed."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from mtrain.commands.translate import Wanted, open_wanted
from mtrain.config.schema import Config
from mtrain.console import say
from mtrain.decoding.inputs import STDIN, read_all
from mtrain.decoding.report import answer
from mtrain.errors import InputError

_PROMPT = "> "
_CANDIDATES = 3


def converse(config: Config, given: Sequence[Path], folders: Sequence[Path], wanted: Wanted) -> None:
    """Answer each line from the terminal, or from a pipe, with its best candidates, until there are no more."""
    allowed = Wanted(nbest=wanted.nbest, tag=wanted.tag, engine=wanted.engine, glossary=wanted.glossary)
    if given or wanted != allowed:
        raise InputError("--interactive answers what you type; it takes --nbest, --tag, --engine and --glossary only")
    model = open_wanted(config, folders, wanted)
    nbest = wanted.nbest or min(_CANDIDATES, config.decoding.beam)
    say(f"{model.source_language} to {model.target_language}; Ctrl-D ends")
    for line in _typed():
        if line.strip():
            (translation,) = model.translate([line], nbest=nbest, tags=[wanted.tag], alignment=False)
            print(answer(translation), flush=True)


def _typed() -> Iterator[str]:
    """Give what is typed, with a prompt and, where the system has them, editing and history; or the lines of a pipe."""
    if not sys.stdin.isatty():
        yield from (line.text for line in read_all([STDIN]))
        return
    with contextlib.suppress(ImportError):  # Windows has none
        import readline  # noqa: F401  `input` edits with it, once it is there
    with contextlib.suppress(EOFError):
        while True:
            try:
                line = input(_PROMPT)
            except UnicodeDecodeError:
                say("not UTF-8: type it once more")
                continue
            yield line
    say()
