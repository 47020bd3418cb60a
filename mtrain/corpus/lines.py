"""One line of text: what may not stand in it, and the form that training and translating share."""

import re
import unicodedata

# Between brackets of a regular expression: control characters but the tab, and others that some readers take for the
# end of a line; and marks without width that only hide in text: byte order mark, zero-width space, soft hyphen,
# directions (marks, embeddings, isolates), word joiner and invisible operators, annotations. The joiners U+200C and
# U+200D shape letters.
CONTROL = "\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029"
INVISIBLE = "\ufeff\u200b\u00ad\u061c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufff9-\ufffb"

# With halves of surrogate pairs, which only Python has: no file can hold them.
_STRAY = re.compile("[\x0a-\x0d\x1c-\x1e\x85\u2028\u2029\ud800-\udfff]")
_CONTROL = re.compile(f"[{CONTROL}\ud800-\udfff]")
_INVISIBLE = re.compile(f"[{INVISIBLE}]")


def stray_in(text: str) -> bool:
    """Tell whether the text is not as `one_line` would leave it."""
    return _STRAY.search(text) is not None


def one_line(text: str) -> str:
    """Return the text with stray line ends turned into spaces: it fills one line of a file."""
    return _STRAY.sub(" ", text) if _STRAY.search(text) else text


def without_controls(text: str) -> str:
    """Return the text with all control characters, line ends among them, turned into spaces."""
    return _CONTROL.sub(" ", text) if _CONTROL.search(text) else text


def normalise(text: str) -> str:
    """Return the text as the tokenizer sees it: NFC, single spaces, no marks that only hide.

    Never NFKC, which would turn ，？！ into half-width marks. SentencePiece writes spaces as U+2581; one that stands in
    the text becomes a plain underscore, or it would come back as a space.
    """
    text = without_controls(text)
    if text.isascii():
        return " ".join(text.split())
    if _INVISIBLE.search(text):
        text = _INVISIBLE.sub("", text)
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.replace("\u2581", "_").split())
