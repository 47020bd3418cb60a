"""Languages by their codes."""

import pytest

from mtrain.languages import complaint, joins_without_space, primary


@pytest.mark.parametrize("code", ["zh", "ZH", "zh-CN", "zh_Hant_TW"])
def test_the_language_of_a_code_is_its_first_part(code: str) -> None:
    assert primary(code) == "zh"


@pytest.mark.parametrize(
    ("code", "joins"),
    [
        *((code, True) for code in ("zh", "zh-Hant", "lzh", "yue", "nan", "ja", "jpn_Jpan", "th", "lo", "km", "my")),
        *((code, False) for code in ("en", "de", "ko", "kor", "vi")),
    ],
)
def test_who_writes_without_spaces(code: str, joins: bool) -> None:
    assert joins_without_space(code) is joins


@pytest.mark.parametrize(
    ("code", "cure"),
    [
        ("cn", ". Write zh"), ("CN-zh", ". Write zh"), ("chinese", ". Write zh"), ("Mandarin", ". Write zh"),
        ("wenyan", ". Write lzh"), ("jp", ". Write ja"), ("kr", ". Write ko"), ("english", ". Write en"),
        ("klingon", ""), ("z", ""), ("", ""), ("zh!", ""),
    ],
)  # fmt: skip
def test_what_is_no_code_is_told(code: str, cure: str) -> None:
    assert complaint(code) == f"expects a language code such as zh, lzh or en, found '{code}'{cure}"


@pytest.mark.parametrize("code", ["zh", "lzh", "zho_Hans", "zh-Hant-TW", "en", "pt-BR"])
def test_codes_are_taken_as_they_are(code: str) -> None:
    assert complaint(code) == ""
