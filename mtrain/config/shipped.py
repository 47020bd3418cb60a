"""Where configs and shipped data lie: in the current folder first, then with the package."""

from difflib import get_close_matches
from pathlib import Path

from mtrain.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped_folder() -> Path:
    """Return the folder that holds the shipped `configs/` and `data/`: of the wheel, or of the source checkout."""
    in_wheel = _PACKAGE / "shipped"
    return in_wheel if in_wheel.is_dir() else _PACKAGE.parent


def find_data(root: str) -> Path:
    """Return `root` where it exists from the current folder, else the shipped folder of that name, else `root`."""
    here = Path(root).expanduser()
    shipped = shipped_folder() / here
    return shipped if shipped.exists() and not here.exists() else here


def find_config(name_or_path: str, beside: Path = Path()) -> Path:
    """Return the YAML file meant by a path (from `beside`) or by a name, with or without `.yaml`.

    Raises: ConfigError, which lists the names there are.
    """
    path = beside / Path(name_or_path).expanduser()
    if path.is_file():
        return path
    folders = (Path("configs"), shipped_folder() / "configs")
    for candidate in (folder / name for folder in folders for name in (name_or_path, f"{name_or_path}.yaml")):
        if candidate.is_file():
            return candidate
    names = sorted({file.stem for folder in folders for file in folder.glob("*.yaml")})
    near = get_close_matches(Path(name_or_path).stem, names, n=1)
    cure = f"Did you mean {near[0]}? " if near else ""
    raise ConfigError(f"there is no config {name_or_path}. {cure}Give a YAML file's path, or one of {', '.join(names)}")
