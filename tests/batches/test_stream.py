"""The stream gives the same batches in whatever order it is asked, works ahead within bounds, and hides no error."""

import gc
import hashlib
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.compute
import pyarrow.parquet
import pytest
import torch

from mtrain.batches import stream as stream_module
from mtrain.batches.augment import make_augmentation
from mtrain.batches.collate import Batch
from mtrain.batches.sampler import Lengths, Mixture, epoch_batches, usable_examples
from mtrain.batches.store import Examples, Prepared
from mtrain.batches.stream import ALONE, Taker, TrainingStream, collate_examples, model_lengths
from mtrain.config.schema import BatchesConfig

WENYAN = Path(__file__).parent.parent.parent.parent / "shared" / "data" / "wenyan" / "train.parquet"
LIMITS = {"max_tokens_per_batch": 250, "max_tokens_per_sentence": 80}

Make = Callable[..., TrainingStream]


def make_stream(prepared: Prepared, taker: Taker = ALONE, **settings: float) -> TrainingStream:
    config = BatchesConfig(**{**LIMITS, **settings})  # type: ignore[arg-type]
    augmentation = make_augmentation(prepared, prepared.tokenizers(), config, 1)
    return TrainingStream(prepared.examples("train"), config, 1, augmentation, taker=taker)


@pytest.fixture
def make(prepared: Prepared) -> Make:
    """Return a maker of streams."""
    return partial(make_stream, prepared)


def tensors(batch: Batch) -> list[torch.Tensor]:
    keep = batch.source.keep_BS
    padding = torch.ones_like(batch.source.src_BS) if keep is None else keep
    return [batch.source.src_BS, padding, batch.tgt_in_BT, batch.labels_M, batch.real_M]


