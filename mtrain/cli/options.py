"""What several commands share: their options, the settings these mean, and errors in one line."""

import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from mtrain.config.load import load_config
from mtrain.config.schema import Config
from mtrain.console import complain, say
from mtrain.errors import InputError, Interrupted, MtrainError

DEFAULT_CONFIG = "sample"

ConfigOption = Annotated[
    str,
    typer.Option(
        "--config",
        "-c",
        metavar="NAME_OR_PATH",
        help="Settings to use: a YAML file, or the name of one in ./configs or shipped with mtrain.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="SECTION.KEY=VALUE", help="Change one setting of the config; may be repeated."),
]
ModelsOption = Annotated[
    list[Path] | None,
    typer.Option("--model", "-m", metavar="FOLDER", help="Model to use; several: together.  [default: the run's]"),
]
TagOption = Annotated[
    str, typer.Option("--tag", metavar="NAME", help="Translate as the corpus of this tag was (corpus.train).")
]
DebugOption = Annotated[bool, typer.Option("--debug", help="On an error, show where in the program it arose.")]


@contextmanager
def errors_in_one_line(debug: bool) -> Iterator[None]:
    """Turn what a person or his machine did wrong into lines on stderr and an exit status; let our own bugs through."""
    try:
        yield
        sys.stdout.flush()
    except Interrupted as end:
        say(str(end))
        raise typer.Exit(end.exit_status) from None
    except MtrainError as error:
        _fail(str(error), debug)
    except BrokenPipeError:  # as in `mtrain translate | head`: what reads us has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _fail(f"{place}{error.strerror or error}", debug)
    except KeyboardInterrupt:
        _fail("interrupted", debug, status=130)


def _fail(text: str, debug: bool, status: int = 1) -> None:
    if debug:
        traceback.print_exc()
    for line in text.split("\n"):
        complain(line)
    raise typer.Exit(status)


def settings_of(model: Path | None, config: str, overrides: Sequence[str] | None) -> Config:
    """Return the settings that a model folder brings, so that it translates the same wherever it is copied.

    Without a model they are those of a config.
    """
    if model is None:
        return load_config(config or DEFAULT_CONFIG, overrides or ())
    if config:
        raise InputError("--model brings its own settings; leave --config out, and change some with --set")
    from mtrain.model.bundle import settings_file

    return load_config(str(settings_file(model)), overrides or ())
