"""What mtrain knows of languages, by their ISO codes: which are Chinese, which write no spaces; and of wrong codes."""

import re

# Each by its two-letter code and its three-letter ones; of Chinese also its own languages, lzh is the classical one.
CHINESE = frozenset(("zh", "zho", "chi", "cmn", "lzh", "yue", "wuu", "nan", "hak", "gan"))
JAPANESE = frozenset(("ja", "jpn"))
KOREAN = frozenset(("ko", "kor"))
_THAI_LAO_KHMER_BURMESE = frozenset(("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bur"))
_WITHOUT_SPACES = CHINESE | JAPANESE | _THAI_LAO_KHMER_BURMESE

_CODE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*")
# What people write instead of a code: countries, names of languages and scripts.
_INSTEAD = {
    "zh": ("cn", "chn", "chs", "cht", "chinese", "mandarin", "hans", "hant"),
    "lzh": ("wenyan", "guwen", "classical"),
    "yue": ("cantonese",),
    "ja": ("jp", "jap", "japanese"),
    "ko": ("kr", "korean"),
    "en": ("us", "gb", "english"),
    "vi": ("vn", "vietnamese"),
    "uk": ("ua", "ukrainian"),
    "cs": ("cz", "czech"),
    "de": ("german",),
    "fr": ("french",),
    "es": ("spanish",),
    "ru": ("russian",),
}
_MEANT = {wrong: code for code, all_wrong in _INSTEAD.items() for wrong in all_wrong}


def primary(code: str) -> str:
    """Return the language of a code without its script and region, lower-case: zh of zh_Hant-TW."""
    return code.lower().replace("_", "-").partition("-")[0]


def joins_without_space(code: str) -> bool:
    """Tell whether sentences of this language follow each other without a space."""
    return primary(code) in _WITHOUT_SPACES


def complaint(code: str) -> str:
    """Return what is wrong with a language code, and the right one where it is known; empty where nothing is."""
    meant = _MEANT.get(primary(code))
    if _CODE.fullmatch(code) and meant is None:
        return ""
    cure = f". Write {meant}" if meant else ""
    return f"expects a language code such as zh, lzh or en, found '{code}'{cure}"
