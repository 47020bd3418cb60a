"""`mtrain inspect`: prepared data, a model or runs, as text on stdout and, where asked for, as a picture."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mtrain.batches.store import CURE, Prepared, open_prepared
from mtrain.config.schema import Config, TrainingConfig
from mtrain.console import say
from mtrain.corpus.sources import SIDES
from mtrain.errors import InspectionError, PreparedDataError
from mtrain.inspection.batch import BatchView, render_batch
from mtrain.inspection.data import DataFigures, survey_data
from mtrain.inspection.data_picture import SIZE as DATA_SIZE
from mtrain.inspection.data_picture import draw_data
from mtrain.inspection.data_report import render_data
from mtrain.inspection.model_picture import SIZE as MODEL_SIZE
from mtrain.inspection.model_picture import Schedule, draw_model
from mtrain.inspection.pictures import check_picture, picture
from mtrain.inspection.run import read_runs, render_runs
from mtrain.inspection.run_picture import SIZE as RUN_SIZE
from mtrain.inspection.run_picture import draw_runs
from mtrain.tokenizer import PAD, Tokenizers

# torch is imported where it is needed: a table of runs does without.
if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mtrain.inspection.costs import BatchShape
    from mtrain.model.transformer import Transformer

# What is taken for a sentence's tokens, EOS included, where no data are prepared.
_ASSUMED_TOKENS = 32
_ASSUMED_WARMUPS = 10
# A batch of such sentences is shown: long enough to have something to see, short enough to be read in the picture.
_READABLE_TOKENS = range(8, 25)


def inspect_data(config: Config, plot: Path | None) -> None:
    """Print what the prepared data of a config look like."""
    _check(plot)
    prepared = open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)
    tokenizers = prepared.tokenizers()
    figures = survey_data(prepared, tokenizers)
    view = _batch(config, prepared, tokenizers, figures)
    print(f"{render_data(figures)}\n\n{render_batch(view)}")
    _draw(plot, DATA_SIZE, lambda figure: draw_data(figure, figures, view))


def inspect_runs(places: Sequence[Path], plot: Path | None) -> None:
    """Print how runs went."""
    _check(plot)
    runs = read_runs(places)
    print(render_runs(runs))
    _draw(plot, RUN_SIZE, lambda figure: draw_runs(figure, runs))


def inspect_model(config: Config, folder: Path | None, plot: Path | None) -> None:
    """Print what the model of a config, or the trained one of a folder, is made of and what it costs."""
    from mtrain.inspection.costs import forward_flops, render_flops, render_memory, training_memory
    from mtrain.inspection.parameters import parameter_rows, render_rows
    from mtrain.inspection.positions import position_view
    from mtrain.runtime import choose_device, choose_precision, set_threads

    _check(plot)
    set_threads(config.run.threads)
    device = choose_device(config.run.device)
    precision = choose_precision(config.training.precision, device)
    prepared = _prepared_or_none(config)
    model = _model(config, folder, prepared).to(device)
    pair, largest = _shapes(config, prepared)
    flops = forward_flops(model, pair.source, pair.target)
    memory = training_memory(model, config.training, largest, precision)
    costs = f"{render_flops(flops, pair.source, pair.target)}\n\n{render_memory(memory, largest, precision)}"
    print(f"{render_rows(parameter_rows(model))}\n\n{costs}")
    if plot:
        rates, note = _schedule(config, folder)
        say(f"the learning rate is drawn over {len(rates):,} updates ({note})")
        schedule = Schedule(rates, config.training.warmup_updates, note)
        view = position_view(model)
        _draw(plot, MODEL_SIZE, lambda figure: draw_model(figure, view, schedule))


def inspect_attention(config: Config, folder: Path | None, pair: tuple[str, str], plot: Path | None) -> None:
    """Print what a trained model looks at while it writes a translation, its own where none is given."""
    from mtrain.api import open_models
    from mtrain.inspection.attention import attention_view, render_alignment
    from mtrain.inspection.attention_picture import attention_size, draw_attention

    _check(plot)
    source, target = pair
    if not source.strip():
        raise InspectionError("the source sentence is empty: there is nothing to look at")
    folder = folder or Path(config.run.folder) / "model"
    model = open_models([folder], config.decoding, "cpu", config.run.threads)
    if not target:
        target = model.translate([source], alignment=False)[0].text
        say(f"the model's translation: {target}")
    view = attention_view(model.models[0], model.tokenizers, source, target)
    print(render_alignment(view))
    _draw(plot, attention_size(view), lambda figure: draw_attention(figure, view))


def _check(plot: Path | None) -> None:
    if plot:
        check_picture(plot)


def _draw(plot: Path | None, size: tuple[float, float], draw: "Callable[[Figure], None]") -> None:
    if plot:
        with picture(plot, *size) as figure:
            draw(figure)
        say(f"the picture is in {plot}")


def _batch(config: Config, prepared: Prepared, tokenizers: Tokenizers, figures: DataFigures) -> BatchView:
    """Return a batch of the first epoch: of those with short sentences the one with most padding in its sources."""
    from mtrain.batches.augment import EpochExamples, make_augmentation
    from mtrain.batches.sampler import epoch_batches, usable_examples
    from mtrain.batches.stream import collate_examples, make_mixture, model_lengths

    examples, section = prepared.examples("train"), config.batches
    lengths = model_lengths(examples)
    usable = usable_examples(lengths, section.max_tokens_per_sentence)
    if mixture := make_mixture(prepared, config.corpus):
        usable = mixture.draw(usable, config.run.seed, 0)
    if not len(usable):
        raise InspectionError(
            f"{prepared.folder}: every training pair has a side of more than {section.max_tokens_per_sentence} tokens. "
            "Raise batches.max_tokens_per_sentence."
        )
    order = epoch_batches(lengths, usable, section.max_tokens_per_batch, config.run.seed, 0)
    longest = [(lengths.source[batch].max(), lengths.target[batch].max()) for batch in order]
    readable = [n for n, sides in enumerate(longest) if all(side in _READABLE_TOKENS for side in sides)]
    number = min(readable or range(len(order)), key=lambda n: lengths.source[order[n]].mean() / longest[n][0])
    augmentation = make_augmentation(prepared, tokenizers, section, config.run.seed)
    seen = EpochExamples(examples, augmentation, 0) if augmentation else examples
    batch = collate_examples(seen, order[number])
    src_BS, keep_BS, tgt_in_BT = batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT
    real_M, labels_BT = batch.real_M.numpy(), np.full(tgt_in_BT.shape, PAD)
    keep_BT = np.zeros(tgt_in_BT.shape, dtype=bool)
    labels_BT.flat[real_M], keep_BT.flat[real_M] = batch.labels_M.numpy(), True
    return BatchView(
        f"batch {number + 1:,} of {len(order):,} in epoch 1",
        figures.sides["source"].vocabulary,
        figures.sides["target"].vocabulary,
        src_BS.numpy(),
        np.ones(src_BS.shape, dtype=bool) if keep_BS is None else keep_BS.numpy(),
        tgt_in_BT.numpy(),
        keep_BT,
        labels_BT,
    )


def _prepared_or_none(config: Config) -> Prepared | None:
    try:
        return open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)
    except PreparedDataError as error:
        say(
            f"{str(error).removesuffix(CURE).strip()} So a vocabulary of tokenizer.vocabulary_size and sentences of "
            f"{_ASSUMED_TOKENS} tokens are assumed."
        )
        return None


def _model(config: Config, folder: Path | None, prepared: Prepared | None) -> "Transformer":
    from mtrain.model.build import build_model
    from mtrain.model.bundle import load_bundle

    if folder:
        return load_bundle(folder).model
    if prepared is None:
        return build_model(config.model, config.tokenizer.vocabulary_size, config.tokenizer.vocabulary_size)
    tokenizers = prepared.tokenizers()
    return build_model(config.model, tokenizers["source"].vocabulary_size, tokenizers["target"].vocabulary_size)


def _shapes(config: Config, prepared: Prepared | None) -> tuple["BatchShape", "BatchShape"]:
    """Return one pair of mean length, and the largest batch of the first epoch."""
    from mtrain.batches.stream import TrainingStream, make_mixture
    from mtrain.inspection.costs import BatchShape

    tokens = min(_ASSUMED_TOKENS, config.batches.max_tokens_per_sentence)
    mean = BatchShape(1, tokens, tokens)
    largest = mean._replace(rows=config.batches.max_tokens_per_batch // tokens)
    if prepared is None:
        return mean, largest
    examples, mixture = prepared.examples("train"), make_mixture(prepared, config.corpus)
    stream = TrainingStream(examples, config.batches, config.run.seed, mixture=mixture)
    if len(stream):
        batch = stream.largest(0)
        rows, T = batch.tgt_in_BT.shape
        often = np.asarray(mixture.weights)[mixture.corpora] if mixture else None
        source, target = (round(np.average(examples.lengths(side), weights=often)) + 1 for side in SIDES)
        mean = BatchShape(1, source, target)
        largest = BatchShape(rows, batch.source.src_BS.shape[1], T)
    stream.close()
    return mean, largest


def _schedule(config: Config, folder: Path | None) -> tuple[list[float], str]:
    """Return the learning rate of each update, and where the number of updates comes from."""
    from mtrain.model.bundle import whole_origin
    from mtrain.training.schedule import learning_rate
    from mtrain.training.state import TrainingState

    section: TrainingConfig = config.training
    origin = whole_origin(folder or Path(config.run.folder) / "model")
    updates, note = _ASSUMED_WARMUPS * section.warmup_updates, f"assumed, {_ASSUMED_WARMUPS} warm-ups"
    if planned := TrainingState().total_updates(section):
        updates, note = planned, "training.max_updates"
    elif "end" in origin:
        updates, note = int(origin["end"]), "as the trained run had"
    # Where only epochs end a run, training does not know beforehand how many updates these are, and nothing falls to 0.
    total = updates if section.max_updates or section.max_minutes else 0
    d_model = config.model.d_model
    return [learning_rate(section, update, total, d_model) for update in range(1, updates + 1)], note
