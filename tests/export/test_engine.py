"""`translate --engine ctranslate2`: what comes out is what mtrain's own search finds, scores and flags included."""

from pathlib import Path

import pytest

import mtrain
from mtrain.api import load_models, open_export
from mtrain.commands.export import Wanted as WantedExport
from mtrain.commands.export import export
from mtrain.commands.translate import Wanted, translate
from mtrain.config.load import load_config
from mtrain.errors import ExportError, InputError


@pytest.fixture
def config(model_folder, check_files):
    """Return the settings of a run that has a model and its export."""
    model = model_folder()
    settings = load_config(str(model / "config.yaml"), ["run.threads=2", "decoding.max_length_factor=1"])
    export(settings, WantedExport("ctranslate2", model=model, check=check_files[0]))
    return settings


@pytest.fixture
def both(config):
    """Return the model, and its export in the engine."""
    folder = Path(config.run.folder)
    return load_models([folder / "model"], "cpu", 2), open_export(folder / "ctranslate2", config.decoding, "cpu", 2)


def test_a_program_loads_an_export_as_any_model(config, both):
    folder = f"{config.run.folder}/ctranslate2"
    assert mtrain.load(folder, threads=2).translate(["一"]) == both[1].translate(["一"], max_length_factor=0.01)
    with pytest.raises(InputError, match=r"/ctranslate2: is an export, which works alone, by --engine ctranslate2$"):
        mtrain.load(folder, folder)


SETTINGS = [
    {"length_penalty": 0.6},
    {"length_penalty": 0.0},
    {"length_normalization": "average", "length_penalty": 1.0},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_greedy_search_finds_the_same_with_the_same_scores(settings, both, sample_lines):
    lines = [*sample_lines["source"][:40], "", "一行很长的文字。" * 60, "狖狖"]
    limit = {"max_length_factor": 0.001, "max_length_extra": 64}  # one that the engine does not round
    ours, theirs = (model.translate(lines, beam=1, alignment=False, **limit, **settings) for model in both)
    same = [(one, other) for one, other in zip(ours, theirs, strict=True) if one.text == other.text]
    assert len(same) >= 42
    for one, other in same:
        assert other.flags == one.flags
        assert other.pieces == one.pieces
        assert other.candidates[0].cut == one.candidates[0].cut
        if not one.candidates[0].cut:
            assert other.score == pytest.approx(one.score, abs=1e-3)
    assert sum(not one.candidates[0].cut for one, _ in same) > 0
    assert sum(one.candidates[0].cut for one, _ in same) > 0
    assert theirs[-2].parts > 1
    assert "unknown" in theirs[-1].flags


def test_shortest_length_and_no_repeated_ngram_are_obeyed(both, sample_lines):
    _, engine = both
    lines = sample_lines["source"][:20]
    for found in engine.translate(lines, beam=2, min_length=5, no_repeat_ngram=2, max_length_factor=0.5):
        (candidate,) = found.candidates
        assert len(candidate.pieces) >= 4
        pairs = list(zip(candidate.pieces, candidate.pieces[1:], strict=False))
        assert len(set(pairs)) == len(pairs)
    (whole,) = engine.translate(lines[:1], min_length=1000)  # the limit is the stronger, as in mtrain's own search
    assert whole.candidates[0].cut


def test_a_long_source_is_read_to_its_end(both):
    _, engine = both
    long, limits = "一，二，" * 300, {"max_source_tokens": 2000, "max_length_factor": 0.001, "max_length_extra": 5}
    one, other = engine.translate([long + "我昨天买了三本书。", long + "今天天气很好。"], beam=1, **limits)
    assert min(len(one.pieces), len(other.pieces)) > 1024
    assert one.parts == other.parts == 1
    assert one.score != other.score


def test_candidates_come_best_first_by_the_length_penalty(both, sample_lines):
    _, engine = both
    for found in engine.translate(sample_lines["source"][:10], nbest=4, length_penalty=2.0):
        scores = [candidate.score for candidate in found.candidates]
        assert len(scores) == 4
        assert scores == sorted(scores, reverse=True)
        for candidate in found.candidates:
            length = len(candidate.pieces) + (not candidate.cut)
            assert candidate.score == pytest.approx(candidate.log_probability / ((5 + length) / 6) ** 2.0)


def test_no_translation_depends_on_its_neighbours(both, sample_lines):
    _, engine = both
    lines = sorted(sample_lines["source"][:40], key=len)
    together = engine.translate(lines, max_length_factor=0.5, max_length_extra=3)
    alone = [engine.translate([line], max_length_factor=0.5, max_length_extra=3)[0] for line in lines[::4]]
    assert [one.text for one in together[::4]] == [one.text for one in alone]
    assert any(one.candidates[0].cut for one in alone)
    assert not all(one.candidates[0].cut for one in alone)


def test_the_command_writes_the_same_files(config, check_files, tmp_path):
    lines, written = tmp_path / "lines", {}
    lines.write_text("一\n\n" + "二三四\n" * 5, "utf-8")
    for engine in ("pytorch", "ctranslate2"):
        report = tmp_path / f"{engine}.jsonl"
        translate(config, [lines], [], Wanted(output=tmp_path / engine, report=report, engine=engine, nbest=2))
        assert report.read_text("utf-8").count("\n") == 7
        written[engine] = [line.split("\t")[0] for line in (tmp_path / engine).read_text("utf-8").split("\n")]
    assert written["pytorch"] == written["ctranslate2"]


def test_what_the_engine_has_not_got_is_told_in_one_line(config, both, check_files, tmp_path):
    model, engine = both

    def complaint(wanted, *folders, error=InputError):
        with pytest.raises(error) as found:
            translate(config, [check_files[0]], folders, wanted)
        assert "\n" not in str(found.value)
        return str(found.value)

    by_engine = {"engine": "ctranslate2", "output": tmp_path / "out"}
    assert "--alignment is not to be had" in complaint(Wanted(alignment=tmp_path / "a", **by_engine))
    assert "--prefixes is not to be had" in complaint(Wanted(prefixes=check_files[1], **by_engine))
    run = Path(config.run.folder)
    assert "takes one --model" in complaint(Wanted(**by_engine), run / "ctranslate2", run / "ctranslate2")
    assert "no exported model here" in complaint(Wanted(**by_engine), run / "model", error=ExportError)
    (run / "model" / "model.safetensors").write_bytes(b"trained further")
    assert "is of another model" in complaint(Wanted(**by_engine), error=ExportError)
    refused = {"method": "sampling", "coverage_penalty": 0.2, "min_length_factor": 0.5, "repetition_penalty": 1.2}
    for name, value in refused.items():
        with pytest.raises(InputError, match=rf"decoding\.{name}: {value}: CTranslate2 has not got it as mtrain has"):
            engine.translate(["一"], **{name: value})
    for limits, message in (
        ({"max_source_tokens": 1500, "max_length_factor": 2}, "translations of up to 3030 tokens, only of 2048"),
        ({"max_source_tokens": 2048, "max_length_factor": 0.5}, "sources of up to 2049 tokens, only of 2048"),
    ):
        with pytest.raises(InputError, match=rf"decoding\.max_source_tokens: \d+: .* {message}"):
            engine.translate(["一"], **limits)
    with pytest.raises(InputError, match="leave prefixes out"):
        engine.translate(["一"], prefixes=["a"])
    with pytest.raises(InputError, match="an export does not score"):
        engine.score(["一"], ["a"])
    assert model.translate(["一"])[0].alignment is not None
    assert engine.translate(["一"])[0].alignment is None
