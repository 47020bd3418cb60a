"""Which files an entry of the config means: names, globs and folders; and which of them are aligned."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from mtrain.config.forms import HUB, TABLES, holds_pairs, uncompressed
from mtrain.config.schema import CorpusConfig
from mtrain.config.shipped import expand_home, find_data
from mtrain.errors import CorpusError
from mtrain.languages import primary

# Aligned text files (two, or three with the groups), one table, or one data set of the hub by its name after "hub:".
Item = tuple[Path, ...] | str

_WILD = re.compile(r"[*?[]")
# zh, zh-CN and zh_Hant, but of train.zh-en.zh only the last.
_LANGUAGE_AT_END = re.compile(r"(?P<stem>.*?)[-._]?(?P<code>(?<![A-Za-z])[A-Za-z]{2,3}(?:[-_][A-Z][A-Za-z]{1,7})*)")


def find_items(corpus: CorpusConfig, names: Sequence[str], key: str) -> list[Item]:
    """Return what `names`, the value of the setting `key`, stand for, in an order that depends on names alone.

    Raises: CorpusError where something is missing, or not paired.
    """
    if any(map(holds_pairs, names)):
        return [item for name in names for item in _tables(corpus, name, key)]
    found = [_expand(corpus, name, key) for name in names]
    tables = [file for files in found for file in files if holds_pairs(file.name)]
    if tables and all(holds_pairs(file.name) for files in found for file in files):
        return [(file,) for file in tables]
    if len(names) == 1:
        texts = [file for file in found[0] if not holds_pairs(file.name)]
        return [*((file,) for file in tables), *_by_language(corpus, names[0], texts, key)]
    if tables:
        text = f"{tables[0].name} holds pairs by itself. Give it an entry of its own"
        raise CorpusError(f"{key}: {', '.join(names)}: {text}")
    if all(len(files) == 1 for files in found):
        return [tuple(files[0] for files in found)]
    return _by_name(corpus, found, names, key)


def hub_folder(corpus: CorpusConfig, item: str) -> Path:
    """Return where a data set of the hub lies if it is a local one."""
    return find_data(corpus.root) / item.partition(":")[0]


def _tables(corpus: CorpusConfig, name: str, key: str) -> list[Item]:
    if name.startswith(HUB):
        return [name.removeprefix(HUB)]
    return [(file,) for file in _expand(corpus, name, key)]


def _expand(corpus: CorpusConfig, name: str, key: str) -> list[Path]:
    """Return the file of that name, or all files in a folder, or all that a glob means."""
    root = find_data(corpus.root)
    path = root / expand_home(name)
    if path.is_file():
        return [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        if not files:
            raise CorpusError(f"{key}: the folder {path} holds no files. Name another, or put your corpus there")
        return files
    if _WILD.search(name):
        start = Path(path.anchor) if Path(expand_home(name)).is_absolute() else root
        found = start.glob(str(path.relative_to(start)))
        files = sorted(file for file in found if file.is_file() and not file.name.startswith("."))
        if not files:
            raise CorpusError(f"{key}: no file matches {name} in {root.absolute()} (corpus.root). Check it with ls")
        return files
    raise _missing(root, name, path, key)


def _missing(root: Path, name: str, path: Path, key: str) -> CorpusError:
    if not root.is_dir():
        return CorpusError(f"corpus.root: there is no folder {root.absolute()} (to look for {key}: {name} in)")
    there = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    near = get_close_matches(path.name, there, n=3)
    cure = f"Did you mean {' or '.join(near)}?" if near else "Set corpus.root to the folder of your corpus."
    return CorpusError(f"{key}: there is no file {name} in {root.absolute()} (corpus.root). {cure}")


def _by_language(corpus: CorpusConfig, name: str, files: list[Path], key: str) -> list[Item]:
    """Pair texts whose names differ in the language at their end: `a.zh.gz` and `a.en.gz`, `zh.txt` and `en.txt`."""
    languages = (corpus.source_language, corpus.target_language)
    sides: list[dict[str, Path]] = [{}, {}]
    for file in files:
        stem, side = _without_language(corpus, file)
        if side is not None:
            _put(sides[side], stem, file, key)
    if not any(sides):
        raise CorpusError(
            f"{key}: {name} is no parallel text by itself. Give two aligned text files, {', '.join(TABLES)}, "
            f"{HUB}NAME, or a folder of those (where texts end in .{languages[0]} and .{languages[1]})"
        )
    return _paired(sides, [f"in {language}" for language in languages], key)


def _by_name(corpus: CorpusConfig, found: list[list[Path]], names: Sequence[str], key: str) -> list[Item]:
    """Pair the files of two folders or globs by what is left of their names without language and suffixes."""
    sides: list[dict[str, Path]] = [{} for _ in found]
    for side, files in zip(sides, found, strict=True):
        for file in files:
            _put(side, _without_language(corpus, file)[0], file, key)
    return _paired(sides, [f"in {name}" for name in names], key)


def _without_language(corpus: CorpusConfig, file: Path) -> tuple[str, int | None]:
    """Return what stands before the language in the name of a text file, and which side that is; None: no language."""
    name = uncompressed(file.name).removesuffix(".txt")
    found = _LANGUAGE_AT_END.fullmatch(name)
    if found is None or holds_pairs(file.name):
        return name, None
    languages = [code.lower().replace("_", "-") for code in (corpus.source_language, corpus.target_language)]
    code = found["code"].lower().replace("_", "-")
    alike = [side for side in (0, 1) if languages[side] == code] or [
        side for side in (0, 1) if primary(languages[side]) == primary(code)
    ]
    return (found["stem"], alike[0]) if alike else (name, None)


def _put(side: dict[str, Path], stem: str, file: Path, key: str) -> None:
    if stem in side:
        raise CorpusError(f"{key}: {side[stem]} and {file.name} are one side of the same text. Take one of them away")
    side[stem] = file


def _paired(sides: Sequence[dict[str, Path]], names: Sequence[str], key: str) -> list[Item]:
    for stem in sorted(set().union(*sides)):
        for side, name in zip(sides, names, strict=True):
            if stem not in side:
                lonely = next(other[stem] for other in sides if stem in other)
                raise CorpusError(f"{key}: {lonely} has no other side {name}. Add it, or take this file away")
    return [tuple(side[stem] for side in sides) for stem in sorted(sides[0])]
