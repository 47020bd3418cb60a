"""The command line, around `commands`: `prepare | fit | translate | bleu | score | export | inspect | diagnose`."""

import io
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from mtrain.cli.bleu import bleu
from mtrain.cli.export import export
from mtrain.cli.inspect import inspect
from mtrain.cli.options import (
    DEFAULT_CONFIG,
    ConfigOption,
    DebugOption,
    ModelsOption,
    SetOption,
    TagOption,
    errors_in_one_line,
    settings_of,
)
from mtrain.config.load import load_config
from mtrain.errors import InputError
from mtrain.version import __version__

app = typer.Typer(
    name="mtrain",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(inspect, name="inspect")
app.command()(export)


def main() -> None:
    """Run the command line, in UTF-8 whatever the terminal's locale says, also where the shell has closed a stream."""
    streams = ("stdin", "r", "strict"), ("stdout", "w", "strict"), ("stderr", "w", "backslashreplace")
    for name, mode, errors in streams:
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8", errors=errors))  # noqa: SIM115  it stays open
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors, newline="\n")
    app(prog_name="mtrain")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"mtrain {__version__}")
        raise typer.Exit


@app.callback()
def mtrain(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """From raw parallel text to a trained, scored, usable translation model.

    \b
    The four steps, here on the small corpus that comes with mtrain:
      mtrain prepare      clean and split the text, learn the vocabulary
      mtrain fit          train a Transformer
      mtrain translate    translate lines of text with it
      mtrain bleu         say how good its translations are

    Give each step the same --config NAME to work on something else.
    `mtrain inspect` shows what they work on and make, `mtrain diagnose` what is broken in it,
    `mtrain export` writes a model for other programs.
    """


@app.command()
def prepare(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be kept and dropped; change nothing.")
    ] = False,
    dropped: Annotated[
        Path | None, typer.Option("--dropped", metavar="FILE.tsv", help="Write dropped pairs: rule, source, target.")
    ] = None,
    kept: Annotated[
        Path | None, typer.Option("--kept", metavar="FILE.tsv", help="Write the pairs to train on: source, target.")
    ] = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Only say what train knows of the given dev and test; make nothing.")
    ] = False,
    config: ConfigOption = DEFAULT_CONFIG,
    overrides: SetOption = None,
    debug: DebugOption = False,
) -> None:
    """Turn raw parallel text into training data.

    Reads the corpus, cleans it and says what it dropped and why, splits off what is kept for testing,
    learns the vocabulary and writes all of it to corpus.folder.
    Done before with the same text and settings, it does nothing.

    \b
    Examples:
      mtrain prepare --config zh-en-small --set corpus.root=my/corpus
      mtrain prepare --dry-run --dropped dropped.tsv
      mtrain prepare --audit --config zh-en-small
    """
    with errors_in_one_line(debug):
        settings = load_config(config, overrides or ())
        if audit:
            if dry_run or dropped or kept:
                raise InputError("--audit reads the splits as they are: leave --dry-run, --dropped and --kept out")
            from mtrain.commands.audit import audit_splits

            audit_splits(settings)
        else:
            from mtrain.commands.prepare import prepare as run_prepare

            run_prepare(settings, dry_run, dropped, kept)


@app.command()
def fit(config: ConfigOption = DEFAULT_CONFIG, overrides: SetOption = None, debug: DebugOption = False) -> None:
    """Train a Transformer on prepared data.

    Everything it makes lies in run.folder. Interrupted, it goes on where it was when the same command is given again.

    \b
    Example:
      mtrain fit --config zh-en-small --set training.max_minutes=60
    """
    with errors_in_one_line(debug):
        settings = load_config(config, overrides or ())
        from mtrain.commands.fit import fit as run_fit

        run_fit(settings)


