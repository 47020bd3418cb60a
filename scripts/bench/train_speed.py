"""How fast training is, against peers of the same shape on the same batches.

    python scripts/bench/train_speed.py [--rounds 7] [--device cpu]

mtrain, Hugging Face's MarianMTModel (where `transformers` is installed) and torch.nn.Transformer, each in fp32 and in
bf16 autocast, take turns (A B C A B C ...), so that a machine that changes its speed changes it for all. Each lives in
a process of its own, with the settings of allocator and OpenMP that its users have. Printed for each: median real
target tokens per second, the ratio of mtrain to it round by round, model-FLOPs utilisation against the speed of plain
matrix products measured in the same run, and peak memory.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

BATCHES_PER_TURN = 3
# Training goes on for hours; what kernels and memory cost when they are first asked for is no part of its speed.
WARM_UP = 30
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
NEEDS = {"mtrain": "mtrain", "Marian": "transformers", "torch": "torch"}


class Contender:
    """A trainer in a process of its own."""

    def __init__(self, name: str, precision: str, device: str, threads: int, batches: int) -> None:
        script = Path(__file__).with_name("contenders.py")
        command = [sys.executable, str(script), name, precision, device, str(threads), str(batches)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def train(self, first: int, count: int) -> dict[str, Any]:
        """Train on these batches and return the figures. Raises: SystemExit where the process has died."""
        assert self._process.stdin
        assert self._process.stdout
        print(first, count, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{' '.join(map(str, self._process.args))} ended with {self._process.wait()}")  # type: ignore[arg-type]
        return json.loads(answer)  # type: ignore[no-any-return]

    def end(self) -> None:
        """Let the process end."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def product_speed(dtype: torch.dtype, device: torch.device) -> float:
    """Return FLOP/s of square matrix products, the best of a few."""
    size = 2048 if device.type == "cpu" else 8192
    a, b = (torch.randn(size, size, dtype=dtype, device=device) for _ in range(2))
    best = 0.0
    for _ in range(6):
        began = time.perf_counter()
        a @ b
        if device.type == "cuda":
            torch.cuda.synchronize()
        best = max(best, 2 * size**3 / (time.perf_counter() - began))
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="CPU threads")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    contenders = {}
    total = BATCHES_PER_TURN * options.rounds + WARM_UP
    for name, package in NEEDS.items():
        if not find_spec(package):
            print(f"without {name}: {package} is not installed", file=sys.stderr)
            continue
        for precision in DTYPES:
            contender = Contender(name, precision, options.device, options.threads, total)
            contender.train(total - WARM_UP, WARM_UP)
            contenders[name, precision] = contender

    figures: dict[tuple[str, str], list[dict[str, Any]]] = {key: [] for key in contenders}
    for turn in range(options.rounds):
        for key, contender in contenders.items():
            figures[key].append(contender.train(turn * BATCHES_PER_TURN, BATCHES_PER_TURN))
    for contender in contenders.values():
        contender.end()
    ceilings = {precision: product_speed(dtype, torch.device(options.device)) for precision, dtype in DTYPES.items()}

    print(f"{options.device}, {options.threads} threads, torch {torch.__version__}; matrix products: ", end="")
    print(", ".join(f"{precision} {speed / 1e9:,.0f} GFLOP/s" for precision, speed in ceilings.items()))
    print(f"{'':14}{'target tok/s':>14}{'mtrain is':>12}{'utilisation':>13}{'peak memory':>14}")
    for (name, precision), turns in figures.items():
        speeds = [turn["tokens_per_second"] for turn in turns]
        ours = [turn["tokens_per_second"] for turn in figures["mtrain", precision]]
        ratio = statistics.median(a / b for a, b in zip(ours, speeds, strict=True))
        share = statistics.median(turn["flops_per_second"] for turn in turns) / ceilings[precision]
        memory = f"{turns[-1]['peak_memory'] / 2**20:,.0f} MiB"
        print(f"{name:8}{precision:6}{statistics.median(speeds):>14,.0f}{ratio:>11.2f}x{share:>13.0%}{memory:>14}")


if __name__ == "__main__":
    main()
