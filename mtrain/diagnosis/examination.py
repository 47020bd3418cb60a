"""The order of the checks: what others depend on comes first, and where that is broken, the others have to wait."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, cycle, islice

import numpy as np
import torch

from mtrain.batches.collate import Batch, collate
from mtrain.batches.sampler import length_batches
from mtrain.batches.store import Prepared
from mtrain.batches.stream import fixed_batches, model_lengths
from mtrain.config.schema import BatchesConfig, ModelConfig, TrainingConfig
from mtrain.diagnosis.condition import check_condition
from mtrain.diagnosis.consistency import check_consistency
from mtrain.diagnosis.data import check_data
from mtrain.diagnosis.dropping import check_dropout
from mtrain.diagnosis.finding import Finding, Findings
from mtrain.diagnosis.formulas import check_formulas
from mtrain.diagnosis.labels import check_batch, check_first_loss, check_loss
from mtrain.diagnosis.layers import check_layers, check_wiring
from mtrain.diagnosis.overfit import check_overfitting, choose_pairs
from mtrain.diagnosis.positions import check_positions
from mtrain.diagnosis.probe import at_rest, weights_put_back
from mtrain.diagnosis.settings import UPDATES, check_schedule, check_settings
from mtrain.diagnosis.signals import check_signals
from mtrain.diagnosis.source import check_source
from mtrain.diagnosis.visibility import check_visibility
from mtrain.model.initialize import INITIALIZATIONS, initialize
from mtrain.model.transformer import Transformer
from mtrain.runtime import seed_from
from mtrain.tokenizer import Tokenizers
from mtrain.training.objective import Loss
from mtrain.training.schedule import learning_rate
from mtrain.training.step import Updater

_SENTENCES = 8
_SHORT, _LONG = 4, 24
_SAMPLE = 4000
_WORDS = 12
_TOKENS_A_BATCH = 1500
_DEV_BATCHES = 4
_OVERFIT_SECONDS = 90.0


@dataclass
class Subject:
    """All that is examined. `make_batch` makes a batch of training examples, `make_updater` what trains `model`."""

    model: Transformer
    trained: bool
    model_config: ModelConfig
    training: TrainingConfig
    batches: BatchesConfig
    prepared: Prepared
    tokenizers: Tokenizers
    make_batch: Callable[[Sequence[int]], Batch]
    loss: Callable[[Batch], Loss]
    make_updater: Callable[[], Updater]

    def __post_init__(self) -> None:
        self.device = self.model.output.weight.device
        self.examples = self.prepared.examples("train")
        drawn = np.random.default_rng(1).permutation(len(self.examples))[:_SAMPLE]
        usable = model_lengths(self.examples).longest_side[drawn] <= self.batches.max_tokens_per_sentence
        self.sample: list[int] = drawn[usable].tolist()

    def pair(self, index: int) -> tuple[list[int], list[int]]:
        """Return the ids of one training example."""
        return self.examples.source(index).tolist(), self.examples.target(index).tolist()


def examine(subject: Subject) -> Iterator[tuple[str, Finding]]:
    """Yield each finding with the name of its group; a stage that is broken leaves the later ones out.

    What is broken in the data does not, unless there is nothing left to train on.
    """
    for stage in _STAGES:
        broken = False
        for group, check in stage.items():
            for finding in _guarded(check, subject):
                broken = broken or finding.verdict == "broken"
                yield group, finding
        if broken and (stage is not _STAGES[0] or not subject.sample):
            return


def _guarded(check: Callable[[Subject], Findings], subject: Subject) -> Findings:
    """Take what PyTorch has to complain of as a finding about the model."""
    try:
        yield from check(subject)
    except (RuntimeError, IndexError) as error:
        told = str(error).strip().partition("\n")[0]
        yield Finding("the model can be run", f"{type(error).__name__}: {told}", "broken", "cannot_run")


def _data(subject: Subject) -> Findings:
    return check_data(subject.prepared, subject.tokenizers, subject.batches.max_tokens_per_sentence)


def _batch(subject: Subject) -> Findings:
    chosen = _few(subject)
    sources, targets = zip(*map(subject.pair, chosen), strict=True)
    return check_batch(subject.make_batch(chosen), sources, targets)


def _condition(subject: Subject) -> Findings:
    return check_condition(subject.model, subject.model_config, _sentences(subject), subject.tokenizers)


def _visibility(subject: Subject) -> Findings:
    with at_rest(subject.model):
        yield from check_visibility(subject.model, _sentences(subject))


def _positions(subject: Subject) -> Findings:
    sides = [set(chain.from_iterable(side)) for side in zip(*map(subject.pair, _few(subject)), strict=True)]
    source, target = (torch.tensor(sorted(ids)[-_WORDS:], device=subject.device) for ids in sides)
    with at_rest(subject.model):
        yield from check_positions(subject.model, subject.model_config, source, target)


def _attention(subject: Subject) -> Findings:
    with at_rest(subject.model):
        yield from check_formulas(subject.model, _sentences(subject))


def _layers(subject: Subject) -> Findings:
    with at_rest(subject.model):
        yield from check_layers(subject.model, subject.model_config, _sentences(subject))


def _wiring(subject: Subject) -> Findings:
    with at_rest(subject.model):
        yield from check_wiring(subject.model, subject.model_config, _sentences(subject))


def _consistency(subject: Subject) -> Findings:
    with at_rest(subject.model):
        yield from check_consistency(subject.model, _sentences(subject))


def _loss(subject: Subject) -> Findings:
    batch = _sentences(subject)
    with at_rest(subject.model):
        yield from check_loss(subject.loss, subject.model, batch, subject.training)
        if not subject.trained:
            yield from check_first_loss(subject.model, batch)


def _dropout(subject: Subject) -> Findings:
    return check_dropout(subject.model, subject.model_config, subject.make_updater(), _sentences(subject))


def _signals(subject: Subject) -> Findings:
    return check_signals(subject.model, subject.make_updater(), _sentences(subject), subject.trained)


def _source(subject: Subject) -> Findings:
    dev = subject.prepared.examples("dev")
    if subject.trained and len(dev) > 1:
        batches = fixed_batches(dev, subject.batches.max_tokens_per_batch)
        chosen = batches[:: -(-len(batches) // _DEV_BATCHES)]
        yield from check_source(subject.model, [batch.to(subject.device) for batch in chosen])


def _overfit(subject: Subject) -> Findings:
    sources, targets = choose_pairs([subject.pair(index) for index in subject.sample])
    return check_overfitting(subject.model, sources, targets, _OVERFIT_SECONDS)


def _settings(subject: Subject) -> Findings:
    """On fresh weights, since trained ones no longer show what the rate does to a run that begins."""
    chosen, config = np.array(subject.sample), subject.training
    budget = min(_TOKENS_A_BATCH, subject.batches.max_tokens_per_batch)
    groups = length_batches(model_lengths(subject.examples), chosen, budget, ties=chosen)
    order = np.random.default_rng(1).permutation(len(groups))
    batches = [subject.make_batch(groups[index].tolist()) for index in islice(cycle(order), UPDATES)]
    rates = _rising_rates(config, subject.model_config.d_model)
    yield from check_schedule(rates, config.label_smoothing)
    with weights_put_back(subject.model):
        seed_from(1, "weights")
        initialize(subject.model, INITIALIZATIONS[subject.model_config.initialization])
        yield from check_settings(subject.make_updater(), batches, max(rates), config.clip_norm)


def _rising_rates(config: TrainingConfig, d_model: int) -> list[float]:
    """Return the rate of each update of the warm-up, among them the run's highest; the run may end in the warm-up."""
    risen = min(config.warmup_updates, config.max_updates or config.warmup_updates)
    return [learning_rate(config, update, config.max_updates, d_model) for update in range(1, risen + 1)]


