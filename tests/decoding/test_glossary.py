"""Which terms a line has, what its translation has to say, whether it does, and files of terms."""

import pytest

from mtrain.decoding.constraints import NEVER
from mtrain.decoding.glossary import Demand, Finder, Glossary, Met, read_terms, says
from mtrain.decoding.report import Obeyed, record
from mtrain.decoding.translation import Candidate, Translation
from mtrain.errors import InputError
from mtrain.tokenizer import Tokenizer


@pytest.fixture
def glossary():
    """Return the maker of glossaries of text as it is."""
    tokenizer = Tokenizer(None)
    return lambda terms: Glossary(
        {source: targets.split("|") for source, targets in terms.items()}, {"source": tokenizer, "target": tokenizer}
    )


def demanded(glossary, line):
    return {(tuple(sorted(demand.texts)), demand.times) for demand in glossary.demands(line)}


@pytest.mark.parametrize(
    ("terms", "text", "found"),
    [
        (["曹操", "曹", "操兵"], "曹操兵曹", {"曹操": 1, "曹": 1}),
        (["天下", "下之", "天下之势"], "天下之大，天下之势", {"天下": 1, "天下之势": 1}),
        (["cat", "cats"], "cat cats category concat cat.", {"cat": 2, "cats": 1}),
        (["New York", "York", "New York City"], "New York City; New York, York New Yorker",
         {"New York City": 1, "New York": 1, "York": 1}),
        (["GDP"], "中国GDP增长，GDPR不算", {"GDP": 1}),
        (["aba"], "aba ababa", {"aba": 1}),
        (["哈哈"], "哈哈哈哈哈", {"哈哈": 2}),
        (["서울"], "서울에서", {"서울": 1}),
        (["+1"], "a+1b +1", {"+1": 1}),
        (["3"], "3 13 3.5", {"3": 2}),
    ],
)  # fmt: skip
def test_the_longest_term_is_found_from_the_left_and_whole_words_where_spaces_part_them(terms, text, found):
    assert Finder(terms).count(text) == found


def test_terms_are_found_in_any_width_and_small_ones_in_any_case(glossary):
    terms = glossary({"GDP": "国内生产总值", "apple": "苹果", "ＡＩ": "人工智能"})
    line = "ＧＤＰ of Apple, APPLE; gdp, AI"
    assert demanded(terms, line) == {(("国内生产总值",), 1), (("苹果",), 2), (("人工智能",), 1)}
    assert terms.compare("ＧＤＰ", "国内生产总值") == (Met("GDP", ("国内生产总值",), 1, 1),)


def test_a_translation_without_capitals_may_begin_a_sentence(glossary):
    terms = glossary({"苹果": "apple", "曹操": "Cao Cao"})
    assert [met.said for met in terms.compare("苹果，苹果，苹果", "Apple and apple, APPLE")] == [2]
    assert [met.said for met in terms.compare("曹操", "cao cao")] == [0]


def test_a_term_met_twice_must_be_said_twice_in_any_of_its_ways(glossary):
    terms = glossary({"曹操": "Cao Cao|Mengde"})
    assert [met.said for met in terms.compare("曹操与曹操", "Cao Cao")] == [1]
    assert [met.missed for met in terms.compare("曹操与曹操", "Mengde and Cao Cao")] == [0]
    assert terms.compare("刘备", "Cao Cao") == ()


def test_terms_that_share_a_translation_ask_for_it_together_and_each_text_counts_once(glossary):
    terms = glossary({"魏王": "Cao Cao|King of Wei", "曹操": "Cao Cao", "孙权": "Sun Quan"})
    assert demanded(terms, "魏王曹操与孙权") == {(("Cao Cao", "King of Wei"), 2), (("Sun Quan",), 1)}
    assert [(met.source, met.said) for met in terms.compare("魏王曹操", "Cao Cao")] == [("魏王", 0), ("曹操", 1)]
    assert [met.said for met in terms.compare("魏王曹操", "Cao Cao, King of Wei")] == [1, 1]


