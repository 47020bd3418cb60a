"""No sentence of dev and test stays in train: planted leaks are found, and just what a slow search finds."""

import random
import tracemalloc
import unicodedata
from functools import cache

import pytest

from mtrain.corpus.cleaning import Screen, Screened, as_it_is
from mtrain.corpus.held_out import EXACTLY, NEARLY, HeldOut, Index, Leak
from mtrain.corpus.letters import letters, ngrams, sentence_key
from mtrain.corpus.sources import Block, Pair

WORDS = ("the", "a", "old", "king", "river", "mountain", "never", "walked", "slowly", "under", "morning", "city")
HAN = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜"


def han(draw: random.Random, length: int) -> str:
    return "".join(draw.choice(HAN) for _ in range(length)) + "。"


def english(draw: random.Random, words: int) -> str:
    return " ".join(draw.choice(WORDS) for _ in range(words)).capitalize() + "."


def pairs(seed: int, count: int) -> list[Pair]:
    draw = random.Random(seed)
    return [Pair(han(draw, draw.randint(3, 24)), english(draw, draw.randint(2, 16))) for _ in range(count)]


@cache
def slow_grams(text: str) -> tuple[str, ...]:
    """Return n-grams as the documentation tells of them, by another road than the program's."""
    key = "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if unicodedata.category(c)[0] in "LN")
    grams = [key[start : start + (3 if "\u4e00" <= key[start] <= "\u9fff" else 6)] for start in range(len(key))]
    return tuple(dict.fromkeys(gram for gram in grams if len(gram) == (3 if "\u4e00" <= gram[0] <= "\u9fff" else 6)))


@cache
def slow_key(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text))).casefold()


def slow_match(held_out: str, text: str, least: float) -> float:
    """Return the overlap where it counts; 2 for equal sentences, 0 for no match."""
    if slow_key(held_out) == slow_key(text):
        return 2.0
    grams = slow_grams(held_out)
    weight = sum(3 if "\u4e00" <= gram[0] <= "\u9fff" else 1 for gram in grams)
    share = sum(gram in set(slow_grams(text)) for gram in grams) / max(1, len(grams))
    return share if least and weight >= 24 and share >= least else 0.0


def changed(draw: random.Random, text: str) -> str:
    """Return the text as somebody else might have it: cut, lengthened, some of it another."""
    cut = text[draw.randint(0, 2) : len(text) - draw.randint(0, 2)]
    place = draw.randrange(max(1, len(cut)))
    return draw.choice([cut, "又曰" + text + "是也", cut[:place] + "某" + cut[place + 1 :], text.upper(), text[::-1]])


@pytest.mark.parametrize("least", [0.0, 0.3, 0.5, 0.7, 1.0])
def test_what_is_found_is_what_a_slow_search_finds(least: float) -> None:
    draw = random.Random(9)
    held_out = [text for pair in pairs(1, 60) for text in (pair.source, pair.target)]
    asked = [draw.choice(held_out) for _ in range(40)] + [changed(draw, draw.choice(held_out)) for _ in range(300)]
    asked += [text for pair in pairs(2, 100) for text in (pair.source, pair.target)]
    found = {
        (match.row, match.held_out): 2.0 if match.exact else match.overlap
        for match in Index(held_out, least).matches(asked, letters(asked))
    }
    first = {text: next(other for other in held_out if slow_match(other, text, 0) == 2) for text in held_out}
    slow = {
        (row, first[text]): share
        for row, other in enumerate(asked)
        for text in held_out
        if (share := slow_match(text, other, least))
    }
    assert found == slow
    assert len(slow) > 40 + (least > 0) * 100


PLANTED = {
    "exact": lambda pair: pair,
    "width": lambda pair: Pair("此句无关", pair.target.translate({33 + n: 0xFF01 + n for n in range(94)})),
    "punctuation": lambda pair: Pair(pair.source[:4] + "、" + pair.source[4:] + "”", pair.target.replace(" ", ", ")),
    "case": lambda pair: Pair("此句无关", pair.target.upper()),
    "swapped": lambda pair: Pair(pair.target, pair.source),
    "one side": lambda pair: Pair(pair.source, "Something else altogether."),
}
NEARLY_PLANTED = {
    "longer": lambda pair: Pair("某年某月，" + pair.source + "众皆服。", "Something else."),
    "shorter": lambda pair: Pair("甲乙丙丁", " ".join(pair.target.split()[:9])),
    "two changed": lambda pair: Pair(pair.source[:5] + "某" + pair.source[6:14] + "某" + pair.source[15:], "Else."),
    "swapped": lambda pair: Pair("And so " + pair.target[:40] + pair.target[46:], "另一句。"),
}


@pytest.fixture
def test_set() -> list[Pair]:
    return unlike(random.Random(3), 40)


def unlike(draw: random.Random, count: int) -> list[Pair]:
    """Return pairs that have nothing in common: of all Han characters, and of words that nobody knows."""

    def word() -> str:
        return "".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.randint(2, 9)))

    sources = ["".join(chr(draw.randrange(0x4E00, 0x9FA0)) for _ in range(20)) for _ in range(count)]
    return [Pair(f"{source}。", " ".join(word() for _ in range(12))) for source in sources]


def screen(train: list[Pair], held_out: HeldOut) -> Screened:
    return Screen([{}], [()], as_it_is, held_out)(Block.of(train))


def keep(train: list[Pair], held_out: HeldOut) -> list[Pair]:
    return list(screen(train, held_out).kept.pairs())


