"""What an export says of itself, beside what its format wants: whose it is, and how it was checked."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from mtrain.errors import ExportError
from mtrain.export.check import Row

FILE = "export.json"


@dataclass(frozen=True)
class Manifest:
    """`weights` is the SHA-256 of the model's weights; `check` is what was found when it was written."""

    target: str
    quantization: str
    source_language: str
    target_language: str
    weights: str
    mtrain: str
    check: list[Row]


def write_manifest(manifest: Manifest, folder: Path) -> None:
    """Write what `read_manifest` reads."""
    text = json.dumps(asdict(manifest), indent=2, ensure_ascii=False)
    (folder / FILE).write_text(f"{text}\n", encoding="utf-8", newline="\n")


def is_export(folder: Path) -> bool:
    """Tell whether this is an exported model's folder."""
    return (folder / FILE).is_file()


def read_manifest(folder: Path) -> Manifest:
    """Return what an export says of itself. Raises: ExportError where this is none."""
    try:
        content = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return Manifest(**{**content, "check": [Row(**row) for row in content["check"]]})
    except FileNotFoundError:
        raise ExportError(f"{folder}: no exported model here. Make one with `mtrain export --to ctranslate2`") from None
    except (ValueError, TypeError, KeyError) as error:
        raise ExportError(f"{folder / FILE}: damaged. Export the model again") from error
