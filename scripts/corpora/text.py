"""What makes two lines the same one here: the form that is compared, and the form that is written."""

import re
import unicodedata
from base64 import urlsafe_b64encode
from hashlib import blake2b
from typing import NamedTuple

from mtrain.corpus.lines import one_line

_HAN = re.compile("[\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


class Pair(NamedTuple):
    """A sentence and its translation, and where they stand: a book, or a corpus of which many are put together."""

    source: str
    target: str
    origin: str


def fold(text: str) -> str:
    """Return the text as it is written: NFC, one space for any white space, none at the ends."""
    return " ".join(one_line(unicodedata.normalize("NFC", text)).split())


def han(text: str) -> str:
    """Return the Chinese characters of a text alone."""
    return "".join(_HAN.findall(text))


def key(source: str, target: str) -> str:
    """Return eleven characters that stand for a pair: 64 bits, so that lists of pairs can be given without any text."""
    return urlsafe_b64encode(blake2b(f"{source}\n{target}".encode(), digest_size=8).digest())[:11].decode()
