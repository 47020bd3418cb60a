"""Numbers, prices, dates and times of day as the modern grammar draws them."""

from random import Random

from sample.grammar import Pair, Quantity, between, pick
from sample.numbers import (
    chinese,
    chinese_count,
    chinese_digits,
    chinese_short,
    english,
    english_count,
    english_ordinal,
)

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# What Chinese calls a part of the day, with its first and last hour.
_DAY_PARTS = (("早上", 6, 8), ("上午", 9, 11), ("下午", 1, 5), ("晚上", 6, 10))
_WEEKDAYS = (("一", "Monday"), ("二", "Tuesday"), ("三", "Wednesday"), ("四", "Thursday"), ("五", "Friday"),
             ("六", "Saturday"), ("天", "Sunday"))  # fmt: skip


def _counts(low: int, high: int) -> Quantity:
    """Numbers before a measure word, where two is 两; the English noun spells them out."""

    def draw(rng: Random) -> Pair:
        number = between(rng, low, high)
        return Pair(chinese_count(number), str(number))

    return draw


def _amounts(low: int, high: int, step: int = 1) -> Quantity:
    """Numbers that English writes in figures."""

    def draw(rng: Random) -> Pair:
        number = between(rng, low // step, high // step) * step
        return Pair(chinese(number, pick(rng, ["两百", "二百"])), english(number))

    return draw


def _words(low: int, high: int) -> Quantity:
    """Counts that stand without their noun, in words on both sides."""

    def draw(rng: Random) -> Pair:
        number = between(rng, low, high)
        return Pair(chinese_count(number), english_count(number))

    return draw


def _round_numbers(lowest: int, highest: int) -> Quantity:
    """Large numbers of one to three leading figures, in characters or, as the press has it, with 万 and 亿."""

    def draw(rng: Random) -> Pair:
        leading = pick(rng, [between(rng, 1, 9), between(rng, 11, 99), between(rng, 101, 999)])
        number = leading * 10 ** between(rng, 4, 7)
        while number > highest:
            number //= 10
        while number < lowest:
            number *= 10
        return Pair(pick(rng, [chinese(number), chinese(number), chinese_short(number)]), english(number))

    return draw


def _prices(low: int, high: int, step: int) -> Quantity:
    """Prices as one says them in a shop, below a hundred at times with a tenth: 三百五十块钱, 八十块五, 120元."""

    def draw(rng: Random) -> Pair:
        yuan = between(rng, low // step, high // step) * step
        if yuan < 100 and rng.random() < 0.4:
            tenth = between(rng, 1, 9)
            return Pair(f"{chinese(yuan)}块{chinese(tenth)}", f"{yuan}.{tenth}0 yuan")
        read = chinese(yuan, pick(rng, ["两百", "二百"]))
        return Pair(pick(rng, [f"{read}块钱", f"{read}元", f"{yuan}元"]), f"{english(yuan)} yuan")

    return draw


def _thousands(rng: Random) -> Pair:
    number = between(rng, 11, 99) * 1000
    return Pair(pick(rng, [chinese(number), chinese_short(number)]), english(number))


def _year(rng: Random) -> Pair:
    year = between(rng, 1980, 2024)
    return Pair(pick(rng, [chinese_digits(year), str(year)]) + "年", str(year))


def _month_day(rng: Random) -> Pair:
    month = between(rng, 1, 12)
    day = between(rng, 1, _MONTH_DAYS[month - 1])
    source = pick(rng, [f"{chinese(month)}月{chinese(day)}号", f"{month}月{day}日"])
    return Pair(source, f"{_MONTHS[month - 1]} {day}")


def _date(rng: Random) -> Pair:
    year = between(rng, 1950, 2009)
    day = _month_day(rng)
    written = str(year) if str(day.source)[0].isascii() else chinese_digits(year)
    return Pair(f"{written}年{day.source}", f"{day.target}, {year}")


def _minutes(hour: int, minute: int, rng: Random) -> str:
    if minute == 0:
        return f"{chinese_count(hour)}点"
    if minute == 30:
        return f"{chinese_count(hour)}点半"
    if minute == 15 and rng.random() < 0.5:
        return f"{chinese_count(hour)}点一刻"
    return f"{chinese_count(hour)}点{'零' if minute < 10 else ''}{chinese(minute)}分"


def _english_clock(hour: int, minute: int) -> str:
    return f"{hour}:{minute:02}" if minute else f"{hour} o'clock"


def _clock(hour: int, rng: Random) -> Pair:
    minute = pick(rng, [0, 0, 30, 15, 45, between(rng, 1, 11) * 5])
    return Pair(_minutes(hour, minute, rng), _english_clock(hour, minute))


def _lacking(rng: Random) -> Pair:
    """Draw what stands behind 差 in 差十分八点: ten minutes are lacking until eight."""
    hour, (source, minutes) = between(rng, 1, 11), pick(rng, [("五分", 5), ("十分", 10), ("一刻", 15)])
    return Pair(f"{source}{chinese_count(hour + 1)}点", _english_clock(hour, 60 - minutes))


def _clocks(low: int, high: int) -> Quantity:
    """Times between two full hours that a rule puts a part of the day before."""
    return lambda rng: _clock(between(rng, low, high), rng)


def _times(days: list[tuple[str, tuple[str, ...]]]) -> Quantity:
    """Times with a day before them; each day says how English calls its `_DAY_PARTS`."""

    def draw(rng: Random) -> Pair:
        chinese_day, english_parts = pick(rng, days)
        index = between(rng, 0, len(_DAY_PARTS) - 1)
        part, first, last = _DAY_PARTS[index]
        clock = _clock(between(rng, first, last), rng)
        return Pair(chinese_day + part + clock.source, f"{clock.target} {english_parts[index]}")

    return draw


def _english_parts(before: str) -> tuple[str, ...]:
    return tuple(before + part for part in ("morning", "morning", "afternoon", "evening"))


def _opening(rng: Random) -> Pair:
    opens, closes = between(rng, 7, 10), between(rng, 4, 10)
    part, behind = ("下午", "in the afternoon") if closes < 6 else ("晚上", "in the evening")
    half = pick(rng, [0, 30])
    return Pair(
        f"从早上{_minutes(opens, half, rng)}到{part}{_minutes(closes, half, rng)}",
        f"from {_english_clock(opens, half)} in the morning to {_english_clock(closes, half)} {behind}",
    )


def _ordinals(low: int, high: int) -> Quantity:
    def draw(rng: Random) -> Pair:
        number = between(rng, low, high)
        return Pair(chinese(number), english_ordinal(number))

    return draw


def _percent(rng: Random) -> Pair:
    share = between(rng, 2, 99)
    return Pair(pick(rng, [f"百分之{chinese(share)}", f"{share}%"]), f"{share} percent")


def _discount(rng: Random) -> Pair:
    """Draw a discount: 打八折 leaves eighty percent of the price, so it is 20 percent off."""
    tenths = between(rng, 5, 9)
    if rng.random() < 0.4:
        return Pair(f"打{chinese(tenths)}五折", f"{95 - tenths * 10} percent off")
    return Pair(f"打{chinese(tenths)}折", f"{100 - tenths * 10} percent off")


def _room(rng: Random) -> Pair:
    """Draw a room on the floor that its number begins with."""
    floor = between(rng, 1, 9)
    number = f"{floor}{between(rng, 1, 30):02}"
    read = pick(rng, [chinese_digits(number).replace("〇", "零"), number])
    return Pair(f"{chinese(floor)}楼{read}号房间", f"room {number} on the {english_ordinal(floor)} floor")


def _phone(rng: Random) -> Pair:
    number = str(between(rng, 6_000_000, 8_999_999))
    return Pair(pick(rng, [chinese_digits(number).replace("〇", "零"), number]), number)


def _half_hours(rng: Random) -> Pair:
    hours = between(rng, 0, 3)
    source = f"{chinese_count(hours)}个半小时" if hours else "半个小时"
    return Pair(source, ("half an hour", "an hour and a half", "two and a half hours", "three and a half hours")[hours])


_ANY_DAY = [("", _english_parts("in the "))]
_FUTURE_DAYS = [("明天", _english_parts("tomorrow "))] * 3 + [
    (f"下个星期{day}", _english_parts(f"next {weekday} ")) for day, weekday in _WEEKDAYS
]
_PAST_DAYS = [("昨天", (*_english_parts("yesterday ")[:3], "last night"))] * 3 + [
    (f"上个星期{day}", _english_parts(f"last {weekday} ")) for day, weekday in _WEEKDAYS
]

QUANTITIES: dict[str, Quantity] = {
    "few": _counts(1, 4),
    "some": _counts(2, 5),
    "couple": _counts(1, 3),
    "n": _counts(2, 9),
    "some_minutes": _counts(11, 45),
    "dozens": _counts(11, 99),
    "count": _words(2, 6),
    "digit": _amounts(1, 9),
    "degrees": _amounts(2, 38),
    "mild": _amounts(12, 30),
    "frost": _amounts(2, 25),
    "age": _amounts(11, 60),
    "score": _amounts(50, 99),
    "pages": _amounts(11, 99),
    "hundreds": _amounts(101, 999),
    "tens": _amounts(20, 990, 10),
    "fare": _amounts(200, 9900, 50),
    "thousand_meters": _amounts(300, 8800, 10),
    "school_size": _amounts(1100, 9900, 100),
    "thousands": _thousands,
    "estate": _round_numbers(300_000, 9_000_000),
    "populace": _round_numbers(100_000, 40_000_000),
    "large": _round_numbers(20_000, 10_000_000_000),
    "small_price": _prices(20, 150, 1),
    "difference": _amounts(10, 290, 10),
    "price": _prices(50, 990, 5),
    "costly": _prices(1000, 9900, 50),
    "percent": _percent,
    "discount": _discount,
    "nth": _ordinals(1, 10),
    "storey": _ordinals(1, 6),
    "floor": _ordinals(2, 28),
    "room": _room,
    "phone": _phone,
    "year": _year,
    "month_day": _month_day,
    "date": _date,
    "time": _times(_ANY_DAY),
    "past_time": _times(_PAST_DAYS),
    "future_time": _times(_FUTURE_DAYS),
    "lacking": _lacking,
    "clock_early": _clocks(6, 8),
    "clock_dawn": _clocks(5, 6),
    "clock_forenoon": _clocks(8, 10),
    "clock_late": _clocks(6, 10),
    "opening": _opening,
    "half_hours": _half_hours,
}
