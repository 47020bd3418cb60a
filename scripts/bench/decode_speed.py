"""How fast translating is, against others with the same weights.

    python scripts/bench/decode_speed.py --model runs/wenyan-small/model --source test.lzh --reference test.zh

mtrain in PyTorch, Hugging Face's `generate`, CTranslate2 called directly in fp32 and int8, and mtrain with
--engine ctranslate2 translate the same sentences, tokenising included, beam 4. They take turns (A B C A B C …) with
250 sentences each, as often as --rounds says, so that a machine that changes its speed changes it for all; each lives
in a process of its own. The weights are exported first. Printed for each: sentences per second, how many times as fast
it is as Hugging Face with one sentence and with 32 at a time, and as CTranslate2 in the same numbers (turn by turn, the
median); and BLEU, where references are given.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from translators import CONTENDERS

from mtrain.commands.export import Wanted, export
from mtrain.config.load import load_config
from mtrain.console import table
from mtrain.evaluation.metrics import score

TURN = 250
EXPORTS = (("huggingface", ""), ("ctranslate2", ""), ("ctranslate2", "int8"))


class Contender:
    """A translator in a process of its own, warmed up."""

    def __init__(self, name: str, folder: Path, threads: int, lines: Sequence[str]) -> None:
        command = [sys.executable, str(Path(__file__).with_name("translators.py")), name, str(folder), str(threads)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.seconds: list[float] = []
        self.texts: list[str] = []
        self._ask(lines)

    def translate(self, lines: Sequence[str]) -> None:
        """Take a turn."""
        answer = self._ask(lines)
        self.seconds.append(answer["seconds"])
        self.texts += answer["texts"]

    def end(self) -> None:
        """Let the process end."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def _ask(self, lines: Sequence[str]) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(list(lines)), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{' '.join(map(str, self._process.args))} ended with {self._process.wait()}")  # type: ignore[arg-type]
        return json.loads(answer)  # type: ignore[no-any-return]


def times_as_fast(one: Contender, other: Contender) -> str:
    """Return the median ratio, turn by turn."""
    return f"{statistics.median(b / a for a, b in zip(one.seconds, other.seconds, strict=True)):.2f} x"


def read(file: Path, count: int) -> list[str]:
    """Return the first lines of a file."""
    return file.read_text("utf-8").split("\n")[:count]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder")
    parser.add_argument("--source", type=Path, required=True, help="sentences to translate")
    parser.add_argument("--reference", type=Path, help="their right translations")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3, help="how often all of them are translated")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads")
    options = parser.parse_args()
    lines = read(options.source, options.sentences)
    config = load_config(str(options.model / "config.yaml"), [f"run.threads={options.threads}"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model").symlink_to(options.model.absolute())
        for target, quantization in EXPORTS:
            output = folder / "-".join(filter(None, (target, quantization)))
            export(config, Wanted(target, quantization, options.model, output, check=options.source))
        contenders = {name: Contender(name, folder, options.threads, lines[:20]) for name in CONTENDERS}
        for first in [*range(0, len(lines), TURN)] * options.rounds:
            for contender in contenders.values():
                contender.translate(lines[first : first + TURN])
        for contender in contenders.values():
            contender.end()
    references = read(options.reference, options.sentences) if options.reference else []
    print(f"\n{len(lines)} sentences, beam 4, {options.threads} threads\n")
    head = ("", "sentences/s", "one by one", "32 at once", "CTranslate2", "BLEU")
    print(table(head, [row(name, contenders, references, config.corpus.target_language) for name in contenders]))


def row(name: str, contenders: dict[str, Contender], references: Sequence[str], language: str) -> list[str]:
    """Return a row of the table."""
    one = contenders[name]
    peers = ["Hugging Face generate, one by one", "Hugging Face generate, 32 at once"]
    if "engine" in name:
        peers.append("CTranslate2 int8" if "int8" in name else "CTranslate2")
    ratios = [times_as_fast(one, contenders[peer]) for peer in peers]
    bleu = f"{score(one.texts[: len(references)], references, None, language).bleu:.2f}" if references else ""
    return [name, f"{len(one.texts) / sum(one.seconds):,.1f}", *ratios, *[""] * (3 - len(ratios)), bleu]


if __name__ == "__main__":
    main()
