"""The command: what it leaves behind, its own check of it, and what it says where something is not to be had."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from mtrain.commands.export import Wanted, export
from mtrain.config.load import load_config
from mtrain.errors import ExportError, InputError
from mtrain.export import check, ctranslate2, target
from mtrain.export.check import LIMITS, Pairs, Row, judge, spread


def run(model, name, **wanted):
    return export(load_config(str(model / "config.yaml"), ["run.threads=2"]), Wanted(name, model=model, **wanted))


@pytest.mark.parametrize("name", ["ctranslate2", "huggingface"])
def test_an_export_lies_beside_its_model_and_says_how_it_was_checked(name, model_folder, check_files, capsys):
    model = model_folder()
    folder = run(model, name, check=check_files[0], reference=check_files[1])
    assert folder == model.parent / name
    found = json.loads((folder / "export.json").read_text("utf-8"))
    assert found["target"] == name
    greedy, beam = (Row(**row) for row in found["check"])
    assert (greedy.search, greedy.lines, beam.search) == ("greedy", 100, "beam 4")
    assert greedy.same >= 98
    assert 0 < max(greedy.difference, beam.difference) < LIMITS[""].difference
    assert greedy.bleu == pytest.approx(greedy.exported_bleu, abs=0.2)
    printed = capsys.readouterr()
    assert "largest difference of scores" in printed.out
    assert str(folder) in printed.err


def test_a_model_may_be_named_by_its_run_and_by_dots(model_folder, check_files, tmp_path, monkeypatch):
    config = load_config(str(model_folder() / "config.yaml"), ["run.threads=2"])
    beside = tmp_path / "run" / "ctranslate2"
    (tmp_path / "empty").mkdir()
    for here, model, output, expected in (
        (tmp_path / "run", Path(), None, beside),
        (tmp_path / "run" / "model", Path(), None, beside),
        (beside, Path(".."), None, beside),
        (tmp_path / "empty", tmp_path / "run", Path(), tmp_path / "empty"),
    ):
        monkeypatch.chdir(here)
        found = export(config, Wanted("ctranslate2", model=model, output=output, check=check_files[0]))
        assert found == expected
        assert (found / "export.json").is_file()


def test_quantised_it_has_a_folder_of_its_own(model_folder, check_files):
    model = model_folder()
    folder = run(model, "ctranslate2", quantization="int8", check=check_files[0])
    run(model, "ctranslate2", quantization="int8", check=check_files[0])  # it may take its own place
    assert folder.name == "ctranslate2-int8"
    assert json.loads((folder / "export.json").read_text("utf-8"))["check"][0]["bleu"] is None


@pytest.mark.parametrize("name", ["ctranslate2", "huggingface"])
def test_an_export_that_translates_otherwise_is_not_left_behind(name, model_folder, check_files, monkeypatch):
    real = target.output_bias
    module = __import__(f"mtrain.export.{name}", fromlist=["TARGET"])
    monkeypatch.setattr(module, "output_bias", lambda model: real(model) + 3 * torch.randn(1200))
    model = model_folder()
    with pytest.raises(ExportError, match=r"not quantised: \d+ of 100 texts are the same, at least 95% should be"):
        run(model, name, check=check_files[0])
    assert [path.name for path in model.parent.iterdir() if not path.name.startswith(".")] == ["model"]


def test_scores_are_judged_as_well_as_texts():
    rows = [Row("greedy", 100, 99, 0.001, None, None), Row("beam 4", 100, 50, 0.02, None, None)]
    judge("X", rows, "float16")
    with pytest.raises(ExportError, match=r"not quantised: scores differ by up to 0\.0200 nats a token"):
        judge("X", rows, "")


def test_lines_to_check_with_are_spread_over_those_that_fit(make_bundle):
    lines = [f"{number}。" for number in range(1000)]
    lines[::2] = [""] * 500
    lines[1] = "很长的一行，" * 100
    pairs = spread(Pairs(lines, list(map(str, range(1000)))), make_bundle(), 100)
    assert len(pairs.sources) == check.LINES
    assert pairs.references[0] == "3"
    assert int(pairs.references[-1]) > 980
    assert all(line == f"{reference}。" for line, reference in zip(*pairs, strict=True))


def test_what_cannot_be_exported_is_told_in_one_line(model_folder, check_files, tmp_path, monkeypatch):
    model = model_folder(positions="alibi")

    def complaint(*arguments, error=ExportError, **wanted):
        with pytest.raises(error) as found:
            run(model, *arguments, **wanted)
        assert "\n" not in str(found.value)
        return str(found.value)

    assert "no place for such a model" in complaint("ctranslate2")
    assert "no place for such a model" in complaint("huggingface")
    assert "--quantization int8: Hugging Face is written in fp32 or in bfloat16" in complaint(
        "huggingface", quantization="int8"
    )
    assert "--check FILE" in complaint("onnx")
    assert "--reference goes with --check" in complaint("onnx", reference=check_files[1], error=InputError)
    (tmp_path / "empty").write_text("\n\n", "utf-8")
    assert "no line to check" in complaint("onnx", check=tmp_path / "empty")
    assert "is there already" in complaint("onnx", check=check_files[0], output=model.parent, error=InputError)
    monkeypatch.setattr(target, "find_spec", lambda package: None)
    assert complaint("onnx") == 'onnx: onnx is not installed. Run pip install "mtrain[onnx]"'


def test_the_first_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(target, "find_spec", lambda package: SimpleNamespace() if package == "a" else None)
    with pytest.raises(ExportError, match="x: b is not installed"):
        target.check_installed("x", ("a", "b"))
    assert ctranslate2.TARGET.packages == ("ctranslate2",)
