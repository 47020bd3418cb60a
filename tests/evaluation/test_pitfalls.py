"""What makes figures mislead is told, with its consequence; and nothing is told without cause."""

import pytest

from mtrain.evaluation.metrics import score

SIMPLIFIED = ["他说，这个国家的东西很贵！", "你们来过这里吗？我们没来过。", "书店里面没有人，门也关了。"]
TRADITIONAL = ["他說，這個國家的東西很貴！", "你們來過這裡嗎？我們沒來過。", "書店裡面沒有人，門也關了。"]
ENGLISH = ["He said, this is dear!", "Have you been here before?", "Nobody is in the shop."]
FULL = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


def told(hypotheses: list[str], references: list[str], language: str = "zh", **more: object) -> dict[str, str]:
    sources = more.pop("sources", None)
    return score(hypotheses, references, sources, language, **more).warnings  # type: ignore[arg-type]


def half(lines: list[str]) -> list[str]:
    return [line.translate({ord(full): half for full, half in zip("，？！", ",?!", strict=True)}) for line in lines]


@pytest.mark.parametrize(
    ("hypotheses", "references", "language", "words"),
    [
        (half(SIMPLIFIED), SIMPLIFIED, "zh", "write , ? ! where the references write ，？！"),
        (SIMPLIFIED, half(SIMPLIFIED), "zh", "write ，？！ where the references write , ? !"),
        ([line.translate(FULL) for line in ENGLISH], ENGLISH, "en", "write ，？！ where the references write , ? !"),
        (["共１９９８人，对。"], ["共1998人，对。"], "zh", "Each such mark, letter or digit counts as wrong"),
    ],
)
def test_another_width_is_told_with_what_bleu_would_be(
    hypotheses: list[str], references: list[str], language: str, words: str
) -> None:
    warning = told(hypotheses, references, language)["width"]
    assert words in warning
    assert "with one width on both sides BLEU would be 100.00" in warning


@pytest.mark.parametrize(
    ("name", "hypotheses", "references", "words"),
    [
        ("script", TRADITIONAL, SIMPLIFIED, "the translations are in traditional characters, the references in simpl"),
        ("script", SIMPLIFIED, TRADITIONAL, "the translations are in simplified characters, the references in tradi"),
        ("spaces_in_chinese", [" ".join(line) for line in SIMPLIFIED], SIMPLIFIED, "100% of the translations have spa"),
        ("other_language", ENGLISH, SIMPLIFIED, "100% of the references' letters are Chinese"),
        ("other_language", ENGLISH, ENGLISH, "the tokenizer is the Chinese one, but only 0% of the references'"),
        ("empty_references", SIMPLIFIED, [SIMPLIFIED[0], " ", ""], "2 references are empty (the first is line 2)"),
        ("empty_translations", [SIMPLIFIED[0], "", ""], SIMPLIFIED, "2 translations are empty (the first is line 2)"),
    ],
)
def test_what_is_wrong_with_chinese_is_told(
    name: str, hypotheses: list[str], references: list[str], words: str
) -> None:
    assert words in told(hypotheses, references)[name]


def test_what_is_wrong_with_english_is_told() -> None:
    tokenized = [f"{line[:-1]} {line[-1]}" for line in ENGLISH]
    assert "100% of the translations end in a space and a mark" in told(tokenized, ENGLISH, "en")["spaced_ends"]
    assert "100% of the references end in a space and a mark" in told(ENGLISH, tokenized, "en")["spaced_ends"]
    assert "takes each letter for a word" in told(ENGLISH, ENGLISH, "en", bleu_tokenizer="char")["letters_as_words"]


def test_a_translation_worth_nothing_is_told() -> None:
    assert "BLEU 100.00" in told(TRADITIONAL, SIMPLIFIED, sources=SIMPLIFIED)["no_better_than_copying"]
    assert told(SIMPLIFIED, SIMPLIFIED, sources=TRADITIONAL) == {}


@pytest.mark.parametrize(
    ("hypotheses", "references", "language"),
    [
        (SIMPLIFIED, SIMPLIFIED, "zh"),
        (TRADITIONAL, TRADITIONAL, "zh"),
        (["他说：OK, 很好。", *SIMPLIFIED[1:]], ["他说：OK, 好。", *SIMPLIFIED[1:]], "zh"),
        (["第 3 章，共 100 页。"], ["第 3 章，共 100 页。"], "zh"),
        (ENGLISH, ["He says, this is dear!", *ENGLISH[1:]], "en"),
        ([ENGLISH[0] + " 。", *ENGLISH[1:]] * 20, ENGLISH * 20, "en"),
        (["昺曩"], ["昺曩"], "lzh"),
        (SIMPLIFIED * 10, [*SIMPLIFIED * 9, "纔", *SIMPLIFIED[1:]], "zh"),
    ],
)
def test_nothing_is_told_without_cause(hypotheses: list[str], references: list[str], language: str) -> None:
    assert told(hypotheses, references, language) == {}
