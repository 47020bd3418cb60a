"""`mtrain inspect`: a group of commands that look at what the others work on and make."""

from pathlib import Path
from typing import Annotated

import typer

from mtrain.cli.options import ConfigOption, DebugOption, SetOption, errors_in_one_line, settings_of

inspect = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look at prepared data, a model, or runs.")

PlotOption = Annotated[
    Path | None, typer.Option("--plot", "-p", metavar="FILE", help="Draw a picture as well: a .png or .svg file.")
]


@inspect.command()
def data(
    config: ConfigOption = "", plot: PlotOption = None, overrides: SetOption = None, debug: DebugOption = False
) -> None:
    """Look at prepared data.

    Counts, lengths, frequent pieces, rare characters, some pairs as pieces, and one batch as it goes into the model.

    \b
    Example:
      mtrain inspect data --config zh-en-small --plot data.png
    """
    with errors_in_one_line(debug):
        settings = settings_of(None, config, overrides)
        from mtrain.commands.inspect import inspect_data

        inspect_data(settings, plot)


@inspect.command()
def model(
    model: Annotated[
        Path | None, typer.Option("--model", "-m", metavar="FOLDER", help="A trained model, instead of --config.")
    ] = None,
    config: ConfigOption = "",
    plot: PlotOption = None,
    overrides: SetOption = None,
    debug: DebugOption = False,
) -> None:
    """Look at a model, trained or not.

    Its modules, shapes and parameters, what a token costs in multiplications and an update in memory.
    The picture shows how it tells positions apart, and the learning rate.

    \b
    Example:
      mtrain inspect model --config big --set model.heads=8
    """
    with errors_in_one_line(debug):
        settings = settings_of(model, config, overrides)
        from mtrain.commands.inspect import inspect_model

        inspect_model(settings, model, plot)


@inspect.command()
def attention(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A sentence to translate.")],
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Its translation.  [default: what the model makes of it]")
    ] = "",
    model: Annotated[
        Path | None, typer.Option("--model", "-m", metavar="FOLDER", help="Model to use.  [default: the run's]")
    ] = None,
    plot: PlotOption = None,
    config: ConfigOption = "",
    overrides: SetOption = None,
    debug: DebugOption = False,
) -> None:
    """Look at what a trained model looks at.

    For each piece that it writes, the source pieces that it looks at most; the picture has a map for every layer and
    head of the encoder, the decoder and the attention between them.

    \b
    Example:
      mtrain inspect attention 今天天气很好。 --plot attention.png
    """
    with errors_in_one_line(debug):
        settings = settings_of(model, config, overrides)
        from mtrain.commands.inspect import inspect_attention

        inspect_attention(settings, model, (source, target), plot)


@inspect.command()
def run(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, one or several.")],
    plot: PlotOption = None,
    debug: DebugOption = False,
) -> None:
    """Look at how training went, in one run or several.

    Losses, dev BLEU and speed as a table; the picture has learning rate and gradient norm too.

    \b
    Example:
      mtrain inspect run runs/sample runs/mine --plot runs.png
    """
    with errors_in_one_line(debug):
        from mtrain.commands.inspect import inspect_runs

        inspect_runs(runs, plot)
