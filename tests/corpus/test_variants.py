"""Traditional and simplified characters as OpenCC knows them; and one line where it is not installed."""

import builtins
import random
from typing import Any

import pytest

from mtrain.corpus import variants
from mtrain.corpus.spelling import Spelling
from mtrain.corpus.variants import count_variants, has_opencc, to_simplified, to_traditional, variant
from mtrain.errors import CorpusError

needs_opencc = pytest.mark.skipif(not has_opencc(), reason="needs OpenCC: pip install 'mtrain[opencc]'")


@needs_opencc
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("漢語很難學", "traditional"),
        ("汉语很难学", "simplified"),
        ("汉语和漢語", "both"),
        ("人口不多，hello 123", "neither"),
        ("", "neither"),
        # Characters that are used in both: by themselves phrases tell, beside others they do not count.
        ("皇后", "neither"),
        ("后来", "simplified"),
        ("乾隆", "neither"),
        ("於是", "traditional"),
        ("皇后與里長", "traditional"),
        ("乾隆时于此", "simplified"),
        ("𪚥𠮷", "neither"),
    ],
)
def test_which_characters_a_line_has(text: str, kind: str) -> None:
    assert variant(text) == kind


@needs_opencc
def test_lines_are_counted_by_kind() -> None:
    lines = ["漢語", "汉语", "中文", "汉语漢語", "汉字"]
    assert count_variants(lines) == {"traditional": 1, "simplified": 2, "both": 1, "neither": 1}


@needs_opencc
def test_converting_there_and_back() -> None:
    assert to_traditional("汉语很难学，头发干了。") == "漢語很難學，頭髮幹了。"
    assert to_simplified("漢語很難學，頭髮乾了。") == "汉语很难学，头发干了。"
    # What is right already is not touched, although OpenCC would: 賈后 is no 賈後, 张乾 is no 张干.
    assert to_traditional("賈后讒廢") == "賈后讒廢"
    assert to_simplified("张乾说") == "张乾说"


@needs_opencc
@pytest.mark.parametrize("script", ["simplified", "traditional"])
def test_converting_twice_is_converting_once_and_leaves_the_others_none(script: Any) -> None:
    generator = random.Random(7)
    spelling = Spelling(script=script)
    other = {"simplified": "traditional", "traditional": "simplified"}[script]
    for _ in range(300):
        once = spelling("".join(generator.choices("漢汉語语國国學学後后裡里乾干頭头發发髮的是人，", k=10)))
        assert spelling(once) == once
        assert variant(once) not in (other, "both")


def test_without_opencc_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "opencc":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    variants._converter.cache_clear()
    variants._characters.cache_clear()
    assert not has_opencc()
    with pytest.raises(CorpusError, match=r'^corpus\.source_script and target_script need OpenCC, .*mtrain\[opencc\]'):
        Spelling(script="simplified")("漢語")
