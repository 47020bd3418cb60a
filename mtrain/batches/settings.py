"""What prepared data depend on: the settings they were made with, and how these differ from others."""

from dataclasses import asdict
from typing import Any

from mtrain.config.schema import CorpusConfig, OneCorpus, TokenizerConfig
from mtrain.corpus.sources import SPLITS, entries

SEED = "run.seed"  # among the settings of prepared data where splits were drawn

# Where the corpus and the result lie changes nothing in it; the names of the files say which corpus it is.
_SETTINGS_OF_PLACE = {"folder", "root"}
# Nor does what a corpus is called, and how often training sees it.
_SETTINGS_OF_TRAINING = {"name", "weight"}

_SHOWN = 3

Settings = dict[str, Any]


def prepare_settings(corpus: CorpusConfig, tokenizer: TokenizerConfig) -> Settings:
    """Return the settings that prepared data depend on, by their full names and as JSON gives them back."""
    unused = _SETTINGS_OF_PLACE | {f"{split}_pairs" for split in SPLITS if entries(corpus, split)}
    settings = asdict(corpus)
    settings.update((split, [_as_json(one) for one in getattr(corpus, split)]) for split in SPLITS)
    return {
        **{f"corpus.{key}": value for key, value in settings.items() if key not in unused},
        **{f"tokenizer.{key}": value for key, value in _in_use(tokenizer).items()},
    }


def _in_use(tokenizer: TokenizerConfig) -> dict[str, Any]:
    settings = asdict(tokenizer)
    taken_from = settings.pop("take_from")
    return {"take_from": taken_from} if taken_from else settings


def _as_json(one: str | OneCorpus) -> Any:
    """Return what prepared data depend on of a file, or of one of several corpora: neither its name nor its weight."""
    if isinstance(one, str):
        return one
    unused = _SETTINGS_OF_PLACE | _SETTINGS_OF_TRAINING
    return {key: value for key, value in one.as_written().items() if key not in unused}


def changed_settings(old: Settings, new: Settings) -> list[str]:
    """Return a phrase for each setting that only one of the two has, or that they have otherwise."""
    return [
        f"{key} was {_told(old, key)}, now is {_told(new, key)}"
        for key in {**old, **new}
        if key not in old or key not in new or old[key] != new[key]
    ]


def in_short(changes: list[str]) -> str:
    """Return the first few of them as one text: another version of mtrain may have twenty settings more."""
    shown = changes[:_SHOWN] if len(changes) > _SHOWN + 1 else changes
    rest = f"; and {len(changes) - len(shown)} more" if shown != changes else ""
    return "; ".join(shown) + rest


def _told(settings: Settings, key: str) -> str:
    if key not in settings:
        return "not in use"
    value = settings[key]
    return (", ".join(map(_said, value)) or "taken out of train") if isinstance(value, list) else str(value)


def _said(one: Any) -> str:
    if isinstance(one, str):
        return one
    others = [f"{key} {value}" for key, value in one.items() if key != "files"]
    return f"[{', '.join(one['files'])}{''.join(f'; {other}' for other in others)}]"
