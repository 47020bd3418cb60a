"""Where settings are written, YAML files and `--set`: each becomes an Entry that knows its place."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from mtrain.config.keys import SECTIONS, Keys, Written
from mtrain.config.shipped import find_config
from mtrain.errors import ConfigError


@dataclass(frozen=True)
class Entry:
    """One setting as somebody wrote it; `head` begins a complaint about it; `name` is empty in an unknown section."""

    head: str
    section: str
    name: str
    written: Written


def read_override(override: str) -> Entry:
    """Return the entry of a `--set section.key=value`, where a list is written `[a, b]`.

    Raises: ConfigError where it has not that form.
    """
    key, equals, text = override.partition("=")
    section, dot, name = key.strip().partition(".")
    head = f"--set {override}"
    if not equals or not (dot or section not in SECTIONS):
        raise ConfigError(f"{head}: expects section.key=value")
    if not text.startswith("["):
        return Entry(head, section, name, text)
    try:
        node = yaml.compose(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{head}: is no list; write [a, b]") from error
    mistakes: list[str] = []
    written = _written_at(node, head, f"{section}.{name}.", mistakes)
    if mistakes:
        raise ConfigError(f"{head}: expects [{{files: [a, b], weight: 2}}, {{files: c}}]")
    return Entry(head, section, name, written)


def read_file(path: Path, mistakes: list[str], below: tuple[Path, ...] = ()) -> Iterator[Entry]:
    """Give the entries of a YAML file, after those of the file it extends; add to `mistakes` what is no entry.

    `below` are the files that extend this one.
    Raises: ConfigError where a file is not YAML at all, so that nothing else can be said about it.
    """
    sections = _pairs(_compose(path), f"{path}", "", mistakes)
    for head, name, node in sections:
        if name == "extends":
            yield from _read_extended(head, node, mistakes, (*below, path))
    for head, section, node in sections:
        if section in SECTIONS:
            for key_head, name, value in _pairs(node, f"{path}", f"{section}.", mistakes):
                yield Entry(key_head, section, name, _written_at(value, f"{path}", f"{section}.{name}.", mistakes))
        elif section != "extends":
            yield Entry(head, section, "", None)


def _read_extended(head: str, node: yaml.Node, mistakes: list[str], below: tuple[Path, ...]) -> Iterator[Entry]:
    name = _written(node)
    if not isinstance(name, str) or not name:
        mistakes.append(f"{head}: expects one YAML file")
        return
    try:
        parent = find_config(name, below[-1])
    except ConfigError as error:
        mistakes.append(f"{head}: {error}")
        return
    if parent.resolve() in [path.resolve() for path in below]:
        circle = " > ".join(path.name for path in (*below, parent))
        mistakes.append(f"{head}: the files extend each other in a circle: {circle}")
        return
    yield from read_file(parent, mistakes, below)


def _compose(path: Path) -> yaml.Node | None:
    """Return the root of the file's YAML nodes, which know their lines; None of an empty file."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8")
        return yaml.compose(text)
    except UnicodeDecodeError as error:
        line, reason = content.count(b"\n", 0, error.start), "not UTF-8 text"
    except yaml.MarkedYAMLError as error:
        line, reason = error.problem_mark.line if error.problem_mark else 0, f"not YAML: {error.problem}"
    except yaml.reader.ReaderError as error:
        line, reason = text.count("\n", 0, error.position), f"not YAML: {error.reason}"
    except RecursionError:
        line, reason = 0, "nested far too deeply"
    raise ConfigError(f"{path}:{line + 1} {reason}")


def _pairs(node: yaml.Node | None, file: str, prefix: str, mistakes: list[str]) -> list[tuple[str, str, yaml.Node]]:
    """Return (head, key, value) for each key of a mapping, the first of equal keys only."""
    if node is None or _written(node) == "":
        return []
    if not isinstance(node, yaml.MappingNode):
        mistakes.append(f"{_place(file, node.start_mark.line + 1, prefix)}: expects lines of the form key: value")
        return []
    pairs: list[tuple[str, str, yaml.Node]] = []
    first_lines: dict[str, int] = {}
    for key, value in node.value:
        name, line = _written(key), key.start_mark.line + 1
        if not isinstance(name, str):
            mistakes.append(f"{_place(file, line, prefix)}: expects lines of the form key: value")
            continue
        head = f"{file}:{line} {prefix}{name}"
        if name in first_lines:
            mistakes.append(f"{head}: duplicate key, first written in line {first_lines[name]}")
            continue
        first_lines[name] = line
        pairs.append((head, name, value))
    return pairs


def _written_at(node: yaml.Node | None, file: str, prefix: str, mistakes: list[str]) -> Written:
    """Return what `_written` returns, or the keys of each corpus in a list of such."""
    if not isinstance(node, yaml.SequenceNode) or not any(isinstance(one, yaml.MappingNode) for one in node.value):
        return _written(node)
    corpora: list[Keys] = []
    for number, one in enumerate(node.value, start=1):
        pairs = _pairs(one, file, f"{prefix}{number}.", mistakes)
        if isinstance(one, yaml.MappingNode):
            corpora.append([(head, name, _written(value)) for head, name, value in pairs])
    return corpora


def _place(file: str, line: int, prefix: str) -> str:
    return f"{file}:{line} {prefix}".rstrip(" .")


def _written(node: yaml.Node | None) -> str | list[str] | None:
    """Return a node's own text, or texts; an empty value (or null, or ~) is the empty text.

    Nothing deeper is looked into: with an alias, a node can be part of itself.
    """
    if isinstance(node, yaml.ScalarNode):
        return "" if node.tag == "tag:yaml.org,2002:null" else str(node.value)
    if isinstance(node, yaml.SequenceNode):
        return [f"{_written(one)}" for one in node.value] if all(map(_is_scalar, node.value)) else None
    return None


def _is_scalar(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode)
