"""A killed run goes on as if nothing had happened, to the last bit."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from safetensors.numpy import load_file

from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare
from mtrain.errors import CheckpointError


def start_fit(file, *overrides):
    arguments = [part for override in overrides for part in ("--set", override)]
    return subprocess.Popen(
        [sys.executable, "-m", "mtrain", "fit", "--config", str(file), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=file.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def final_files(run):
    """Return all that a run ends with, but for times and speeds."""
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").split("\n")[:-1]]
    for record in metrics:
        record.pop("seconds")
        record.pop("target_tokens_per_second", None)
        record.pop("data_wait_share", None)
    state = json.loads(sorted(run.glob("checkpoints/update-*"))[-1].joinpath("state.json").read_text("utf-8"))["state"]
    state.pop("seconds")
    return {
        "model": {name: weight.tobytes() for name, weight in load_file(run / "model" / "model.safetensors").items()},
        "checkpoints": {
            str(part.relative_to(run)): {name: tensor.tobytes() for name, tensor in load_file(part).items()}
            for part in sorted(run.glob("checkpoints/*/*.safetensors"))
        },
        "state": state,
        "metrics": metrics,
    }


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_stopped_and_continued_is_as_if_never_stopped(digits, load, precision):
    file = digits()
    settings = [f"training.precision={precision}", "training.accumulate=2"]
    twin = load(file, *settings, f"run.folder={file.parent}/twin")
    prepare(twin)
    fit(twin)
    # 13 lies between two checkpoints, between two lines of the journal and within an epoch.
    fit(load(file, *settings, "training.max_updates=13"))
    fit(load(file, *settings))
    ends = [final_files(file.parent / run) for run in ("twin", "run")]
    # The first stop validated and wrote a line once more than its twin.
    for end in ends:
        end["metrics"] = [record for record in end["metrics"] if record["update"] in (8, 16, 24)]
        for record in end["metrics"]:
            if record["kind"] == "train":
                record.clear()
    assert ends[0]["model"] == ends[1]["model"]
    assert ends[0]["metrics"] == ends[1]["metrics"]
    last = "checkpoints/update-00000024/optimizer.safetensors"
    assert ends[0]["checkpoints"][last] == ends[1]["checkpoints"][last]


@pytest.mark.slow
def test_killed_at_random_moments_the_run_ends_bit_equal(digits, load):
    file = digits()
    prepare(load(file))
    settings = ["training.max_updates=400"]
    twin = start_fit(file, *settings, f"run.folder={file.parent}/twin")
    began = time.monotonic()
    _, errors = twin.communicate()
    assert twin.returncode == 0, errors.decode()
    duration = time.monotonic() - began
    generator = random.Random(time.time_ns())
    kills = 0
    for _ in range(100):
        run = start_fit(file, *settings)
        try:
            _, errors = run.communicate(timeout=generator.uniform(0.3, 0.7) * duration)
            assert run.returncode == 0, errors.decode()
            break
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
            run.communicate()
            kills += 1
    assert kills
    assert final_files(file.parent / "run") == final_files(file.parent / "twin")


def test_a_finished_run_has_nothing_to_do(digits, load, capsys):
    config = load(digits(), "training.max_updates=4")
    prepare(config)
    fit(config)
    capsys.readouterr()
    fit(config)
    assert "nothing to do" in capsys.readouterr().err


def test_what_must_not_change_is_named_when_it_does(digits, load, monkeypatch):
    file = digits()
    prepare(load(file))
    fit(load(file, "training.max_updates=4"))
    with pytest.raises(CheckpointError, match=r"training\.warmup_updates was 200, is now 100"):
        fit(load(file, "training.warmup_updates=100"))
    with pytest.raises(CheckpointError, match=r"model\.norm_position was pre, is now post"):
        fit(load(file, "model.norm_position=post"))
    monkeypatch.setattr("mtrain.commands.fit.compile_layers", lambda layers, device: None)
    with pytest.raises(CheckpointError, match=r"training\.compile was False, is now True"):
        fit(load(file, "training.compile=true"))
    (file.parent / "corpus" / "train.source").write_text("1\n" * 100, "utf-8")
    (file.parent / "corpus" / "train.target").write_text("1\n" * 100, "utf-8")
    prepare(load(file))
    with pytest.raises(CheckpointError, match="prepared data"):
        fit(load(file))


def test_a_damaged_checkpoint_is_named_with_the_older_one(digits, load):
    file = digits()
    prepare(load(file))
    fit(load(file, "training.max_updates=8"))
    latest = file.parent / "run" / "checkpoints" / "update-00000008"
    with (latest / "optimizer.safetensors").open("r+b") as part:
        part.truncate(1000)
    with pytest.raises(CheckpointError, match=r"update-00000008.*damaged.*update-00000004"):
        fit(load(file))
