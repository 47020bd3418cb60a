"""What mtrain knows of languages, by their ISO codes: which are Chinese, how they are written; and of wrong codes."""

import re

# Each by its two-letter code and its three-letter ones; of Chinese also its own languages, lzh is the classical one.
CHINESE = frozenset(("zh", "zho", "chi", "cmn", "lzh", "yue", "wuu", "nan", "hak", "gan"))
JAPANESE = frozenset(("ja", "jpn"))
KOREAN = frozenset(("ko", "kor"))
_THAI_LAO_KHMER_BURMESE = frozenset(("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bur"))
_WITHOUT_SPACES = CHINESE | JAPANESE | _THAI_LAO_KHMER_BURMESE

_IN_LATIN = """
en eng de deu ger fr fra fre es spa it ita pt por nl nld dut pl pol cs ces cze sk slk slo hu hun ro ron rum sv swe da
dan no nor nb nob nn nno fi fin et est lv lav lt lit sl slv hr hrv is isl ice ga gle cy cym wel eu eus baq ca cat gl glg
af afr sq sqi alb tr tur vi vie id ind ms msa may tl tgl sw swa la lat mt mlt eo epo
"""
# The script that a language is written in, by its ISO 15924 code. Serbian, Uzbek and others with two are not here.
_SCRIPTS = {
    "Hani": CHINESE,
    "Jpan": JAPANESE,
    "Hang": KOREAN,
    "Latn": frozenset(_IN_LATIN.split()),
    "Cyrl": frozenset(("ru", "rus", "uk", "ukr", "bg", "bul", "be", "bel", "mk", "mkd", "mac", "tg", "tgk")),
    "Grek": frozenset(("el", "ell", "gre")),
    "Arab": frozenset(("ar", "ara", "fa", "fas", "per", "ur", "urd", "ps", "pus")),
    "Hebr": frozenset(("he", "heb", "yi", "yid")),
    "Deva": frozenset(("hi", "hin", "mr", "mar", "ne", "nep", "sa", "san")),
    "Beng": frozenset(("bn", "ben", "as", "asm")),
    "Taml": frozenset(("ta", "tam")),
    "Thai": frozenset(("th", "tha")),
    "Laoo": frozenset(("lo", "lao")),
    "Khmr": frozenset(("km", "khm")),
    "Mymr": frozenset(("my", "mya", "bur")),
    "Armn": frozenset(("hy", "hye", "arm")),
    "Geor": frozenset(("ka", "kat", "geo")),
}
_IN_OTHER_WORDS = {"Hans": "Hani", "Hant": "Hani", "Kore": "Hang"}

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


def script(code: str) -> str:
    """Return the ISO 15924 code of the script that a language is written in, Hani for all Chinese; empty: unknown."""
    named = [part.title() for part in re.split("[-_]", code)[1:] if len(part) == 4 and part.isalpha()]
    if named:
        return _IN_OTHER_WORDS.get(named[0], named[0])
    return next((script for script, languages in _SCRIPTS.items() if primary(code) in languages), "")


def has_full_width_marks(code: str) -> bool:
    """Tell whether this language's own punctuation is as wide as its characters: ，。！？"""
    return script(code) in ("Hani", "Jpan", "Hang")


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
