"""What training tells: a line an interval on stderr, the same as a record in `metrics.jsonl`, and for TensorBoard."""

import json
import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch

from mtrain.config.schema import TrainingConfig
from mtrain.console import progress_bar, say, warn
from mtrain.storage import write_whole
from mtrain.training.state import TrainingState
from mtrain.training.step import UpdateReport
from mtrain.training.tensorboard import TensorBoard
from mtrain.training.validation import DevScores

# A model that knows its source gains more than this on it (nats per target token) soon after warm-up.
_SOURCE_GAIN_EXPECTED = 0.05


# Updates in a row without a finite gradient after which more of them are a waste.
_SKIPPED_IN_A_ROW = 5


class Record(NamedTuple):
    """One update: what it saw, and where in the data (`epoch`, `position`) it stood."""

    update: int
    epoch: int
    position: int
    learning_rate: float
    report: UpdateReport


class Journal:
    """Gathers updates between two lines. Use as a context manager: it holds the file and the progress bar.

    `file` is None in a process that has nothing to write.
    """

    def __init__(self, file: Path | None, state: TrainingState, config: TrainingConfig) -> None:
        self._config = config
        self._tensorboard = None
        if file and config.tensorboard:
            self._tensorboard = TensorBoard(file.parent / "tensorboard", state.update)
        if file:
            _forget_after(file, state.update)
        self._stream = file.open("a", encoding="utf-8", newline="\n") if file else None
        self._bar = progress_bar("fit", state.total_updates(config) or None, "update", done=state.update)
        self._in_a_row = 0
        self._waited = 0.0
        self.start_interval()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
        if self._stream:
            self._stream.close()
        if self._tensorboard:
            self._tensorboard.close()

    def record(self, report: UpdateReport, before: TrainingState, learning_rate: float) -> None:
        """Take in one update, made from the state `before` it; nothing is read back from the device yet."""
        self._records.append(Record(before.update + 1, before.epoch, before.position, learning_rate, report))
        self._bar.total = before.total_updates(self._config) or None
        self._bar.set_postfix_str(f"{before.seconds / 60:.1f} min", refresh=False)
        self._bar.update(1)

    def start_interval(self) -> None:
        """Start counting, and the clock of tokens per second, from here."""
        self._records: list[Record] = []
        self._since = time.perf_counter()

    def write_interval(self, state: TrainingState, seconds_waited: float) -> Record | None:
        """Print and store the updates since the last line; return the last of too many in a row that were skipped.

        `seconds_waited` is the time spent waiting for data since the run began.
        """
        records = self._records
        if not records:
            return None
        seconds = time.perf_counter() - self._since
        norms = torch.stack([record.report.gradient_norm for record in records]).tolist()
        finite = [record.report for record, norm in zip(records, norms, strict=True) if math.isfinite(norm)]
        figures = _figures([record.report for record in records], finite, norms) | {
            "learning_rate": records[-1].learning_rate,
            "target_tokens_per_second": round(sum(record.report.target_tokens for record in records) / seconds),
            "data_wait_share": round((seconds_waited - self._waited) / seconds, 4),
            "skipped_updates": len(records) - len(finite),
        }
        self._waited = seconds_waited
        self._write("train", state, figures)
        say(_line(state, figures))
        self.start_interval()
        return self._too_many_skipped(records, norms)

    def _too_many_skipped(self, records: list[Record], norms: list[float]) -> Record | None:
        skipped = [record for record, norm in zip(records, norms, strict=True) if not math.isfinite(norm)]
        if skipped:
            last = skipped[-1].update
            warn(f"{len(skipped)} updates without a finite gradient were skipped, the last one was update {last:,}")
        for record, norm in zip(records, norms, strict=True):
            self._in_a_row = 0 if math.isfinite(norm) else self._in_a_row + 1
            if self._in_a_row >= _SKIPPED_IN_A_ROW:
                return record
        return None

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
        record |= {f"dev_loss_{name}": loss for name, loss in scores.by_corpus.items()}
        losses = "".join(f"  {name} {loss:.3f}" for name, loss in scores.by_corpus.items())
        self._write("validation", state, record)
        say(
            f"update {state.update:>6,}  dev loss {scores.loss:.3f}  ppl {_perplexity(scores.loss):.1f}{losses}{bleu}"
            f"{gain}{'  best so far' if is_best else ''}"
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
        if self._stream is None:
            return
        place = {"epoch": state.epoch, "target_tokens": state.target_tokens, "seconds": round(state.seconds, 1)}
        self._stream.write(json.dumps({"kind": kind, "update": state.update, **place, **record}) + "\n")
        self._stream.flush()
        if self._tensorboard:
            self._tensorboard.write(kind, state.update, {**place, **record})


def _figures(all_reports: list[UpdateReport], finite: list[UpdateReport], norms: list[float]) -> dict[str, Any]:
    """Return means over an interval: of what was learnt from for the losses, None where that is nothing."""
    tokens = sum(report.target_tokens for report in finite)
    norms = [norm for norm in norms if math.isfinite(norm)]
    real, padded = sum(r.real_tokens for r in all_reports), sum(r.padded_tokens for r in all_reports)
    return {
        "loss": torch.stack([report.loss for report in finite]).sum().item() / tokens if tokens else None,
        "perplexity": _perplexity(torch.stack([r.nll for r in finite]).sum().item() / tokens) if tokens else None,
        "gradient_norm": sum(norms) / len(norms) if norms else None,
        "padding_share": round(1 - real / padded, 4),
    }


def _line(state: TrainingState, figures: dict[str, Any]) -> str:
    learnt = "nothing learnt"
    if figures["loss"] is not None:
        learnt = f"loss {figures['loss']:.3f}  ppl {figures['perplexity']:.1f}  grad {figures['gradient_norm']:.2f}"
    waited = figures["data_wait_share"]
    return (
        f"update {state.update:>6,}  epoch {state.epoch + 1}  {learnt}  lr {figures['learning_rate']:.2e}  "
        f"{figures['target_tokens_per_second']:,} tok/s  padding {figures['padding_share']:.1%}"
        f"{f'  waiting for data {waited:.1%}' if waited >= 0.01 else ''}"
    )


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
