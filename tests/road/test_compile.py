"""A compiled model learns what the same model learns as it is, under the same names."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare

pytestmark = pytest.mark.slow

SETTINGS = [
    "training.precision=fp32", "training.validate_pairs=0", "training.compile=true",
    "model.encoder_layers=1", "model.decoder_layers=1", "model.dropout=0",
]  # fmt: skip


@pytest.mark.skipif(not shutil.which(os.environ.get("CXX", "g++")), reason="no C++ compiler on this machine")
@pytest.mark.filterwarnings("ignore")  # PyTorch's compiler gives many, about itself
def test_a_compiled_model_learns_the_same_and_goes_on(digits, load):
    file = digits()
    prepare(load(file))
    alone = f"run.folder={file.parent}/alone"
    fit(load(file, *SETTINGS, "training.compile=false", "training.max_updates=8", alone))
    for updates in (4, 8):
        fit(load(file, *SETTINGS, f"training.max_updates={updates}"))
    for part in ("checkpoints/update-00000008/model.safetensors", "model/model.safetensors"):
        plain, compiled = (load_file(file.parent / run / part) for run in ("alone", "run"))
        assert plain.keys() == compiled.keys()
        for name, weight in plain.items():
            if not name.endswith("key_value.bias"):  # a key's bias changes no attention: its gradient is all rounding
                np.testing.assert_allclose(compiled[name], weight, rtol=1e-3, atol=1e-4, err_msg=name)


def test_without_a_compiler_one_line_says_so(digits, load, tmp_path):
    file = digits()
    prepare(load(file))
    result = subprocess.run(
        [sys.executable, "-m", "mtrain", "fit", "--config", str(file), "--set", "training.compile=true"],
        capture_output=True,
        text=True,
        check=False,
        cwd=file.parent,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "CXX": "no-such-compiler",
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"),
        },
    )
    assert result.returncode == 1
    (line,) = result.stderr.rstrip("\n").split("\n")
    assert "training.compile: PyTorch cannot compile on this machine" in line
    assert "no-such-compiler" in line
    assert line.endswith("or set training.compile=false.")
