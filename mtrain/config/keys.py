"""What the schema knows of a key `section.name`: its kind, how text becomes its value, and the nearest right name."""

import math
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin, get_type_hints

from mtrain.config.schema import FOR_ALL_CORPORA, Config, OneCorpus

SECTIONS: dict[str, type] = get_type_hints(Config)
KINDS: dict[str, Any] = {
    f"{section}.{name}": kind for section, shape in SECTIONS.items() for name, kind in get_type_hints(shape).items()
}

# The keys of one of several corpora: how a complaint about it begins, its name, and what stands there.
Keys = list[tuple[str, str, "str | list[str] | None"]]
# What stands at a key, before its kind is known: a text, a list of texts, a list of corpora, or something deeper that
# no setting takes.
Written = str | list[str] | list[Keys] | None

_OF_ONE_CORPUS = {name: kind for name, kind in get_type_hints(OneCorpus).items() if name != "settings"}
_PER_CORPUS = {
    name: kind for name, kind in get_type_hints(SECTIONS["corpus"]).items() if name not in FOR_ALL_CORPORA
}


class NestedError(ValueError):
    """Several mistakes at one key, each a whole line."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


def convert(written: Written, kind: Any) -> Any:
    """Return the value of that kind which somebody wrote.

    The text itself is read, not what YAML takes it for: there `1e-4` is a text and the language code `no` is False.
    Raises: ValueError saying what was expected and what was found.
    """
    if get_origin(kind) is tuple and isinstance(written, list) and written and not isinstance(written[0], str):
        return _corpora(written, kind)
    if get_origin(kind) is tuple and written is not None:
        return tuple([written] if isinstance(written, str) and written else written)
    expected, read = _reader(kind)
    try:
        return read(_single(written))
    except (ValueError, KeyError) as error:
        near = get_close_matches(str(written).lower(), get_args(kind), n=1) if get_origin(kind) is Literal else []
        raise ValueError(f"expects {expected}, found {_shown(written)}{_did_you_mean(near)}") from error


def _corpora(written: list[Any], kind: Any) -> tuple[OneCorpus, ...]:
    if OneCorpus not in get_args(get_args(kind)[0]):
        raise ValueError("expects a list of texts, found nested keys")
    wrong: list[str] = []
    found = tuple(_one_corpus(keys, wrong) for keys in written)
    if wrong:
        raise NestedError(wrong)
    return found


def _one_corpus(keys: Keys, wrong: list[str]) -> OneCorpus:
    said: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for head, name, written in keys:
        try:
            if name in _OF_ONE_CORPUS:
                said[name] = convert(written, _OF_ONE_CORPUS[name])
            elif name in _PER_CORPUS:
                settings[name] = convert(written, _PER_CORPUS[name])
            else:
                raise ValueError(_unknown_of_corpus(name))
        except ValueError as error:
            wrong.append(f"{head}: {error}")
    return OneCorpus(**said, settings=settings)


def _unknown_of_corpus(name: str) -> str:
    if name in FOR_ALL_CORPORA:
        return f"is one for all corpora. Write it in corpus itself, as corpus.{name}"
    names = [*_OF_ONE_CORPUS, *_PER_CORPUS]
    near = get_close_matches(name, names, n=1)
    return "unknown key" + (_did_you_mean(near) or f". The keys of one corpus are {', '.join(names)}")


def _reader(kind: Any) -> tuple[str, Callable[[str], Any]]:
    if get_origin(kind) is tuple:
        return "a list of texts", str
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}", {choice: choice for choice in get_args(kind)}.__getitem__
    return _SCALARS[kind]


def _single(written: Written) -> str:
    if not isinstance(written, str):
        raise ValueError(written)
    return written


def _to_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = float(text)  # 1e5 is how people write 100000
        if not number.is_integer():
            raise
        return int(number)


def _to_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


_SCALARS: dict[type, tuple[str, Callable[[str], Any]]] = {
    int: ("a whole number", _to_int),
    float: ("a number", _to_float),
    bool: ("true or false", lambda text: {"true": True, "false": False}[text.lower()]),
    str: ("a text", str),
}


def _shown(written: Written) -> str:
    if written is None:
        return "nested keys"
    if isinstance(written, list):
        return "a list"
    return f"'{written}'" if written else "nothing"


def unknown_section(name: str) -> str:
    """Return what to tell somebody who wrote a section that does not exist."""
    near = _keys_named(name) or get_close_matches(name, SECTIONS, n=1)
    return "unknown section" + (_did_you_mean(near) or f". The sections are {', '.join(SECTIONS)}")


def unknown_key(section: str, name: str) -> str:
    """Return what to tell somebody who wrote a key that this section does not have."""
    names = list(get_type_hints(SECTIONS[section]))
    near = _keys_named(name) or get_close_matches(name, names, n=1) or _keys_like(name)
    return "unknown key" + (_did_you_mean(near) or f". The keys of {section} are {', '.join(names)}")


def _keys_named(name: str) -> list[str]:
    return [key for key in KINDS if key.split(".")[1] == name]


def _keys_like(name: str) -> list[str]:
    all_names = [key.split(".")[1] for key in KINDS]
    return [key for near in get_close_matches(name, all_names, n=1, cutoff=0.75) for key in _keys_named(near)]


def _did_you_mean(names: Sequence[str]) -> str:
    return f". Did you mean {' or '.join(names)}?" if names else ""