@app.command()
def translate(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILES", help="Text files, or folders of them; none: stdin.")
    ] = None,
    model: ModelsOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PATH", help="File or folder to write.  [default: stdout]")
    ] = None,
    nbest: Annotated[
        int, typer.Option("--nbest", min=0, metavar="K", help="K candidates a line: line number, score, text.")
    ] = 0,
    scores: Annotated[bool, typer.Option("--scores", help="Write each translation's score before it.")] = False,
    alignment: Annotated[
        Path | None, typer.Option("--alignment", metavar="FILE", help="Write which piece comes from which (Pharaoh).")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write score, flags and more of each line as JSONL.")
    ] = None,
    prefixes: Annotated[
        Path | None, typer.Option("--prefixes", metavar="FILE", help="What each translation has to begin with.")
    ] = None,
    glossary: Annotated[
        Path | None, typer.Option("--glossary", metavar="FILE", help="Terms: source, tab, how it is to be translated.")
    ] = None,
    tag: TagOption = "",
    unbuffered: Annotated[
        bool, typer.Option("--unbuffered", help="Write each line before the next one is read, as in a dialogue.")
    ] = False,
    engine: Annotated[
        Literal["pytorch", "ctranslate2"], typer.Option("--engine", help="What computes; ctranslate2 takes an export.")
    ] = "pytorch",
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Translate lines as you type them.")
    ] = False,
    config: ConfigOption = "",
    overrides: SetOption = None,
    debug: DebugOption = False,
) -> None:
    """Translate text, one line out for each line in.

    \b
    Examples:
      echo 今天天气很好。 | mtrain translate
      mtrain translate news.zh --output news.en --config zh-en-small --set decoding.beam=1
      mtrain translate chapters --output translated --glossary names.tsv
      mtrain translate --interactive
    """
    with errors_in_one_line(debug):
        settings = settings_of(model[0] if model else None, config, overrides)
        from mtrain.commands.interactive import converse
        from mtrain.commands.translate import Wanted
        from mtrain.commands.translate import translate as run_translate

        wanted = Wanted(output, nbest, scores, alignment, report, prefixes, tag, unbuffered, engine, glossary)
        (converse if interactive else run_translate)(settings, files or [], model or [], wanted)


app.command()(bleu)


@app.command()
def score(
    sources: Annotated[Path | None, typer.Argument(metavar="SRC", help="Sentences, one a line.")] = None,
    targets: Annotated[Path | None, typer.Argument(metavar="TGT", help="Their translations, one a line.")] = None,
    *,
    split: Annotated[
        str, typer.Option("--split", metavar="SPLIT", help="Without files: train, dev or test of the prepared data.")
    ] = "test",
    tag: TagOption = "",
    model: ModelsOption = None,
    config: ConfigOption = "",
    overrides: SetOption = None,
    debug: DebugOption = False,
) -> None:
    """Say how probable given translations are.

    Prints a line for each pair, with tabs between: the score that a search would report of this translation, its
    log-probability in nats, and its tokens, the end included.

    \b
    Examples:
      mtrain score test.zh test.en --config zh-en-small > scores.tsv
      mtrain score --split dev --set decoding.length_penalty=0
    """
    with errors_in_one_line(debug):
        settings = settings_of(model[0] if model else None, config, overrides)
        from mtrain.commands.score import score_files, score_split

        if sources is None and tag:
            raise InputError("--tag goes with two files; the pairs of a split have tags of their own")
        if sources is None:
            score_split(settings, split, model or [])
        elif targets is None:
            raise InputError(f"{sources}: which file holds the translations? mtrain score SRC TGT")
        else:
            score_files(settings, (sources, targets), model or [], tag)


@app.command()
def diagnose(
    model: Annotated[
        Path | None, typer.Option("--model", "-m", metavar="FOLDER", help="A run or model; none: a fresh one.")
    ] = None,
    config: ConfigOption = "",
    overrides: SetOption = None,
    debug: DebugOption = False,
) -> None:
    """Find out what is broken where a model does not learn.

    Examines a fresh model of the config, or a trained one, on the prepared data: who sees what, positions, attention,
    labels, loss, gradients, the learning rate, and whether twenty pairs can be learnt by heart.
    Prints a line a check; where something is broken, the likely cause and cure, and exits with 1.

    \b
    Examples:
      mtrain diagnose --config wenyan-small
      mtrain diagnose --model runs/wenyan-small
    """
    with errors_in_one_line(debug):
        settings = settings_of(model, config, overrides)
        from mtrain.commands.diagnose import diagnose as run_diagnose

        if not run_diagnose(settings, model):
            raise typer.Exit(1)
