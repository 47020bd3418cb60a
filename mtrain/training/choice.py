"""Which weights a run leaves behind for translating: those that do best on dev."""

from collections.abc import Iterator

from torch import Tensor

from mtrain.console import say
from mtrain.errors import CheckpointError
from mtrain.model.transformer import Transformer
from mtrain.model.weights import restore_weights
from mtrain.training.average import average
from mtrain.training.loop import Training
from mtrain.training.state import TrainingState, forgets
from mtrain.training.validation import DevScores

Weights = dict[str, Tensor]
Origin = dict[str, str | int | float]


def choose_weights(training: Training, state: TrainingState, model: Transformer) -> tuple[Weights, Origin]:
    """Return the weights that are best on dev, of the best checkpoint and the averages, and what they are.

    They are tried in `model`, which has no others to lose.
    """
    results: list[tuple[float, str, Weights, DevScores]] = []
    for name, weights in _candidates(training, state):
        restore_weights(model, weights, name, CheckpointError)
        scores = training.validator(model)
        guard = training.config.guard
        rise = state.rise(scores.by_corpus[guard]) if guard else 0.0
        if results and forgets(rise, training.config):  # the first one, the best checkpoint, has not forgotten
            say(f"{name}: the dev loss of {guard} is {rise:.3f} above that at the start, too much")
            continue
        bleu = "" if scores.bleu is None else f", dev BLEU {scores.bleu:.2f} (greedy)"
        say(f"{name}: dev loss {scores.loss:.3f}{bleu}")
        results.append((-scores.loss if scores.bleu is None else scores.bleu, name, weights, scores))
    _, name, weights, scores = max(results, key=lambda result: result[0])
    say(f"kept for translating: {name}")
    origin: Origin = {"weights": name, "dev_loss": scores.loss}
    return weights, origin if scores.bleu is None else {**origin, "dev_bleu_greedy": scores.bleu}


def _candidates(training: Training, state: TrainingState) -> Iterator[tuple[str, Weights]]:
    checkpoints, last = training.checkpoints, training.config.average_checkpoints
    best = checkpoints.path(state.best_update)
    if not best.is_dir():  # no dev loss was ever finite, or the run was cut to an end before its first validation
        best = checkpoints.all()[-1]
    yield f"checkpoint {best.name}", average(checkpoints.weights([best]))
    latest = checkpoints.all()[-last:] if last > 1 else []
    if len(latest) > 1:
        yield f"mean of the last {len(latest)} checkpoints", average(checkpoints.weights(latest))
    if training.updater.average:
        (weights,) = checkpoints.weights([checkpoints.path(state.update)], "average")
        yield "moving average", weights
