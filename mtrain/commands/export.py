"""`mtrain export`: a trained model in, a folder for another program out, checked line by line."""

from importlib import import_module
from pathlib import Path
from shutil import copyfile
from typing import Literal, NamedTuple

from mtrain import __version__
from mtrain.api import with_own_penalty
from mtrain.batches.store import read_prepared
from mtrain.config.schema import Config
from mtrain.console import say
from mtrain.corpus.sources import SIDES
from mtrain.errors import ExportError, InputError, PreparedDataError
from mtrain.evaluation.lines import read_aligned
from mtrain.export.check import Pairs, compare, judge, render, spread
from mtrain.export.manifest import Manifest, is_export, write_manifest
from mtrain.export.target import POSITIONS, Target, check_installed
from mtrain.model.bundle import existing_folder, load_bundle, settings_file
from mtrain.runtime import set_threads
from mtrain.storage import folder_written_whole, held_alone, sha256

TargetName = Literal["ctranslate2", "huggingface", "onnx"]


class Wanted(NamedTuple):
    """What to export and where, and the files of lines to check it with in place of the run's own dev pairs."""

    target: TargetName
    quantization: str = ""
    model: Path | None = None
    output: Path | None = None
    check: Path | None = None
    reference: Path | None = None


def export(config: Config, wanted: Wanted) -> Path:
    """Write the export and return its folder; print how its translations compare with mtrain's.

    Raises: ExportError where the format has no place for the model, or where the export translates otherwise; then
    nothing is left behind.
    """
    set_threads(config.run.threads)
    target = _target(wanted)
    model_folder = existing_folder(wanted.model or Path(config.run.folder)).resolve()
    bundle = load_bundle(model_folder)
    target.refuse(bundle)
    longest = min(config.decoding.max_source_tokens, POSITIONS - 1)
    pairs = spread(_pairs(config, wanted), bundle, longest)
    if not pairs.sources:
        raise ExportError("no line to check the export with: all are empty or longer than decoding.max_source_tokens")
    name = "-".join(filter(None, (wanted.target, wanted.quantization)))
    folder = wanted.output.resolve() if wanted.output else model_folder.with_name(name)
    _check_free(folder)
    decoding = with_own_penalty(config.decoding, model_folder)
    with held_alone(folder), folder_written_whole(folder) as partial:
        target.write(bundle, decoding, wanted.quantization, partial)
        copyfile(settings_file(model_folder), partial / "config.yaml")
        say(f"translating {len(pairs.sources)} lines with mtrain and with {target.title}")
        rows = compare(bundle, target.open(partial, bundle), pairs, decoding)
        print(render(target.title, rows), flush=True)
        judge(target.title, rows, wanted.quantization)
        languages = bundle.source_language, bundle.target_language
        weights = sha256(model_folder / "model.safetensors")
        write_manifest(Manifest(wanted.target, wanted.quantization, *languages, weights, __version__, rows), partial)
    say(f"{folder}: ready for {target.title}")
    return folder


def _target(wanted: Wanted) -> Target:
    """Return the format, whose packages are there and which has numbers of the type that is wanted."""
    target: Target = import_module(f"mtrain.export.{wanted.target}").TARGET
    check_installed(wanted.target, target.packages)
    if wanted.quantization not in ("", *target.quantizations):
        known = ", ".join(target.quantizations)
        raise ExportError(f"--quantization {wanted.quantization}: {target.title} is written in fp32 or in {known}")
    return target


def _pairs(config: Config, wanted: Wanted) -> Pairs:
    """Return the lines that are named, or else the run's dev pairs."""
    if wanted.check is not None:
        files = [wanted.check] if wanted.reference is None else [wanted.check, wanted.reference]
        return Pairs(*[*read_aligned(files), []][:2])
    if wanted.reference is not None:
        raise InputError("--reference goes with --check, whose lines it translates")
    try:
        prepared = read_prepared(Path(config.corpus.folder))
    except PreparedDataError as error:
        raise ExportError(
            f"the export is checked on dev pairs, but {error.args[0].rstrip('.')}; or name lines with --check FILE"
        ) from error
    return Pairs(*(prepared.lines("dev", side) for side in SIDES))


def _check_free(folder: Path) -> None:
    """Raise InputError where the export would take the place of something else."""
    if folder.exists() and not (folder.is_dir() and (is_export(folder) or not any(folder.iterdir()))):
        raise InputError(f"{folder}: is there already and no export of mtrain's. Name another with --output")
