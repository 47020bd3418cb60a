"""Text that is damaged, or holds what is no text: each function looks at one side as it was read."""

import re

_CONTROL_OR_PRIVATE = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff\U000f0000-\U0010ffff]"
)
_REPLACEMENT = re.compile("[\ufffd\u25a1\u25af]")
_MARKUP = re.compile(
    r"</?[a-zA-Z][^<>]*>|<!--"  # tags
    r"|&(?:[a-zA-Z]{2,8}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});"  # entities
    r"|\[\[|\]\]|\{\{|\}\}"  # wikis and templates
    r"|\[/(?:b|i|u|url|img|quote|code|color|size)\]|\[(?:url|img|quote|color|size)(?:=[^\]]*)?\]"  # forums
    r"|\b(?:https?|ftp)://|\bwww\.[a-zA-Z0-9]",
)

# What Windows shows for bytes 80 to BF; bytes it has no character for stay control characters. Of two bytes only what
# is Latin to Arabic: ß” is no Syriac.
_CONTINUATION = "\u0080-\u00bf" + "".join(
    sorted(set(bytes(range(0x80, 0xA0)).decode("cp1252", "ignore")) - set(map(chr, range(0x80, 0xC0))))
)
_UTF8_AS_WINDOWS = re.compile(
    f"[\u00c2-\u00db][{_CONTINUATION}]|[\u00e0-\u00ef][{_CONTINUATION}]{{2}}|[\u00f0-\u00f4][{_CONTINUATION}]{{3}}"
)

# UTF-8 writes a Chinese character in three bytes, GBK in two: two of the one are these three of the other, and the next
# begins as they do. Two lost characters (U+FFFD) are 锟斤拷.
_LEAD, _MORE = range(0xE2, 0xF0), range(0x80, 0xC0)
_FIRST, _SECOND, _THIRD = (
    "".join(bytes((a, b)).decode("gbk", "ignore") for a in one for b in other)
    for one, other in ((_LEAD, _MORE), (_MORE, _LEAD), (_MORE, _MORE))
)
_UTF8_AS_GBK = re.compile(f"[{_FIRST}][{_SECOND}][{re.escape(_THIRD)}][{_FIRST}]|锟斤拷")
# Of them, those that simplified text never has.
_RARE = "".join(one for one in _FIRST + _SECOND if not one.encode("gb2312", "ignore"))

# One look for all that the functions below need: most lines have none of it and are not asked again.
_ODD = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ue000-\uf8ff\ufdd0-\ufdef\ufffd-\uffff\U000f0000-\U0010ffff"
    f"\u25a1\u25af<>&\\[\\]{{}}/\u00c2-\u00f4锟{_RARE}]|www\\."
)

# A stretch said over and over is noise where it makes more than half of a side of some length.
_SHORTEST_REPETITIVE = 20
_TIMES = 8
_PROBE = 4
_MOST_TRIED = 64


def is_odd(text: str) -> bool:
    """Tell whether the line has any character that damage or markup needs."""
    return _ODD.search(text) is not None


def has_control_or_private(text: str) -> bool:
    """Tell whether control characters, characters of private use or noncharacters stand in the line."""
    return _CONTROL_OR_PRIVATE.search(text) is not None


def has_replacement(text: str) -> bool:
    """Tell whether a character has been lost: U+FFFD or □."""
    return _REPLACEMENT.search(text) is not None


def has_markup(text: str) -> bool:
    """Tell whether tags, entities, marks of wikis and forums, or addresses stand in the line."""
    return _MARKUP.search(text) is not None


def was_read_as_windows(text: str) -> bool:
    """Tell whether some of the text is UTF-8 read as Windows-1252 or Latin-1 (é as Ã©): if it can be undone."""
    return any(_decodes(_windows_bytes(found)) for found in _UTF8_AS_WINDOWS.findall(text))


def was_read_as_gbk(text: str) -> bool:
    """Tell whether some of the text is UTF-8 that was read as GBK: if that gives two usual Chinese characters."""
    return any(_decodes(found.encode("gbk")[:6], "gb2312") for found in _UTF8_AS_GBK.findall(text))


def is_repetitive(text: str) -> bool:
    """Tell whether more than half of a longer line is one stretch, eight times or more in a row.

    Such a run holds the middle of the line, so four characters behind or before it come again after just the length of
    the stretch. They may come again within the stretch as well: of the places where they do, the nearest are tried.
    """
    length = len(text)
    if length < _SHORTEST_REPETITIVE:
        return False
    middle, longest = length // 2, length // _TIMES
    place = middle
    for _ in range(_MOST_TRIED):
        place = text.find(text[middle : middle + _PROBE], place + 1, middle + longest + _PROBE)
        if place < 0:
            break
        if _is_run(text, middle, place - middle):
            return True
    start = place = middle - _PROBE
    for _ in range(_MOST_TRIED):
        place = text.rfind(text[start:middle], max(0, start - longest), place + _PROBE - 1)
        if place < 0:
            break
        if _is_run(text, place, start - place):
            return True
    return False


def _is_run(text: str, start: int, period: int) -> bool:
    """Tell whether the stretch around `start`, in which all comes again after `period`, is as long as is asked."""
    length = len(text)
    if period * _TIMES > length:
        return False
    begin, end = start, start
    while begin > 0 and text[begin - 1] == text[begin - 1 + period]:
        begin -= 1
    while end + period < length and text[end] == text[end + period]:
        end += 1
    run = end - begin + period
    return run >= _TIMES * period and 2 * run > length


def _windows_bytes(text: str) -> bytes:
    return b"".join(
        character.encode("latin-1" if character < "\u0100" else "cp1252") for character in text
    )


def _decodes(raw: bytes, to: str = "utf-8") -> bool:
    """Tell whether the bytes are UTF-8, of characters that the encoding `to` has."""
    try:
        return bool(raw.decode("utf-8").encode(to))
    except UnicodeError:
        return False
