"""All that translating needs, in one folder that stands for itself.

    model/
        bundle.json        format version, languages, shape of the model, how it came to be, hashes of the others
        config.yaml        all settings of the run; translating obeys its decoding section
        model.safetensors  weights
        tokenizer.model    SentencePiece; or tokenizer.source.model and tokenizer.target.model
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from safetensors.torch import load_file

from mtrain.config.schema import ModelConfig
from mtrain.errors import BundleError
from mtrain.model.build import build_model
from mtrain.model.transformer import Transformer
from mtrain.model.weights import named_weights, restore_weights, save_tensors
from mtrain.storage import folder_written_whole, sha256, standing_folder
from mtrain.tokenizer import Tokenizers, load_tokenizers, save_tokenizers

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Bundle:
    """A trained model with its tokenizers and languages; `origin` says how its weights came to be."""

    model: Transformer
    tokenizers: Tokenizers
    source_language: str
    target_language: str
    model_config: ModelConfig
    origin: dict[str, str | int | float]


def save_bundle(bundle: Bundle, settings: str, folder: Path) -> None:
    """Write the folder whole, with the run's `settings` as YAML; a kill leaves the one that was there before."""
    with folder_written_whole(folder) as partial:
        (partial / "config.yaml").write_text(settings, encoding="utf-8")
        save_tensors(named_weights(bundle.model), partial / "model.safetensors")
        save_tokenizers(bundle.tokenizers, partial)
        description = {
            "format_version": FORMAT_VERSION,
            "source_language": bundle.source_language,
            "target_language": bundle.target_language,
            "vocabulary_sizes": {side: tokenizer.vocabulary_size for side, tokenizer in bundle.tokenizers.items()},
            "model": asdict(bundle.model_config),
            "origin": bundle.origin,
            "sha256": {part.name: sha256(part) for part in sorted(partial.iterdir())},
        }
        (partial / "bundle.json").write_text(json.dumps(description, indent=2, ensure_ascii=False), encoding="utf-8")


def load_bundle(folder: Path) -> Bundle:
    """Read a model folder, every part verified. Raises: BundleError naming the part that is absent or damaged."""
    folder = existing_folder(folder)
    description = _description(folder)
    _check_parts(folder, description["sha256"])
    model_config = ModelConfig(**description["model"])
    tokenizers = load_tokenizers(folder, BundleError)
    model = build_model(model_config, tokenizers["source"].vocabulary_size, tokenizers["target"].vocabulary_size)
    weights_file = folder / "model.safetensors"
    restore_weights(model, load_file(weights_file), str(weights_file), BundleError)
    return Bundle(
        model=model.eval(),
        tokenizers=tokenizers,
        source_language=description["source_language"],
        target_language=description["target_language"],
        model_config=model_config,
        origin=description["origin"],
    )


def settings_file(folder: Path) -> Path:
    """Return the YAML of the run that made the bundle. Raises: BundleError where there is none."""
    file = existing_folder(folder) / "config.yaml"
    if not file.is_file():
        raise BundleError(f"{file}: is missing; the model folder is incomplete. Copy it again.")
    return file


def whole_origin(folder: Path) -> dict[str, str | int | float]:
    """Return how the bundle came to be; empty where there is none, or not a whole one."""
    folder = standing_folder(folder)
    try:
        description = _description(folder)
        _check_parts(folder, description["sha256"])
    except BundleError:
        return {}
    return dict(description["origin"])


def existing_folder(folder: Path) -> Path:
    """Return the model folder that is meant by its own name or by its run's. Raises: BundleError for none."""
    of_run = standing_folder(folder / "model")
    standing = of_run if of_run.is_dir() else standing_folder(folder)
    if not standing.is_dir():
        raise BundleError(f"{folder}: no model here. Train one with `mtrain fit`, or name another folder with --model.")
    return standing


def _check_parts(folder: Path, hashes: dict[str, str]) -> None:
    for part, written in hashes.items():
        if not (folder / part).is_file():
            raise BundleError(f"{folder / part}: is missing; the model folder is incomplete. Copy it again.")
        if sha256(folder / part) != written:
            raise BundleError(f"{folder / part}: is damaged (cut short or changed after writing). Copy it again.")


def _description(folder: Path) -> dict:  # type: ignore[type-arg]
    file = folder / "bundle.json"
    try:
        description = json.loads(file.read_text("utf-8"))
        version = description["format_version"]
    except FileNotFoundError:
        raise BundleError(f"{file}: is missing; the model folder is incomplete. Copy it again.") from None
    except (OSError, ValueError, KeyError) as error:
        raise BundleError(f"{file}: cannot be read ({error}). Copy the model folder again.") from error
    if version != FORMAT_VERSION:
        raise BundleError(f"{file}: has format version {version}, this mtrain reads version {FORMAT_VERSION}.")
    return description  # type: ignore[no-any-return]
