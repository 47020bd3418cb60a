"""Entries in, one checked Config out; every mistake is told at once, with its place and its cure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import yaml

from mtrain.config.check import check_config
from mtrain.config.entries import Entry, read_file, read_override
from mtrain.config.keys import KINDS, SECTIONS, NestedError, Written, convert, unknown_key, unknown_section
from mtrain.config.schema import Config, DecodingConfig
from mtrain.config.shipped import expand_home, find_config
from mtrain.errors import ConfigError

_FOLDERS = ("run.folder", "corpus.folder", "corpus.root", "tokenizer.take_from", "training.start_from")


def load_config(name_or_path: str = "sample", overrides: Sequence[str] = ()) -> Config:
    """Return the settings of a YAML file, of what it extends and of `section.key=value` overrides; the last one wins.

    Raises: ConfigError with all mistakes, one a line.
    """
    path = find_config(name_or_path)
    mistakes: list[str] = []
    entries = [*read_file(path, mistakes), *_overriding(overrides, mistakes)]
    values, heads = _settle(entries, mistakes)
    config = _with_folders(_build(values), path.stem)
    doubtful = {key for key in heads if key.count(".") == 1} - values.keys()
    mistakes += _broken_rules(config, heads, doubtful, path)
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    return config


def dump_config(config: Config) -> str:
    """Return all settings as YAML, which `load_config` reads back to an equal Config."""
    settings = asdict(config)
    for split in ("train", "dev", "test"):
        given = getattr(config.corpus, split)
        settings["corpus"][split] = [one if isinstance(one, str) else one.as_written() for one in given]
    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)


def change_decoding(decoding: DecodingConfig, changes: Mapping[str, object]) -> DecodingConfig:
    """Return the section with other values for some of its keys. Raises: ConfigError with all mistakes, one a line."""
    mistakes: list[str] = []
    entries = [Entry(f"{key}={value!r}", "decoding", key, str(value)) for key, value in changes.items()]
    values, heads = _settle(entries, mistakes)
    changed = replace(decoding, **{key.removeprefix("decoding."): value for key, value in values.items()})
    for keys, text in check_config(Config(decoding=changed)):
        mistakes += [f"{heads[key]}: {text}" for key in keys if key in values]
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    return changed


def _overriding(overrides: Sequence[str], mistakes: list[str]) -> Iterator[Entry]:
    for override in overrides:
        try:
            yield read_override(override)
        except ConfigError as error:
            mistakes.append(str(error))


def _settle(entries: list[Entry], mistakes: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the value of each key, and for each key written, right or wrong, how a line about it begins.

    The second is in the order of writing, so that a rule broken by two keys is blamed on the one written last. The keys
    of one of several corpora are there as `corpus.train.1.weight`.
    """
    values: dict[str, Any] = {}
    heads: dict[str, str] = {}
    for entry in entries:
        key = f"{entry.section}.{entry.name}"
        values.pop(key, None)
        for old in [old for old in heads if old == key or old.startswith(f"{key}.")]:
            heads.pop(old)
        heads[key] = entry.head
        heads |= _heads_of_corpora(key, entry.written)
        try:
            values[key] = _value(entry)
        except NestedError as several:
            mistakes += several.lines
        except ValueError as error:
            mistakes.append(f"{entry.head}: {error}")
    return values, heads


def _heads_of_corpora(key: str, written: Written) -> dict[str, str]:
    corpora = [keys for keys in written if not isinstance(keys, str)] if isinstance(written, list) else []
    return {
        f"{key}.{number}.{name}": head for number, keys in enumerate(corpora, start=1) for head, name, _ in keys
    }


def _value(entry: Entry) -> Any:
    if entry.section not in SECTIONS:
        raise ValueError(unknown_section(entry.section))
    key = f"{entry.section}.{entry.name}"
    if key not in KINDS:
        raise ValueError(unknown_key(entry.section, entry.name))
    value = convert(entry.written, KINDS[key])
    return _without_tilde(value) if key in _FOLDERS else value


def _without_tilde(folder: str) -> str:
    expanded = expand_home(folder)
    if expanded.startswith("~"):
        raise ValueError(f"there is no user with a home folder {expanded.split('/')[0]}")
    return expanded


def _build(values: dict[str, Any]) -> Config:
    sections: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for key, value in values.items():
        section, name = key.split(".")
        sections[section][name] = value
    return Config(**{section: SECTIONS[section](**settings) for section, settings in sections.items()})


def _with_folders(config: Config, name: str) -> Config:
    return replace(
        config,
        run=replace(config.run, folder=config.run.folder or f"runs/{name}"),
        corpus=replace(config.corpus, folder=config.corpus.folder or f"data/prepared/{name}"),
        tokenizer=replace(config.tokenizer, take_from=config.tokenizer.take_from or config.training.start_from),
    )


def _broken_rules(config: Config, heads: dict[str, str], doubtful: set[str], path: Path) -> Iterator[str]:
    """Give a line for each broken rule, none for those that a wrong value may have broken."""
    for keys, text in check_config(config):
        if doubtful.isdisjoint(keys):
            written = [head for key, head in heads.items() if key in keys]
            yield f"{written[-1] if written else f'{path} {keys[0]}'}: {text}"