def test_a_translation_within_another_is_not_said_by_it(glossary):
    terms = glossary({"纽约": "New York", "纽约市": "New York City"})
    assert [met.said for met in terms.compare("纽约市在纽约", "New York City")] == [1, 0]
    assert [met.said for met in terms.compare("纽约市在纽约", "New York City is in New York")] == [1, 1]
    demands = [Demand(frozenset(["New York"]), 1), Demand(frozenset(["New York City"]), 1)]
    assert says("New York City in New York", demands)
    assert not says("New York City", demands)


def test_a_file_of_terms_has_comments_blank_lines_and_terms_with_several_translations(tmp_path):
    file = tmp_path / "terms.tsv"
    file.write_bytes("\ufeff# 人名\r\n曹操\tCao Cao\r\n\r\n曹操\t Cao  Mengde \t\t\r\n刘备\tLiu Bei".encode())
    assert read_terms(file) == {"曹操": ["Cao Cao", "Cao Mengde"], "刘备": ["Liu Bei"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("曹操\tCao\n刘备 Liu Bei\n", r"terms\.tsv:2: expects two columns.* found 1; write a tab"),
        ("曹操\tCao Cao\tn.\n", r"terms\.tsv:1: expects two columns.* found 3; other .* lines of their own"),
        ("\n \tCao Cao\n", r"terms\.tsv:2: the source term is empty; fill it in, or remove the line"),
        ("曹操\t\u200b\n", r"terms\.tsv:1: the translation is empty; fill it in"),
        ("曹操\t\n", r"terms\.tsv:1: expects two columns"),
        ("# nothing\n", r"terms\.tsv: has no term\. Write a source term, a tab and its translation"),
        ("", r"terms\.tsv: has no term"),
        (b"\xb2\xdc\xb2\xd9\tCao\n", r"terms\.tsv:1: not UTF-8 .* convert it"),
    ],
)
def test_bad_files_of_terms_are_named_with_line_and_cure(tmp_path, content, message):
    file = tmp_path / "terms.tsv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message) as error:
        read_terms(file)
    assert "\n" not in str(error.value)


def test_a_glossary_that_is_not_there_is_named(tmp_path):
    for path in (tmp_path, tmp_path / "none.tsv"):
        with pytest.raises(InputError, match=f"{path.name}: there is no such glossary"):
            read_terms(path)


def test_empty_terms_of_a_program_are_refused(glossary):
    for terms in ({"": "x"}, {"曹操": ""}, {"\u200b": "x"}):
        with pytest.raises(InputError, match=r"glossary: the term .* must not be empty"):
            glossary(terms)


def translation(source, text, terms):
    return Translation(source, (Candidate(text, -1.0, -1.0, False, ()),), (), 1, "", (), None, terms)


def test_the_report_and_the_summary_tell_what_was_met_obeyed_and_missed(glossary, capsys):
    terms = glossary({"曹操": "Cao Cao|Mengde", "刘备": "Liu Bei"})
    obeyed = Obeyed()
    for place, (source, text) in enumerate([("曹操与刘备", "Cao Cao and Liu"), ("孙权", "Sun"), ("刘备", "Liu Bei")]):
        one = translation(source, text, terms.compare(source, text))
        obeyed.note(one, f"in.txt:{place}")
        if place == 0:
            assert '"glossary": [{"term": "曹操", "targets": ["Cao Cao", "Mengde"], "met": 1, "obeyed": 1}, ' in record(
                one, "in.txt:0"
            )
    obeyed.tell()
    told = capsys.readouterr().err
    assert told == "warning: glossary: 3 terms met in 2 lines; 2 obeyed, 1 missed: in.txt:0 刘备 → Liu Bei\n"
    assert "glossary" not in record(translation("曹操", "x", None), "in.txt:0")


def test_where_nothing_was_found_the_record_has_no_score():
    nothing = Translation("曹操", (Candidate("", NEVER, NEVER, True, ()),), (), 1, "", ())
    assert '"score": null' in record(nothing, "in.txt:0")
