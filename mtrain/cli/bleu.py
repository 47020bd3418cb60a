"""`mtrain bleu`: its options, and which of its three jobs they ask for."""

from pathlib import Path
from typing import Annotated

import typer

from mtrain.cli.options import DEFAULT_CONFIG, DebugOption, SetOption, errors_in_one_line
from mtrain.config.load import load_config
from mtrain.errors import InputError


def bleu(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[HYP... REF]", help="Translations, one a line; last the right ones."),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--source", metavar="SRC", help="What was translated; scores copying it as well.")
    ] = None,
    language: Annotated[
        str, typer.Option("--language", "-l", metavar="CODE", help="Language of HYP and REF, such as zh or en.")
    ] = "",
    by: Annotated[
        str,
        typer.Option("--by", metavar="NAME_OR_FILE", help="Score by group: corpus.group_column, or a file of groups."),
    ] = "",
    strip_punctuation: Annotated[
        bool, typer.Option("--strip-punctuation", help="Translate the test split's sources without punctuation.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
    config: Annotated[
        str,
        typer.Option("--config", "-c", metavar="NAME_OR_PATH", help="As in the other commands; sets the language too."),
    ] = "",
    overrides: SetOption = None,
    debug: DebugOption = False,
) -> None:
    """Score translations with BLEU and chrF.

    Without files, translates the test split of the run and scores that;
    with two files, scores the first against the second;
    with more, compares each with the first, all against the last, and says whether the difference may be luck.

    \b
    Examples:
      mtrain bleu --config zh-en-small
      mtrain bleu my.en reference.en --source test.zh --language en
      mtrain bleu mine.en theirs.en reference.en --language en
    """
    with errors_in_one_line(debug):
        from mtrain.commands.bleu import score_files, score_run

        if not files:
            if source or language:
                raise InputError("--source and --language go with two files: mtrain bleu HYP REF --language zh")
            score_run(load_config(config or DEFAULT_CONFIG, overrides or ()), as_json, by, strip_punctuation)
        elif len(files) == 1:
            raise InputError(f"{files[0]}: which file holds the references? mtrain bleu HYP REF --language zh")
        elif strip_punctuation:
            raise InputError("--strip-punctuation translates a run's test split anew; give no files with it")
        elif by and len(files) > 2:
            raise InputError("--by tells of one file of translations; leave the others out")
        elif overrides and not config:
            raise InputError("--set changes a config, and files are scored without one; add --config")
        else:
            score_files(files, source, language, load_config(config, overrides or ()) if config else None, as_json, by)
