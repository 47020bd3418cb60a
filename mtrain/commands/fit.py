"""`mtrain fit`: prepared data in, a run's folder with a trained model out."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import torch

from mtrain.batches.store import Prepared, open_prepared
from mtrain.batches.stream import TrainingStream, fixed_batches
from mtrain.config.load import dump_config
from mtrain.config.schema import Config, RunConfig
from mtrain.console import progress_bar, say, warn
from mtrain.decoding.translator import Translator
from mtrain.errors import CheckpointError, PreparedDataError, TrainingError
from mtrain.evaluation.metrics import score
from mtrain.model.build import build_model
from mtrain.model.bundle import Bundle, save_bundle, whole_origin
from mtrain.model.transformer import Transformer
from mtrain.model.weights import restore_weights
from mtrain.runtime import choose_device, choose_precision, environment, keep_freed_memory, seed_from, set_threads
from mtrain.storage import held_alone, write_whole
from mtrain.tokenizer import Tokenizer
from mtrain.training.average import average
from mtrain.training.checkpoint import Checkpoints, Fingerprint
from mtrain.training.loop import Training
from mtrain.training.loop import fit as fit_model
from mtrain.training.optimizer import build_optimizer
from mtrain.training.state import TrainingState, stop_reason
from mtrain.training.step import Updater
from mtrain.training.validation import DevScores, Sample, Validator, dev_losses

# Settings of training that may change when an interrupted or finished run goes on: none of them touches an update that
# has been made. (The ends of the run do touch the learning rate of those to come, where there is a cooldown.)
_FREE_TRAINING_SETTINGS = {
    "max_updates",
    "max_epochs",
    "max_minutes",
    "patience",
    "log_every_updates",
    "validate_every_updates",
    "validate_pairs",
    "save_every_updates",
    "keep_checkpoints",
    "average_checkpoints",
}
_SAMPLES_SHOWN = 3


def fit(config: Config) -> None:
    """Train, or go on with training, until a stop rule of the config says so; leave the best model in `model/`."""
    with held_alone(Path(config.run.folder)):
        _fit(config)


def _fit(config: Config) -> None:
    device = choose_device(config.run.device)
    precision = choose_precision(config.training.precision, device)
    set_threads(config.run.threads)
    keep_freed_memory()
    prepared = open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)
    tokenizer = Tokenizer.load(prepared.tokenizer_path)
    run = Path(config.run.folder)
    seed_from(config.run.seed, "weights")
    model = build_model(config.model, tokenizer.vocabulary_size).to(device)
    training = _training(config, model, prepared, tokenizer, precision)
    state = training.checkpoints.load_latest(model, training.updater.optimizer) or TrainingState()
    _introduce(config, training, state, f"{device.type}, {_name(precision)}")
    choosing = {"end": state.update, "average_checkpoints": config.training.average_checkpoints}
    reason = stop_reason(state, config.training)
    if state.update and reason and choosing.items() <= whole_origin(run / "model").items():
        say(f"{run}: nothing to do, training has ended ({reason}). Raise that limit to go on.")
        return
    write_whole(run / "config.yaml", dump_config(config))
    write_whole(run / "environment.json", json.dumps(environment(device, precision), indent=2) + "\n")

    reason = fit_model(training, state)
    say(f"training ends after update {state.update:,}, {state.seconds / 60:.1f} minutes ({reason})")
    weights, origin = _choose(training, state, config.training.average_checkpoints)
    restore_weights(model, weights, "the chosen weights", CheckpointError)
    bundle = Bundle(
        model,
        tokenizer,
        config.corpus.source_language,
        config.corpus.target_language,
        config.model,
        {
            **origin,
            **choosing,
            "end": state.update,
            "target_tokens": state.target_tokens,
            "prepared_data": prepared.fingerprint,
        },
    )
    # The machine that trained is no matter of the model: it translates elsewhere too.
    settings = dump_config(replace(config, run=RunConfig(folder=config.run.folder, seed=config.run.seed)))
    save_bundle(bundle, prepared.tokenizer_path, settings, run / "model")
    say(f"the model is in {run / 'model'}")


def _training(
    config: Config, model: Transformer, prepared: Prepared, tokenizer: Tokenizer, precision: torch.dtype
) -> Training:
    stream = TrainingStream(prepared.examples("train"), config.batches, config.run.seed)
    if len(stream) == 0:
        raise TrainingError(
            f"{config.corpus.folder}: every training pair has a side of more than "
            f"{config.batches.max_tokens_per_sentence} tokens. Raise batches.max_tokens_per_sentence."
        )
    section = config.training
    updater = Updater(
        model,
        build_optimizer(model, section),
        section.label_smoothing,
        section.clip_norm,
        precision,
        config.run.seed,
    )
    run = Path(config.run.folder)
    return Training(
        section,
        stream,
        updater,
        _validator(config, prepared, tokenizer, precision),
        Checkpoints(run / "checkpoints", _fingerprint(config, prepared, precision), section.keep_checkpoints),
        run / "metrics.jsonl",
    )


def _fingerprint(config: Config, prepared: Prepared, precision: torch.dtype) -> Fingerprint:
    training = asdict(config.training)
    return {
        "prepared data": prepared.fingerprint,
        "run.seed": config.run.seed,
        **{f"model.{key}": value for key, value in asdict(config.model).items()},
        **{f"batches.{key}": value for key, value in asdict(config.batches).items()},
        **{f"training.{key}": value for key, value in training.items() if key not in _FREE_TRAINING_SETTINGS},
        "training.precision": _name(precision),
    }


def _name(precision: torch.dtype) -> str:
    return {torch.float32: "fp32", torch.bfloat16: "bf16"}[precision]


def _introduce(config: Config, training: Training, state: TrainingState, machine: str) -> None:
    parameters = sum(parameter.numel() for parameter in training.updater.model.parameters())
    stream = training.stream
    say(
        f"{config.run.folder}: {parameters / 1e6:.1f} M parameters, {len(stream):,} training pairs in "
        f"{stream.epoch_length(0):,} batches an epoch, on {machine}"
    )
    if stream.left_out:
        limit = config.batches.max_tokens_per_sentence
        warn(f"{stream.left_out:,} training pairs with over {limit} tokens on a side are left out")
    if state.update:
        say(f"going on from update {state.update:,} (epoch {state.epoch + 1}, {state.seconds / 60:.1f} minutes so far)")


def _validator(config: Config, prepared: Prepared, tokenizer: Tokenizer, precision: torch.dtype) -> Validator:
    if len(prepared.examples("dev")) == 0:
        raise PreparedDataError(f"{config.corpus.folder}: the dev split is empty. Set corpus.dev, or corpus.dev_pairs.")
    batches = fixed_batches(prepared.examples("dev"), config.batches.max_tokens_per_batch)
    sources, references = prepared.lines("dev", "source"), prepared.lines("dev", "target")
    count = min(config.training.validate_pairs, len(sources))
    chosen = [index * len(sources) // count for index in range(count)]
    some_sources, some_references = [sources[i] for i in chosen], [references[i] for i in chosen]
    greedy = replace(config.decoding, beam=1)
    language, bleu_tokenizer = config.corpus.target_language, config.evaluation.bleu_tokenizer
    # Scored once here: a language whose tokenizer is not installed should be told now, not after an hour.
    if chosen:
        score(some_references, some_references, None, language, bleu_tokenizer)

    def validate(model: Transformer) -> DevScores:
        loss, source_gain = dev_losses(model, batches, precision)
        if not chosen:
            return DevScores(loss, source_gain, None, [])
        with progress_bar("dev BLEU", count, "line") as bar:
            translations = Translator(model, tokenizer, greedy, language).translate(some_sources, bar.update)
        hypotheses = [translation.text for translation in translations]
        scores = score(hypotheses, some_references, None, language, bleu_tokenizer)
        samples = map(Sample, some_sources, some_references, hypotheses)
        return DevScores(loss, source_gain, scores.bleu, list(samples)[:_SAMPLES_SHOWN])

    return validate


def _choose(
    training: Training, state: TrainingState, last: int
) -> tuple[dict[str, torch.Tensor], dict[str, str | int | float]]:
    """Return the better, on dev, of the best checkpoint's weights and the mean of the last ones', and what they are."""
    checkpoints = training.checkpoints
    best = checkpoints.path(state.best_update)
    if not best.is_dir():  # no dev loss was ever finite, or the run was cut to an end before its first validation
        best = checkpoints.all()[-1]
    candidates = {f"checkpoint {best.name}": [best]}
    latest = checkpoints.all()[-last:] if last > 1 else []
    if len(latest) > 1:
        candidates[f"mean of the last {len(latest)} checkpoints"] = latest
    results = []
    for name, parts in candidates.items():
        weights = average(checkpoints.weights(parts))
        restore_weights(training.updater.model, weights, name, CheckpointError)
        scores = training.validator(training.updater.model)
        bleu = "" if scores.bleu is None else f", dev BLEU {scores.bleu:.2f} (greedy)"
        say(f"{name}: dev loss {scores.loss:.3f}{bleu}")
        results.append((-scores.loss if scores.bleu is None else scores.bleu, name, weights, scores))
    _, name, weights, scores = max(results, key=lambda result: result[0])
    say(f"kept for translating: {name}")
    origin: dict[str, str | int | float] = {"weights": name, "dev_loss": scores.loss}
    return weights, origin if scores.bleu is None else {**origin, "dev_bleu_greedy": scores.bleu}
