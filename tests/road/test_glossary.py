"""`mtrain translate --glossary`: what it changes, what it leaves alone, and what it tells."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import mtrain
from mtrain.commands.interactive import converse
from mtrain.commands.translate import Wanted, translate
from mtrain.decoding.search import Search
from mtrain.errors import InputError

LINES = ["123", "", "98765", "犇4", "11 12", "55555"]


@pytest.fixture
def model(trained):
    return mtrain.load(trained.run.folder)


@pytest.fixture
def written(trained, tmp_path):
    """Return what translates lines with terms, as the command does."""

    def written(terms, lines=LINES, config=trained, models=(), **wanted):
        (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        (tmp_path / "terms.tsv").write_text(terms, "utf-8")
        glossary = tmp_path / "terms.tsv" if terms else None
        translate(config, [tmp_path / "in.txt"], models, Wanted(tmp_path / "out.txt", glossary=glossary, **wanted))
        return (tmp_path / "out.txt").read_text("utf-8").split("\n")[:-1]

    return written


def test_terms_are_obeyed_told_of_and_other_lines_are_the_same(written, tmp_path, capsys):
    plain = written("")
    out = written("123\tabc\n犇\t牛牛\n12\t犇\n12\t77 77\n", report=tmp_path / "report.jsonl")
    assert "abc" in out[0].lower()
    assert "牛牛" in out[3]
    assert "犇" in out[4] or "77 77" in out[4]
    assert [out[i] for i in (1, 2, 5)] == [plain[i] for i in (1, 2, 5)]
    assert "glossary: 3 terms met in 3 lines; 3 obeyed, 0 missed\n" in capsys.readouterr().err
    records = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text("utf-8").split("\n")[:-1]]
    assert records[4]["glossary"] == [{"term": "12", "targets": ["犇", "77 77"], "met": 1, "obeyed": 1}]
    assert [len(record["glossary"]) for record in records] == [1, 0, 0, 1, 1, 0]


def test_only_lines_that_do_not_obey_anyway_are_searched_again(model, monkeypatch):
    searched = []
    plain = Search._search

    def watched(self, sources, prefixes, best, choice):
        searched.append((len(sources), choice is not None))
        return plain(self, sources, prefixes, best, choice)

    lines = ["123", "456", "789", "98765"]
    texts = [translation.text for translation in model.translate(lines, alignment=False)]
    monkeypatch.setattr(Search, "_search", watched)
    model.with_glossary({"0": "x"}).translate(lines, alignment=False)
    assert sum(count for count, guided in searched if guided) == 0
    terms = {"123": texts[0], "456": "Abc", "789": [texts[2], "xyz"]}
    found = model.with_glossary(terms).translate(lines, alignment=False)
    assert sum(count for count, guided in searched if guided) == 1
    assert [found[i].text for i in (0, 2, 3)] == [texts[i] for i in (0, 2, 3)]
    assert "Abc" in found[1].text


def test_all_candidates_obey_with_prefixes_penalties_rules_and_several_models(model, trained, written):
    glossed = model.with_glossary({"123": "abc", "98765": ["xyz", "uvw"]})
    settings = {"length_normalization": "average", "coverage_penalty": 0.2, "no_repeat_ngram": 3, "min_length": 40}
    for more in ({"min_length": 40}, settings, {"beam": 8, "length_penalty": 0.0, "min_length": 40}):
        first, second = glossed.translate(["123", "98765"], nbest=4, prefixes=["77 ", "1"], **more)
        for candidate in first.candidates:
            assert candidate.text.startswith("77")
            assert "abc" in candidate.text.lower()
        for candidate in second.candidates:
            assert candidate.text.startswith("1")
            assert "xyz" in candidate.text.lower() or "uvw" in candidate.text.lower()
    assert "abc" in glossed.translate(["123"], beam=1)[0].text.lower()
    folder = Path(trained.run.folder) / "model"
    terms = "123\tabc\n98765\txyz\n"
    assert written(terms, models=[folder, folder]) == written(terms)


def test_translations_do_not_depend_on_what_they_are_translated_with(model):
    lines = [f"{number} {number * number}" for number in range(14)]
    glossed = model.with_glossary({str(number): "ab" * (number % 3 + 1) for number in range(1, 14, 2)})
    together = [translation.text for translation in glossed.translate(lines, alignment=False)]
    for at_once in (1, 5):
        windows = [lines[i : i + at_once] for i in range(0, len(lines), at_once)]
        found = [translation.text for window in windows for translation in glossed.translate(window, alignment=False)]
        assert found == together


def test_terms_of_a_long_line_are_said_in_their_parts(model):
    line = "1234 567. " * 30 + "abc 99."
    glossed = model.with_glossary({"abc": "xyz", "567": "uvw"})
    (found,) = glossed.translate([line], max_source_tokens=40)
    assert found.parts > 5
    assert [(met.source, met.times, met.missed) for met in found.terms] == [("567", 30, 0), ("abc", 1, 0)]


def test_what_cannot_be_said_is_missed_and_nothing_else_suffers(model, written, capsys):
    (plain,) = model.translate(["123 456"])
    (found,) = model.with_glossary({"123": "too long" * 40}).translate(["123 456"])
    assert (found.text, found.flags, found.terms[0].missed) == (plain.text, plain.flags, 1)
    (found,) = model.with_glossary({"123": "too long" * 40, "456": "abc"}).translate(["123 456"])
    assert [met.missed for met in found.terms] == [1, 0]
    (found,) = model.with_glossary({"7": "abc"}).translate(["7 7"], no_repeat_ngram=2)
    assert [(met.times, met.said) for met in found.terms] == [(2, model.translate(["7 7"])[0].text.count("abc"))]
    written(f"123\t{'too long' * 40}\n")
    told = capsys.readouterr().err
    assert "warning: glossary: 1 term met in 1 line; 0 obeyed, 1 missed: " in told
    assert "in.txt:1 123 → too long" in told


def test_sampling_and_bad_files_are_refused_before_the_model_is_read(trained, written, model, tmp_path):
    shutil.rmtree(f"{trained.run.folder}/model")
    with pytest.raises(InputError, match=r"terms\.tsv:1: expects two columns"):
        written("123 abc\n")
    with pytest.raises(InputError, match="an export does not obey a glossary"):
        replace(model, engine=object()).with_glossary({"123": "abc"})
    sampling = replace(trained, decoding=replace(trained.decoding, method="sampling"))
    message = r"a glossary needs a search, and decoding\.method is sampling\. Set decoding\.method=beam"
    with pytest.raises(InputError, match=message):
        written("123\tabc\n", config=sampling)
    with pytest.raises(InputError, match="--glossary is not to be had from --engine ctranslate2"):
        written("123\tabc\n", engine="ctranslate2")
    with pytest.raises(InputError, match=message):
        model.with_glossary({"123": "abc"}).translate(["123"], method="sampling")


def test_at_the_prompt_too(trained, tmp_path, monkeypatch, capsys):
    (tmp_path / "terms.tsv").write_text(f"123\tabc\n456\t{'too long' * 40}\n", "utf-8")
    (tmp_path / "typed").write_text("123\n456\n", "utf-8")
    with (tmp_path / "typed").open(encoding="utf-8") as typed:
        monkeypatch.setattr("sys.stdin", typed)
        converse(trained, [], [], Wanted(nbest=1, glossary=tmp_path / "terms.tsv"))
    lines = capsys.readouterr().out.split("\n")
    assert "abc" in lines[0].lower()
    assert any(line.startswith("  missed  456 → too long") for line in lines)