_STAGES: list[dict[str, Callable[[Subject], Findings]]] = [
    {"data": _data},
    {"batch": _batch},
    {"condition": _condition},
    {
        "layers": _layers,
        "visibility": _visibility,
        "positions": _positions,
        "attention": _attention,
        "wiring": _wiring,
        "consistency": _consistency,
        "loss": _loss,
        "dropout": _dropout,
        "signals": _signals,
    },
    {"source": _source, "overfit": _overfit, "settings": _settings},
]


def _sentences(subject: Subject) -> Batch:
    """Return a few sentences with padding on both sides, also where all sources are of one length."""
    sources, targets = map(list, zip(*map(subject.pair, _few(subject)), strict=True))
    if len({len(source) for source in sources}) == 1:
        half = len(sources[-1]) // 2
        sources[-1] = sources[-1][:half] if half else sources[-1] * 2
    return collate(sources, targets).to(subject.device)


def _few(subject: Subject) -> list[int]:
    """Return examples of different lengths, none of them long."""
    fitting = [i for i in subject.sample if all(_SHORT <= len(side) <= _LONG for side in subject.pair(i))]
    by_length = sorted(fitting or subject.sample, key=lambda i: len(subject.pair(i)[0]))
    return [by_length[len(by_length) * n // _SENTENCES] for n in range(_SENTENCES)]
