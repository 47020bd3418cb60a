"""What training tells: a line an interval on stderr, and the same as a record in `metrics.jsonl`."""

import json
import math
import time
from pathlib import Path
from typing import Any

from mtrain.config.schema import TrainingConfig
from mtrain.console import progress_bar, say, warn
from mtrain.errors import TrainingError
from mtrain.storage import write_whole
from mtrain.training.state import TrainingState
from mtrain.training.step import UpdateReport
from mtrain.training.validation import DevScores

# A model that knows its source gains more than this on it (nats per target token) soon after warm-up.
_SOURCE_GAIN_EXPECTED = 0.05


class Journal:
    """Gathers updates between two lines. Use as a context manager: it holds the file and the progress bar."""

    def __init__(self, file: Path, state: TrainingState, config: TrainingConfig) -> None:
        self._config = config
        _forget_after(file, state.update)
        self._stream = file.open("a", encoding="utf-8", newline="\n")
        self._bar = progress_bar("fit", state.total_updates(config) or None, "update", done=state.update)
        self.start_interval()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
        self._stream.close()

    def record(self, report: UpdateReport, state: TrainingState) -> None:
        """Take in one update; nothing is read back from the device yet."""
        self._reports.append(report)
        self._bar.total = state.total_updates(self._config) or None
        self._bar.set_postfix_str(f"{state.seconds / 60:.1f} min", refresh=False)
        self._bar.update(1)

    def start_interval(self) -> None:
        """Start counting, and the clock of tokens per second, from here."""
        self._reports: list[UpdateReport] = []
        self._since = time.perf_counter()

    def write_interval(self, state: TrainingState, learning_rate: float) -> None:
        """Print and store the updates since the last line. Raises: TrainingError on a non-finite loss or gradient."""
        reports = self._reports
        if not reports:
            return
        tokens = sum(report.target_tokens for report in reports)
        loss = sum(report.loss.item() for report in reports) / tokens
        nll = sum(report.nll.item() for report in reports) / tokens
        gradient_norms = [report.gradient_norm.item() for report in reports]
        gradient_norm = sum(gradient_norms) / len(gradient_norms)
        speed = tokens / (time.perf_counter() - self._since)
        padding = 1 - sum(r.real_tokens for r in reports) / sum(r.padded_tokens for r in reports)
        record = {
            "loss": loss,
            "perplexity": _perplexity(nll),
            "learning_rate": learning_rate,
            "gradient_norm": gradient_norm,
            "target_tokens_per_second": round(speed),
            "padding_share": round(padding, 4),
        }
        if not (math.isfinite(loss) and math.isfinite(gradient_norm)):
            raise TrainingError(
                f"update {state.update}: loss {loss}, gradient norm {gradient_norm}: training has blown up. "
                "Run again to go on from the last checkpoint, with a lower training.learning_rate_scale or "
                "training.precision=fp32 in a new run.folder if it comes back."
            )
        self._write("train", state, record)
        say(
            f"update {state.update:>6,}  epoch {state.epoch + 1}  loss {loss:.3f}  ppl {_perplexity(nll):.1f}  "
            f"lr {learning_rate:.2e}  grad {gradient_norm:.2f}  {speed:,.0f} tok/s  padding {padding:.1%}"
        )
        self.start_interval()

    def write_validation(self, state: TrainingState, scores: DevScores, is_best: bool) -> None:
        """Print and store a validation, with its sample translations."""
        record: dict[str, Any] = {
            "dev_loss": scores.loss,
            "dev_perplexity": _perplexity(scores.loss),
            "dev_gain_from_source": scores.source_gain,
        }
        bleu = gain = ""
        if scores.source_gain is not None:
            gain = f"  gain from source {scores.source_gain:.2f}"
        if scores.bleu is not None:
            record["dev_bleu"] = scores.bleu
            bleu = f"  dev BLEU {scores.bleu:.1f} (greedy)"
        self._write("validation", state, record)
        say(
            f"update {state.update:>6,}  dev loss {scores.loss:.3f}  ppl {_perplexity(scores.loss):.1f}{bleu}{gain}"
            f"{'  best so far' if is_best else ''}"
        )
        for sample in scores.samples:
            say(f"    source       {sample.source}\n    reference    {sample.reference}")
            say(f"    translation  {sample.translation}\n")
        ignores = scores.source_gain is not None and scores.source_gain < _SOURCE_GAIN_EXPECTED
        if state.update > self._config.warmup_updates and ignores:
            warn(
                "the model IGNORES ITS SOURCE: another sentence's source serves it nearly as well (gain "
                f"{scores.source_gain:.3f} nats per token). Are the two sides of the corpus aligned?"
            )

    def _write(self, kind: str, state: TrainingState, record: dict[str, Any]) -> None:
        place = {"kind": kind, "update": state.update, "epoch": state.epoch, "target_tokens": state.target_tokens}
        self._stream.write(json.dumps({**place, "seconds": round(state.seconds, 1), **record}) + "\n")
        self._stream.flush()


def _perplexity(nll: float) -> float:
    return math.exp(min(nll, 100.0))


def _forget_after(file: Path, update: int) -> None:
    """Drop the records of updates that will be made again, and a last line that a kill cut short."""
    if not file.exists():
        return
    lines = file.read_text("utf-8").split("\n")[:-1]
    write_whole(file, "".join(line + "\n" for line in lines if _update_of(line) <= update))


def _update_of(line: str) -> float:
    try:
        return int(json.loads(line)["update"])
    except (ValueError, KeyError, TypeError):  # what a power failure made of it
        return math.inf
