"""Where configs and shipped data lie: in the current folder first, then with the package."""

import os
from difflib import get_close_matches
from pathlib import Path

from mtrain.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped_folder() -> Path:
    """Return the folder that holds the shipped `configs/` and `data/`: of the wheel, or of the source checkout."""
    in_wheel = _PACKAGE / "shipped"
    return in_wheel if in_wheel.is_dir() else _PACKAGE.parent


def expand_home(path: str) -> str:
    """Return the path with the folder that its leading ~ or ~user means; as it is where there is no such user."""
    return os.path.expanduser(path)  # noqa: PTH111  (Path.expanduser turns "" into "." and raises a RuntimeError)


def find_data(root: str) -> Path:
    """Return `root` where it exists from the current folder, else the shipped folder of that name, else `root`."""
    here = Path(root)
    shipped = shipped_folder() / here
    return shipped if shipped.exists() and not here.exists() else here


def find_config(name_or_path: str, extended_by: Path | None = None) -> Path:
    """Return the YAML file meant by a path, or by the name of one in a folder of configs, with or without `.yaml`.

    A path is one from the folder of the file that is `extended_by` it, which does not mean itself if another has its
    name. A bare name, such as `big`, is never a path: a folder of that name may well lie here.
    Raises: ConfigError, which lists the names there are.
    """
    path = (extended_by.parent if extended_by else Path()) / expand_home(name_or_path)
    is_name = Path(name_or_path).name == name_or_path
    is_path = bool(path.suffix) or not is_name
    folders = (Path("configs"), shipped_folder() / "configs")
    named = [folder / name for folder in folders for name in (name_or_path, f"{name_or_path}.yaml")]
    candidates = ([path] if is_path else []) + (named if is_name else [])
    found = [file for file in candidates if file.exists() and not file.is_dir()]
    if found:
        others = [file for file in found if extended_by is None or file.resolve() != extended_by.resolve()]
        return (others or found)[0]
    if is_path and path.is_dir():
        raise ConfigError(f"{path}: is a folder. Name a YAML file in it")
    names = sorted({file.stem for folder in folders for file in folder.glob("*.yaml")})
    near = get_close_matches(Path(name_or_path).stem, names, n=1)
    cure = f"Did you mean {near[0]}? " if near else ""
    raise ConfigError(f"there is no config {name_or_path}. {cure}Give a YAML file's path, or one of {', '.join(names)}")
