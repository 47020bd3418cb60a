"""`mtrain export`: what it is asked for."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from mtrain.cli.options import ConfigOption, DebugOption, SetOption, errors_in_one_line, settings_of

TargetName = Literal["ctranslate2", "huggingface", "onnx"]
Quantization = Literal["int8", "bfloat16", "float16"]


def export(
    to: Annotated[TargetName, typer.Option("--to", help="Program, or format, to write the model for.")],
    quantization: Annotated[
        Quantization | None, typer.Option("--quantization", help="Type of the weights' numbers.  [default: fp32]")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", metavar="FOLDER", help="Model to export.  [default: the run's]")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="Where to.  [default: beside the model]")
    ] = None,
    check: Annotated[
        Path | None, typer.Option("--check", metavar="FILE", help="Lines to check it with.  [default: the dev pairs]")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option("--reference", metavar="FILE", help="Right translations of the lines of --check.")
    ] = None,
    config: ConfigOption = "",
    overrides: SetOption = None,
    debug: DebugOption = False,
) -> None:
    """Write a model for another program, and check that it translates the same there.

    100 lines are translated by both; where texts or scores differ by more than the type of numbers explains,
    nothing is written and the exit status is 1.

    \b
    Examples:
      mtrain export --to ctranslate2 --quantization int8
      mtrain export --to huggingface --model runs/sample/model --check my.zh
    """
    with errors_in_one_line(debug):
        settings = settings_of(model, config, overrides)
        from mtrain.commands.export import Wanted
        from mtrain.commands.export import export as run_export

        run_export(settings, Wanted(to, quantization or "", model, output, check, reference))
