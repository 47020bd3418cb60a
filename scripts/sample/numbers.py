"""Whole numbers as Chinese reads them and as English writes them."""

_DIGITS = "零一二三四五六七八九"
_PLACES = ("", "十", "百", "千")
_GROUPS = ("", "万", "亿", "万亿")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def _read_group(group: int) -> str:
    """Read 1 to 9999 with every 一 spoken: 1010 gives 一千零一十."""
    text, gap = "", False
    for place in (3, 2, 1, 0):
        digit = group // 10**place % 10
        if digit:
            text += ("零" if gap and text else "") + _DIGITS[digit] + _PLACES[place]
        gap = digit == 0
    return text


def chinese(number: int, two_hundred: str = "两百") -> str:
    """Read a number below 10^16 in Chinese; a leading 200 is read as the caller likes, 两百 or 二百.

    Two is 两 before a leading 千, 万 or 亿 and 二 elsewhere: 两千, 两万二千, 二十.
    """
    if number == 0:
        return "零"
    text, gap = "", False
    for power in (3, 2, 1, 0):
        group = number // 10000**power % 10000
        if group:
            text += ("零" if text and (gap or group < 1000) else "") + _read_group(group) + _GROUPS[power]
        gap = group == 0
    if text.startswith("一十"):
        return text[1:]
    if text.startswith("二百"):
        return two_hundred + text[2:]
    return "两" + text[1:] if text.startswith(("二千", "二万", "二亿")) else text


def chinese_count(number: int) -> str:
    """Read a number that stands before a measure word: 2 is 两 there."""
    return "两" if number == 2 else chinese(number)


def chinese_digits(number: int | str) -> str:
    """Read digit by digit, as years and room numbers are: 2019 gives 二〇一九."""
    return "".join("〇一二三四五六七八九"[int(digit)] for digit in str(number))


def chinese_short(number: int) -> str:
    """Write as the press does, in figures with 万 or 亿: 35000 gives 3.5万."""
    for size, name in ((10**8, "亿"), (10**4, "万")):
        if number >= size:
            return f"{_decimal(number, size)}{name}"
    return str(number)


def _decimal(number: int, size: int) -> str:
    """Divide by a power of ten exactly, without trailing zeros."""
    whole, rest = divmod(number, size)
    decimals = str(rest).zfill(len(str(size)) - 1).rstrip("0")
    return f"{whole}.{decimals}" if decimals else str(whole)


def english(number: int) -> str:
    """Write in English figures: 12000 gives 12,000 and 35000000 gives 35 million."""
    size, name = (10**9, "billion") if number >= 10**9 else (10**6, "million")
    if number >= size and number % (size // 100) == 0:
        return f"{_decimal(number, size)} {name}"
    return f"{number:,}"


def english_count(number: int) -> str:
    """Write as a count of things: words up to ten, figures from there."""
    return _WORDS[number] if number <= 10 else english(number)


def english_ordinal(number: int) -> str:
    """Write the place in an order, from first to tenth in words."""
    if number <= 10:
        return _ORDINALS[number]
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
