"""Two processes train one model as one process does, and neither waits for a dead one."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch.distributed as dist
from safetensors.numpy import load_file

from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not dist.is_available(), reason="this PyTorch is built without torch.distributed"),
]

SETTINGS = ["run.threads=1", "training.accumulate=2", "training.precision=fp32", "training.log_every_updates=1"]

both = pytest.mark.parametrize("distributed", ["ddp", "fsdp"])

LAST = "checkpoints/update-00000024"
LONG = ["training.max_updates=100000", "training.validate_pairs=0"]


def start(file, processes, *overrides):
    arguments = [part for override in (*SETTINGS, *overrides) for part in ("--set", override)]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    return subprocess.Popen(
        [*launcher, "-m", "mtrain", "fit", "--config", str(file), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=file.parent,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def figures(run):
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").split("\n")[:-1]]
    return {key: [record[key] for record in records if key in record] for key in ("loss", "gradient_norm", "dev_loss")}


def wait_until(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def wait_for_a_checkpoint(checkpoints):
    wait_until(lambda: list(checkpoints.glob("update-*")))


def workers_of(launcher):
    children = subprocess.run(["pgrep", "-P", str(launcher.pid)], capture_output=True, text=True, check=True).stdout
    return [int(child) for child in children.split()]


# Muon makes its steps orthogonal in bf16, which turns the last bits of a gradient into the third digit of a step.
@pytest.mark.parametrize(
    ("distributed", "optimizer", "tolerance"), [("ddp", "adam", 1e-5), ("fsdp", "adam", 1e-5), ("fsdp", "muon", 1e-3)]
)
def test_two_processes_have_the_curve_of_one_and_take_turns_with_it(digits, load, distributed, optimizer, tolerance):
    # Three micro-batches an epoch leave one process without any at its end.
    file = digits(pairs=260)
    common = ["training.clip_norm=0.5", "training.average_decay=0.9", "training.r_drop=1"]
    common.append(f"training.optimizer={optimizer}")
    prepare(load(file))
    fit(load(file, *SETTINGS, *common, f"run.folder={file.parent}/alone"))
    # Each stop is an end, with a validation; every eighth update has one anyway.
    fit(load(file, *SETTINGS, *common, "training.max_updates=8"))
    two = start(file, 2, *common, "training.max_updates=16", f"training.distributed={distributed}")
    _, errors = two.communicate(timeout=300)
    assert two.returncode == 0, errors
    assert errors.count("training ends after update 16") == 1  # only one of them speaks
    fit(load(file, *SETTINGS, *common))
    alone, together = (figures(file.parent / run) for run in ("alone", "run"))
    assert min(alone["gradient_norm"]) > 0.5  # clipping has something to do
    for key, numbers in alone.items():
        assert together[key] == pytest.approx(numbers, rel=1e-3), key
    for part in ("model", "optimizer", "average"):
        ends = [load_file(file.parent / run / LAST / f"{part}.safetensors") for run in ("alone", "run")]
        assert ends[0].keys() == ends[1].keys()
        for name, tensor in ends[0].items():
            if not name.endswith("key_value.bias"):  # a key's bias changes no attention: its gradient is all rounding
                np.testing.assert_allclose(ends[1][name], tensor, rtol=1e-3, atol=tolerance, err_msg=name)


@both
def test_where_one_is_killed_the_other_says_so_and_the_run_goes_on(digits, load, distributed):
    file = digits()
    prepare(load(file))
    two = start(file, 2, *LONG, f"training.distributed={distributed}")
    checkpoints = file.parent / "run" / "checkpoints"
    wait_for_a_checkpoint(checkpoints)
    os.kill(workers_of(two)[1], signal.SIGKILL)
    _, errors = two.communicate(timeout=120)
    assert two.returncode != 0
    assert "run the same command again" in errors
    assert "Traceback (most recent call last):\n  File \"" + sys.prefix not in errors.partition("error:")[0]
    updates = max(int(path.name.removeprefix("update-")) for path in checkpoints.glob("update-*"))
    fit(load(file, *SETTINGS, *LONG[1:], f"training.max_updates={updates + 4}"))
    assert (checkpoints / f"update-{updates + 4:08d}").is_dir()


@both
def test_a_launcher_asked_to_end_lets_them_save(digits, load, distributed):
    file = digits()
    prepare(load(file))
    two = start(file, 2, *LONG, "training.save_every_updates=1000000", f"training.distributed={distributed}")
    metrics = file.parent / "run" / "metrics.jsonl"
    wait_until(lambda: metrics.exists() and metrics.stat().st_size > 1000)
    two.send_signal(signal.SIGTERM)
    _, errors = two.communicate(timeout=120)
    assert two.returncode != 0
    assert errors.count("stopped by SIGTERM after update") >= 1
    assert "Traceback" not in errors.partition("stopped by SIGTERM")[0]
    # Where that update was the best of those validated, its checkpoint is a regular one.
    update = int(re.search(r"stopped by SIGTERM after update ([\d,]+)", errors)[1].replace(",", ""))
    assert list((file.parent / "run" / "checkpoints").glob(f"*-{update:08d}"))


def test_micro_batches_that_cannot_be_shared_evenly_are_a_mistake(digits, load):
    file = digits()
    prepare(load(file))
    two = start(file, 2, "training.accumulate=3")
    _, errors = two.communicate(timeout=120)
    assert two.returncode != 0
    assert "training.accumulate: 3 micro-batches an update cannot be shared evenly by 2 processes" in errors
