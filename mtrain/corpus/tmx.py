"""Pairs in TMX, the exchange form of translation memories (versions 1.1 to 1.4), read as it streams by."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.parsers.expat import ExpatError, ParserCreate

from mtrain.config.schema import CorpusConfig
from mtrain.console import warn
from mtrain.corpus.tables import Row, Rows, wanted_columns
from mtrain.corpus.text_files import read_blocks
from mtrain.errors import CorpusError
from mtrain.languages import primary

# Units begin with this in UTF-8 and, with zero bytes between, in UTF-16.
_UNIT = re.compile(rb"<\0?t\0?u\0?[\s>]")
# What is in these belongs to the markup of the document; <hi> holds text.
_MARKUP = {"bpt", "ept", "it", "ph", "ut"}


def tmx_pairs(file: Path, corpus: CorpusConfig) -> Rows:
    """Return how many units a TMX file has, and the pairs of those that have both languages.

    Languages are matched as wide as they are written: zh means zh-CN and zh_TW too, and zh-CN only where there is
    both. With several translations of one language the first counts. A group is a <prop> of that type.
    """
    units = sum(len(_UNIT.findall(block)) for block in read_blocks(file))
    return units, _rows(file, wanted_columns(corpus))


def _rows(file: Path, wanted: dict[str, str]) -> Iterator[Row]:
    reader = _Reader(file, wanted)
    whole = 0
    for block in read_blocks(file):
        rows = reader.feed(block)
        whole += len(rows)
        yield from rows
    rows = reader.feed(b"", last=True)
    yield from rows
    whole += len(rows)
    if not whole:
        there = ", ".join(sorted(reader.languages)) or "none at all"
        raise CorpusError(
            f"{file}: no unit has both {wanted['source']} and {wanted['target']} (corpus.source_language, "
            f"target_language, or source_column, target_column); the languages there are: {there}"
        )
    if whole < reader.units:
        warn(f"{file}: {reader.units - whole:,} of {reader.units:,} units have not both languages and are left out")


class _Reader:
    """Takes blocks of XML, gives the pairs that are whole by then."""

    def __init__(self, file: Path, wanted: dict[str, str]) -> None:
        self.units = 0
        self.languages: set[str] = set()
        self._file = file
        self._wanted = wanted
        self._rows: list[Row] = []
        self._texts: dict[str, str] = {}
        self._props: dict[str, str] = {}
        self._language = self._prop = ""
        self._heard: list[str] | None = None
        self._markup = 0
        self._parser = ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.SkippedEntityHandler = self._refuse_entity

    def feed(self, block: bytes, last: bool = False) -> list[Row]:
        self._rows = []
        try:
            self._parser.Parse(block, last)
        except (ExpatError, LookupError) as error:
            line = getattr(error, "lineno", 1)
            raise CorpusError(f"{self._file}:{line}: not whole XML ({str(error).partition(':')[0]})") from error
        except ValueError as error:  # GB 18030, Big5 and the like
            raise CorpusError(
                f"{self._file}:1: its encoding is none that XML is read in ({error}). Convert it to UTF-8, and say "
                "so in its first line"
            ) from error
        return self._rows

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self._texts, self._props = {}, {}
        elif name == "tuv":
            self._language = attributes.get("xml:lang") or attributes.get("lang") or ""
            self.languages.add(self._language)
        elif name == "prop":
            self._prop, self._heard = attributes.get("type") or "", []
        elif name == "seg":
            self._heard, self._markup = [], 0
        elif name in _MARKUP:
            self._markup += 1

    def _end(self, name: str) -> None:
        if name == "tu":
            self._close_unit()
        elif name in ("seg", "prop"):
            kept, key = (self._texts, self._language) if name == "seg" else (self._props, self._prop)
            kept.setdefault(key, "".join(self._heard or ()))
            self._heard = None
        elif name in _MARKUP:
            self._markup -= 1

    def _text(self, text: str) -> None:
        if self._heard is not None and not self._markup:
            self._heard.append(text)

    def _close_unit(self) -> None:
        self.units += 1
        source, target = (self._text_in(self._wanted[side]) for side in ("source", "target"))
        if source is not None and target is not None:
            group = self._props.get(self._wanted["group"], "") if "group" in self._wanted else ""
            self._rows.append((source, target, group))

    def _text_in(self, wanted: str) -> str | None:
        codes = {_plain(code): text for code, text in reversed(self._texts.items())}
        near = (text for code, text in self._texts.items() if primary(code) == primary(wanted))
        return codes[_plain(wanted)] if _plain(wanted) in codes else next(near, None)

    def _refuse_entity(self, name: str, *_: object) -> None:
        line = self._parser.CurrentLineNumber
        raise CorpusError(
            f"{self._file}:{line}: entity {name}: entities of a file's own are not read, for they can grow without "
            "end. Write the characters themselves"
        )


def _plain(code: str) -> str:
    return code.lower().replace("_", "-")
