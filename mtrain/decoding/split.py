"""Cutting an input that is too long for the model where a reader would pause."""

import re
from collections.abc import Callable

# After which characters a text may be cut, best first. A European full stop counts only before a space: 3.14 stays.
_SENTENCE_END = re.compile(r"(?<=[。！？；…])(?![。！？；…”’』」）])|(?<=[。！？；…][”’』」）])|(?<=[.!?;])(?=\s)")
_CLAUSE_END = re.compile(r"(?<=[，、：])|(?<=[,:])(?=\s)")
_WORD_END = re.compile(r"(?=\s)")
_CHARACTER_END = re.compile(r"(?<=.)(?=.)", re.DOTALL)


def split_text(text: str, count_tokens: Callable[[str], int], limit: int) -> list[str]:
    """Return pieces of at most `limit` tokens each, cut at sentence ends, else at commas, spaces, anywhere.

    Joined together they are the text again; a short text comes back alone.
    """
    return _split(text, count_tokens, limit, [_SENTENCE_END, _CLAUSE_END, _WORD_END, _CHARACTER_END])


def _split(text: str, count_tokens: Callable[[str], int], limit: int, places: list[re.Pattern[str]]) -> list[str]:
    if count_tokens(text) <= limit or not places:
        return [text]
    pieces: list[str] = []
    for part in places[0].split(text):
        for piece in _split(part, count_tokens, limit, places[1:]):
            if pieces and count_tokens(pieces[-1] + piece) <= limit:
                pieces[-1] += piece
            else:
                pieces.append(piece)
    return pieces
