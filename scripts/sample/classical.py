"""Numbers, ages and dates as classical Chinese words them, with their modern wording."""

from random import Random

from sample.grammar import Pair, Quantity, between, pick
from sample.numbers import chinese, chinese_count

# Rulers of the Spring and Autumn and the Warring States, with the length of their reigns.
_REIGNS = (
    ("齐桓公", 43), ("晋文公", 9), ("秦穆公", 39), ("楚庄王", 23), ("秦孝公", 24), ("齐宣王", 19),
    ("楚怀王", 30), ("赵惠文王", 33), ("燕昭王", 33), ("秦昭王", 56), ("魏安釐王", 34), ("周显王", 48),
)  # fmt: skip
_SEASONS = ("春", "夏", "秋", "冬")
_STEMS, _BRANCHES = "甲乙丙丁戊己庚辛壬癸", "子丑寅卯辰巳午未申酉戌亥"


def _numbers(low: int, high: int, step: int = 1) -> Quantity:
    """The same wording on both sides."""

    def draw(rng: Random) -> Pair:
        read = chinese(between(rng, low // step, high // step) * step, "二百")
        return Pair(read, read)

    return draw


def _counts(low: int, high: int) -> Quantity:
    """Two is 二 in the old wording and 两 in the new."""

    def draw(rng: Random) -> Pair:
        number = between(rng, low, high)
        return Pair(chinese(number), chinese_count(number))

    return draw


def _ages(low: int, high: int) -> Quantity:
    """Ages above ten, at times with the old 有: 三十有五 is 三十五."""

    def draw(rng: Random) -> Pair:
        age = between(rng, low, high)
        new = chinese(age)
        old = f"{chinese(age // 10 * 10)}有{chinese(age % 10)}" if age % 10 and rng.random() < 0.4 else new
        return Pair(old, new)

    return draw


def _troops(rng: Random) -> Pair:
    """Draw the strength of an army: 三万, 五千, 十余万 (more than a hundred thousand)."""
    number = between(rng, 1, 9) * 10 ** between(rng, 3, 5)
    new = chinese(number)
    old = new.replace("两", "二")  # classical Chinese counts with 二 only
    if rng.random() < 0.7:
        return Pair(old, new)
    if number >= 100_000:
        return Pair(old[:-1] + "余万", new[:-1] + "多万")
    return Pair(old + "余", new + "多")


def _hundreds(rng: Random) -> Pair:
    """Draw whole hundreds; a single one goes without 一 in the old wording."""
    new = chinese(between(rng, 1, 9) * 100, "二百")
    return Pair(new.removeprefix("一"), new)


def _year(rng: Random) -> Pair:
    """Draw a year of a reign, whose first one is 元年."""
    ruler, length = pick(rng, _REIGNS)
    number = between(rng, 1, length)
    year = f"{ruler}{'元' if number == 1 else chinese(number)}年"
    return Pair(year, year)


def _month(rng: Random) -> Pair:
    """Draw a season and one of its three months: 夏五月 is 夏季五月."""
    month = between(rng, 1, 12)
    season = _SEASONS[(month - 1) // 3]
    named = "正月" if month == 1 else f"{chinese(month)}月"
    return Pair(season + named, f"{season}季{named}")


def _day(rng: Random) -> Pair:
    """Draw a day of the sixty-day round: 甲子 is 甲子日."""
    number = between(rng, 0, 59)
    day = _STEMS[number % 10] + _BRANCHES[number % 12]
    return Pair(day, f"{day}日")


CLASSICAL_QUANTITIES: dict[str, Quantity] = {
    "n": _counts(2, 9),
    "tens": _numbers(10, 90, 10),
    "hundreds": _hundreds,
    "miles": _numbers(30, 990, 10),
    "share": _numbers(2, 9),
    "youth": _ages(11, 19),
    "age": _ages(30, 89),
    "troops": _troops,
    "year": _year,
    "month": _month,
    "day": _day,
}