@pytest.mark.parametrize(("plant", "rule"), [(p, EXACTLY) for p in PLANTED] + [(p, NEARLY) for p in NEARLY_PLANTED])
def test_planted_leaks_leave_and_the_others_stay(test_set: list[Pair], plant: str, rule: str) -> None:
    draw = random.Random(8)
    clean = unlike(draw, 3000)
    leaks = [(PLANTED if rule == EXACTLY else NEARLY_PLANTED)[plant](pair) for pair in test_set]
    train = draw.sample(clean + leaks, len(clean) + len(leaks))
    held_out = HeldOut(0.5)
    held_out.add(test_set)
    screened = screen(train, held_out)
    there = set(clean)
    assert list(screened.kept.pairs()) == [pair for pair in train if pair in there]
    assert screened.dropped == [(pair, rule) for pair in train if pair not in there]


def test_near_leaks_are_shown_with_what_they_are_near_to() -> None:
    held_out = HeldOut(0.5)
    held_out.add([Pair("天地玄黄，宇宙洪荒，日月盈昃，辰宿列张。", "x")])
    train = [Pair("天地玄黄，宇宙洪荒，日月盈昃。", "y"), Pair("寒来暑往。", "z")]
    assert keep(train, held_out) == train[1:]
    assert screen(train, held_out).near == [
        Leak("天地玄黄，宇宙洪荒，日月盈昃。", "天地玄黄，宇宙洪荒，日月盈昃，辰宿列张。", 10 / 14, False)
    ]


def test_with_no_overlap_asked_for_only_equal_sentences_leave() -> None:
    held_out = HeldOut(0.0)
    held_out.add([Pair("天地玄黄，宇宙洪荒，日月盈昃。", "Hello.")])
    train = [Pair("天地玄黄，宇宙洪荒，日月盈仄。", "a"), Pair("b", "HELLO"), Pair("天地玄黄宇宙洪荒日月盈昃", "c")]
    assert keep(train, held_out) == train[:1]


def test_nothing_held_out_removes_nothing() -> None:
    train = [Pair("天地玄黄", "a"), Pair("", ""), Pair("……", "!")]
    assert keep(train, HeldOut(0.5)) == train
    held_out = HeldOut(0.5)
    held_out.add([Pair("", "  "), Pair("短", "s")])
    assert keep(train, held_out) == train


def test_where_pairs_stand_in_blocks_changes_nothing(test_set: list[Pair]) -> None:
    held_out = HeldOut(0.5)
    held_out.add(test_set)
    train = [pair for both in zip(pairs(5, 40), map(NEARLY_PLANTED["longer"], test_set), strict=True) for pair in both]
    kept = keep(train, held_out)
    assert [pair for start in range(0, len(train), 3) for pair in keep(train[start : start + 3], held_out)] == kept


@pytest.mark.parametrize("few", [1, 3, 64])
@pytest.mark.parametrize("least", [0.0, 0.3, 0.7])
def test_a_pair_goes_where_any_match_says_so(monkeypatch: pytest.MonkeyPatch, least: float, few: int) -> None:
    monkeypatch.setattr("mtrain.corpus.held_out._FEW_HOLDERS", few)
    monkeypatch.setattr("mtrain.corpus.held_out._AT_ONCE", 50)
    draw = random.Random(10)
    held_out, test_pairs = HeldOut(least), pairs(1, 60)
    held_out.add(test_pairs)
    texts = [text for pair in test_pairs for text in pair[:2]]
    train = [Pair(changed(draw, draw.choice(texts)), changed(draw, draw.choice(texts))) for _ in range(200)]
    slow = {
        row: {(text, share) for text in texts for side in pair[:2] if (share := slow_match(text, side, least))}
        for row, pair in enumerate(train)
    }
    leaks = held_out.leaks(train)
    assert set(leaks) == {row for row, found in slow.items() if found}
    for row, leak in leaks.items():
        share = 2.0 if leak.exact else leak.overlap
        assert share in {share for _, share in slow[row]}
        assert leak.exact == any(share == 2 for _, share in slow[row])
    assert 20 < len(leaks) < 200


def test_sentences_of_one_pattern_are_told_without_comparing_each_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    def patterned(first: int) -> list[Pair]:
        names = [chr(0x4E00 + first + n) + chr(0x6E00 + first + n) for n in range(400)]
        return [Pair(f"根据本年度统计资料的记载，{name}的人口总数为{n}人。", "x") for n, name in enumerate(names)]

    asked: list[str] = []
    monkeypatch.setattr("mtrain.corpus.held_out.ngrams", lambda key: asked.append(key) or ngrams(key))
    held_out = HeldOut(0.5)
    held_out.add(patterned(0))
    tracemalloc.start()
    try:
        assert len(held_out.leaks(patterned(1000))) == 400
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(asked) < 2 * 400 + 100, "n-grams are made once of each sentence"
    assert peak < 50e6, "that 160,000 pairs of sentences share a pattern is not held in memory"


def test_a_sentence_whose_key_has_another_key_is_found() -> None:
    assert sentence_key(sentence_key("İstanbul")) != sentence_key("İstanbul")
    held_out = HeldOut(0.5)
    held_out.add([Pair("İstanbul’da sabah erken saatlerde kar yağdı.", "İyi.")])
    train = [Pair("İyi!", "a"), Pair("İstanbul’da sabah erken saatlerde kar yağmış.", "b"), Pair("İz", "c")]
    assert keep(train, held_out) == train[2:]