def assert_equal(found: list[Batch], expected: list[Batch]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert all(map(torch.equal, tensors(one), tensors(other)))
        assert one.source_tokens == other.source_tokens


def whole_epoch(stream: TrainingStream, epoch: int, count: int) -> list[Batch]:
    return [
        batch
        for position in range(0, stream.epoch_length(epoch), count)
        for batch in stream.take(epoch, position, count)
    ]


@pytest.mark.parametrize("settings", [{}, {"bpe_dropout": 0.1}, {"strip_punctuation": 0.5, "bpe_dropout": 0.1}])
def test_batches_are_a_function_of_epoch_and_position(make: Make, settings: dict[str, float]) -> None:
    straight = make(**settings)
    epochs = [whole_epoch(straight, epoch, 4) for epoch in range(3)]
    jumping, generator = make(**settings), np.random.default_rng(0)
    for _ in range(60):
        epoch, count = int(generator.integers(3)), int(generator.integers(1, 6))
        position = int(generator.integers(len(epochs[epoch])))
        assert_equal(jumping.take(epoch, position, count), epochs[epoch][position : position + count])
    assert_equal(jumping.take(0, 3, 2), epochs[0][3:5])
    assert_equal(jumping.take(0, 3, 2), epochs[0][3:5])
    elsewhere: list[Batch] = []
    thread = threading.Thread(target=lambda: elsewhere.extend(whole_epoch(make(**settings), 1, 7)))
    thread.start()
    thread.join()
    assert_equal(elsewhere, epochs[1])


def test_batches_ahead_are_those_assembled_on_the_spot(make: Make, prepared: Prepared) -> None:
    examples, stream = prepared.examples("train"), make()
    lengths = model_lengths(examples)
    order = epoch_batches(lengths, usable_examples(lengths, 80), 250, 1, 0)
    assert stream.epoch_length(0) == len(order) > 30
    assert_equal(whole_epoch(stream, 0, 3), [collate_examples(examples, batch) for batch in order])
    assert stream.left_out == 1
    assert sum(len(batch) for batch in order) == len(stream) == len(examples) - 1


@pytest.mark.parametrize("processes", [2, 3])
def test_each_process_assembles_its_own_share_and_no_more(
    make: Make, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, assembled = 2 * processes, []

    def counting(examples: Examples, indices: list[int]) -> Batch:
        assembled.append(1)
        return collate_examples(examples, indices)

    # An epoch that comes out even would prove nothing about its end.
    limit = next(limit for limit in range(250, 200, -1) if make(max_tokens_per_batch=limit).epoch_length(0) % processes)
    alone = make(max_tokens_per_batch=limit)
    length = alone.epoch_length(0)
    epoch = whole_epoch(alone, 0, count)
    alone.close()
    monkeypatch.setattr(stream_module, "collate_examples", counting)
    streams = [make(Taker(rank, processes), max_tokens_per_batch=limit) for rank in range(processes)]
    for position in range(0, length, count):
        taken = [stream.take(0, position, count) for stream in streams]
        assert {len(own) for own in taken} == {-(-min(count, length - position) // processes)}
        in_turn = [own[place] for place in range(len(taken[0])) for own in taken]
        expected = epoch[position : position + count]
        assert_equal(in_turn[: len(expected)], expected)
        for batch in in_turn[len(expected) :]:
            assert (batch.target_tokens, batch.source_tokens) == (0, 0)
        assert_equal(streams[0].of_all(0, position, count), expected)
    for stream in streams:
        stream.close()
    # Each once for its process, once to be compared, and what the last call has assembled ahead.
    assert 2 * length <= len(assembled) <= 2 * length + 3 * count


def test_augmentation_changes_each_epoch_and_not_which_examples_share_a_batch(make: Make) -> None:
    plain, dropped = (make(**settings).take(0, 0, 1)[0] for settings in ({}, {"bpe_dropout": 0.3}))
    assert plain.tgt_in_BT.shape[0] == dropped.tgt_in_BT.shape[0]
    assert plain.target_tokens < dropped.target_tokens
    stream = make(bpe_dropout=0.3)
    assert len({sum(batch.target_tokens for batch in whole_epoch(stream, epoch, 5)) for epoch in range(3)}) > 1


def test_two_takes_are_assembled_ahead_across_the_epochs_end_and_no_more(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples, assembled = prepared.examples("train"), []

    def collate(given: Examples, indices: object) -> Batch:
        if given is examples:
            assembled.append(threading.current_thread().name)
        return collate_examples(given, indices)  # type: ignore[arg-type]

    monkeypatch.setattr(stream_module, "collate_examples", collate)
    stream = TrainingStream(examples, BatchesConfig(**LIMITS), 1)

    def assembled_after(epoch: int, position: int) -> int:
        stream.take(epoch, position, 2)
        stream.epoch_length(9)  # stands behind the batches, so now these are done
        return len(assembled)

    length = stream.epoch_length(0)
    assert length > 30
    assert [assembled_after(0, position) for position in (0, 2, 4)] == [6, 8, 10]
    assert assembled_after(0, 20) == 16  # a jump
    assert assembled_after(0, length - 2) == 22
    assert assembled_after(1, 0) == 24  # the new epoch's first four were there
    assert set(assembled) == {"batches_0"}


def test_the_time_waited_is_counted(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow_collate(examples: Examples, indices: object) -> Batch:
        time.sleep(0.05)
        return collate_examples(examples, indices)  # type: ignore[arg-type]

    monkeypatch.setattr(stream_module, "collate_examples", slow_collate)
    stream = make()
    stream.take(0, 0, 1)
    first = stream.seconds_waited
    assert first >= 0.05
    time.sleep(0.3)
    stream.take(0, 1, 1)
    assert stream.seconds_waited - first < 0.04


class _Broken(Examples):
    def source(self, index: int):  # type: ignore[no-untyped-def]
        raise ValueError(f"row {index} is broken")


def test_an_error_in_the_worker_is_raised_by_take_with_its_traceback(prepared: Prepared) -> None:
    examples = _Broken(prepared.folder, "train")
    stream = TrainingStream(examples, BatchesConfig(**LIMITS), 1)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"row \d+ is broken") as error:
            stream.take(0, 0, 2)
        assert "in source" in "".join(traceback.format_tb(error.value.__traceback__))


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("batches")}


@pytest.mark.parametrize("end", ["close", "forget"])
def test_the_thread_ends_with_the_stream(make: Make, end: str) -> None:
    gc.collect()
    before = threads()
    stream = make()
    stream.take(0, 0, 4)
    (worker,) = threads() - before
    if end == "close":
        stream.close()
    del stream
    gc.collect()
    worker.join(timeout=5)
    assert not worker.is_alive()


def digest(batches: list[Batch]) -> str:
    parts = (tensor.numpy().tobytes() for batch in batches for tensor in tensors(batch))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def test_another_program_has_the_same_batches_and_ends_without_closing_its_stream(
    make: Make, prepared: Prepared
) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "sys.path.insert(0, str(Path(sys.argv[1]).parent))\n"
        "import test_stream as here; from mtrain.batches.store import read_prepared\n"
        "prepared = read_prepared(Path(sys.argv[2]))\n"
        "stream = here.make_stream(prepared, bpe_dropout=0.2, strip_punctuation=0.5)\n"
        "print(here.digest(stream.take(2, 3, 8))); sys.exit('an error')\n"
    )
    command = [sys.executable, "-c", program, __file__, prepared.folder]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False, text=True)
    assert (done.returncode, done.stderr) == (1, "an error\n")
    assert done.stdout.strip() == digest(make(bpe_dropout=0.2, strip_punctuation=0.5).take(2, 3, 8))


@pytest.mark.skipif(not WENYAN.is_file(), reason="the wenyan corpus is not beside the project")
def test_hardly_anything_is_padded_in_a_real_corpus() -> None:
    """Let characters stand for tokens: to learn a vocabulary and encode a million pairs would take minutes."""
    table = pyarrow.parquet.read_table(WENYAN, columns=["lzh", "zh"])
    sides = [pyarrow.compute.utf8_length(table[side]).to_numpy().astype(np.int32) + 1 for side in ("lzh", "zh")]
    lengths = Lengths(*sides)
    usable = usable_examples(lengths, 256)
    assert len(usable) > 500_000
    batches = epoch_batches(lengths, usable, 4096, seed=1, epoch=0)
    padded = sum(len(batch) * int(side[batch].max()) for batch in batches for side in sides)
    assert 1 - sum(int(side[usable].sum()) for side in sides) / padded < 0.03


def test_a_mixture_is_the_same_in_whatever_order_it_is_asked(prepared: Prepared) -> None:
    count = len(prepared.examples("train"))
    corpora = (np.arange(count) % 3).astype(np.uint8)

    def make(weights: tuple[float, ...]) -> TrainingStream:
        config = BatchesConfig(**LIMITS)  # type: ignore[arg-type]
        return TrainingStream(prepared.examples("train"), config, 1, None, Mixture(corpora, weights))

    stream = make((0.0, 1.5, 2.0))
    epochs = [whole_epoch(stream, epoch, 3) for epoch in range(3)]
    again = make((0.0, 1.5, 2.0))
    for epoch in (2, 0):
        assert_equal(whole_epoch(again, epoch, 5), epochs[epoch])
    usable = usable_examples(model_lengths(prepared.examples("train")), 80)
    assert stream.left_out == count - len(usable)
    assert len(stream) == np.count_nonzero(corpora[usable])
    sentences = sum(len(batch.tgt_in_BT) for batch in epochs[0])
    counts = np.bincount(corpora[usable])
    assert sentences == counts[1] + -(-counts[1] // 2) + 2 * counts[2]
    plain, weighed = TrainingStream(prepared.examples("train"), BatchesConfig(), 1), make((1.0, 1.0, 1.0))
    assert sum(len(batch.tgt_in_BT) for batch in whole_epoch(weighed, 0, 9)) == len(usable)
    assert len(plain) >= len(usable)


def test_a_batch_for_a_gpu_is_pinned_by_the_thread_and_nobody_waits_for_its_way(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    waits: list[bool] = []

    def pin(tensor: torch.Tensor) -> torch.Tensor:
        threads.append(threading.current_thread().name[:7])
        return tensor

    def bring(tensor: torch.Tensor, device: torch.device, non_blocking: bool = False) -> torch.Tensor:
        waits.append(not non_blocking)
        return tensor

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    stream = TrainingStream(prepared.examples("train"), BatchesConfig(**LIMITS), 1, taker=Taker(pinned=True))
    (batch,) = stream.take(0, 0, 1)
    parts = 4 + (batch.source.keep_BS is not None)
    assert threads[:parts] == ["batches"] * parts
    monkeypatch.setattr(torch.Tensor, "to", bring)
    batch.to(torch.device("cpu"))
    assert waits == [False] * parts
