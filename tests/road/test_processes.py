"""Two processes train one model as one process does, and neither waits for a dead one."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch.distributed as dist

from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not dist.is_available(), reason="this PyTorch is built without torch.distributed"),
]

SETTINGS = ["run.threads=1", "training.accumulate=2", "training.precision=fp32", "training.log_every_updates=1"]

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


def losses(run):
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").split("\n")[:-1]]
    return [record.get("loss", record.get("dev_loss")) for record in records]


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


def test_two_processes_have_the_curve_of_one_and_one_goes_on_where_two_were(digits, load):
    file = digits()
    prepare(load(file))
    fit(load(file, *SETTINGS, f"run.folder={file.parent}/alone"))
    two = start(file, 2, "training.max_updates=16")
    _, errors = two.communicate(timeout=300)
    assert two.returncode == 0, errors
    assert errors.count("training ends after update 16") == 1  # only one of them speaks
    fit(load(file, *SETTINGS))
    alone, together = (losses(file.parent / run) for run in ("alone", "run"))
    # The first stop is an end, with a validation; both are in step with the eighth update anyway.
    assert together == pytest.approx(alone, rel=1e-3)


def test_where_one_is_killed_the_other_says_so_and_the_run_goes_on(digits, load):
    file = digits()
    prepare(load(file))
    two = start(file, 2, *LONG)
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


def test_a_launcher_asked_to_end_lets_them_save(digits, load):
    file = digits()
    prepare(load(file))
    two = start(file, 2, *LONG, "training.save_every_updates=1000000")
    metrics = file.parent / "run" / "metrics.jsonl"
    wait_until(lambda: metrics.exists() and metrics.stat().st_size > 1000)
    two.send_signal(signal.SIGTERM)
    _, errors = two.communicate(timeout=120)
    assert two.returncode != 0
    assert errors.count("stopped by SIGTERM after update") >= 1
    assert "Traceback" not in errors.partition("stopped by SIGTERM")[0]
    assert list((file.parent / "run" / "checkpoints").glob("passing-*"))


def test_micro_batches_that_cannot_be_shared_evenly_are_a_mistake(digits, load):
    file = digits()
    prepare(load(file))
    two = start(file, 2, "training.accumulate=3")
    _, errors = two.communicate(timeout=120)
    assert two.returncode != 0
    assert "training.accumulate: 3 micro-batches an update cannot be shared evenly by 2 processes" in errors
