"""`mtrain fit`: prepared data in, a run's folder with a trained model out."""

import json
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import asdict, replace
from pathlib import Path

import torch

from mtrain.batches.augment import make_augmentation
from mtrain.batches.store import Prepared, open_prepared
from mtrain.batches.stream import Taker, TrainingStream, make_mixture
from mtrain.commands.length_penalty import tuned
from mtrain.commands.start_from import start_from
from mtrain.commands.validator import make_validator
from mtrain.config.load import dump_config
from mtrain.config.schema import Config, RunConfig, TrainingConfig
from mtrain.console import be_silent, say, warn
from mtrain.corpus.sources import SIDES, entries
from mtrain.errors import CheckpointError, ConfigError, TrainingError
from mtrain.model.build import build_model
from mtrain.model.bundle import Bundle, save_bundle, whole_origin
from mtrain.model.transformer import Transformer
from mtrain.model.weights import restore_weights
from mtrain.runtime import choose_device, choose_precision, environment, keep_freed_memory, seed_from, set_threads
from mtrain.storage import held_alone, write_whole
from mtrain.tokenizer import Tokenizers
from mtrain.training.checkpoint import Checkpoints, Fingerprint
from mtrain.training.choice import choose_weights
from mtrain.training.compilation import compile_layers
from mtrain.training.loop import Training
from mtrain.training.loop import fit as fit_model
from mtrain.training.moving_average import MovingAverage
from mtrain.training.objective import share_of_others
from mtrain.training.optimizer import build_optimizer
from mtrain.training.preflight import preflight
from mtrain.training.processes import Processes, join_processes, leave_processes
from mtrain.training.sharding import share_out
from mtrain.training.state import TrainingState, stop_reason
from mtrain.training.step import BatchLoss, Updater

# Settings of training that may change when an interrupted or finished run goes on: none of them touches an update that
# has been made. (The ends of the run do touch the learning rate of those to come, where there is a cooldown.)
_FREE_TRAINING_SETTINGS = {
    "max_updates",
    "max_epochs",
    "max_minutes",
    "patience",
    "guard_tolerance",
    "distributed",
    "log_every_updates",
    "tensorboard",
    "validate_every_updates",
    "validate_pairs",
    "tune_pairs",
    "save_every_updates",
    "save_every_minutes",
    "keep_checkpoints",
    "average_checkpoints",
}


def fit(config: Config) -> None:
    """Train, or go on with training, until a stop rule of the config says so; leave the best model in `model/`."""
    device = choose_device(config.run.device)
    processes = join_processes(device, config.training.distributed == "fsdp")
    if not processes.is_first:
        be_silent()
    try:
        with held_alone(Path(config.run.folder)) if processes.is_first else nullcontext():
            _fit(config, device, processes)
            processes.wait()
    except RuntimeError as error:
        if processes.is_silence_of_another(error):
            cause = str(error).partition("\n")[0]
            raise TrainingError(
                f"another process of this run does not answer, so this one ends too ({cause}). Checkpoints are whole: "
                "run the same command again to go on from the latest."
            ) from error
        raise
    leave_processes(processes)


def _fit(config: Config, device: torch.device, processes: Processes) -> None:
    precision = choose_precision(config.training.precision, device)
    run = Path(config.run.folder)
    set_threads(config.run.threads)
    keep_freed_memory()
    prepared = open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)
    seed_from(config.run.seed, "weights")
    tokenizers = prepared.tokenizers()
    source_pieces, target_pieces = (tokenizers[side].vocabulary_size for side in SIDES)
    model = build_model(config.model, source_pieces, target_pieces).to(device)
    training = _training(config, model, prepared, tokenizers, precision, processes)
    state = training.resume()
    _introduce(config, training, state, f"{device.type}, {_name(precision)}")
    reason = stop_reason(state, config.training)
    if state.update and reason and _choosing(config, state).items() <= whole_origin(run / "model").items():
        say(f"{run}: nothing to do, training has ended ({reason}). Raise that limit to go on.")
        return
    if processes.is_first:
        write_whole(run / "config.yaml", dump_config(config))
        write_whole(run / "environment.json", json.dumps(environment(device, precision), indent=2) + "\n")
    if reason is None:
        preflight(training, state)
    reason = fit_model(training, state)
    say(f"training ends after update {state.update:,}, {state.seconds / 60:.1f} minutes ({reason})")
    _leave_model(config, training, state, prepared)


def _leave_model(config: Config, training: Training, state: TrainingState, prepared: Prepared) -> None:
    """Choose the weights to translate with and write them, with all that translating needs, into `model/`."""
    run, model = Path(config.run.folder), training.whole_model()
    if not training.processes.is_first:
        return
    weights, origin = choose_weights(training, state, model)
    restore_weights(model, weights, "the chosen weights", CheckpointError)
    bundle = Bundle(
        model,
        training.tokenizers,
        config.corpus.source_language,
        config.corpus.target_language,
        config.model,
        {
            **origin,
            **_choosing(config, state),
            "target_tokens": state.target_tokens,
            "prepared_data": prepared.fingerprint,
        },
    )
    # The machine that trained is no matter of the model: it translates elsewhere too.
    here = RunConfig(folder=config.run.folder, seed=config.run.seed)
    settings = dump_config(replace(config, run=here, decoding=tuned(config, model, prepared, training.tokenizers)))
    save_bundle(bundle, settings, run / "model")
    say(f"the model is in {run / 'model'}")


def _choosing(config: Config, state: TrainingState) -> dict[str, int | float]:
    """Return what decides, with the run's own updates, what is left in `model/`."""
    return {
        "end": state.update,
        "average_checkpoints": config.training.average_checkpoints,
        "tune_pairs": config.training.tune_pairs,
        "length_penalty": config.decoding.length_penalty,
    }


def _training(
    config: Config,
    model: Transformer,
    prepared: Prepared,
    tokenizers: Tokenizers,
    precision: torch.dtype,
    processes: Processes,
) -> Training:
    section, run = config.training, Path(config.run.folder)
    if section.accumulate % processes.count:
        raise ConfigError(
            f"training.accumulate: {section.accumulate} micro-batches an update cannot be shared evenly by "
            f"{processes.count} processes. Set it to a multiple of {processes.count}."
        )
    checkpoints = Checkpoints(run / "checkpoints", _fingerprint(config, prepared, precision), section.keep_checkpoints)
    if section.start_from and checkpoints.latest() is None:
        start_from(section.start_from, model, config.model, tokenizers)
    augmentation = make_augmentation(prepared, tokenizers, config.batches, config.run.seed)
    mixture = make_mixture(prepared, config.corpus)
    taker = Taker(processes.rank, processes.count, pinned=model.output.weight.is_cuda)
    stream = TrainingStream(prepared.examples("train"), config.batches, config.run.seed, augmentation, mixture, taker)
    if len(stream) == 0:
        raise TrainingError(
            f"{config.corpus.folder}: every training pair has a side of more than "
            f"{config.batches.max_tokens_per_sentence} tokens. Raise batches.max_tokens_per_sentence."
        )
    smoothing = share_of_others(section.label_smoothing, section.smoothing_over, tokenizers["target"].vocabulary_size)
    loss = _loss(section, model, smoothing, precision, processes)
    updater = Updater(
        loss,
        build_optimizer(loss.model, section),
        section.clip_norm,
        config.run.seed,
        processes,
        MovingAverage(loss.model, section.average_decay) if section.average_decay else None,
    )
    validator = make_validator(config, prepared, tokenizers, precision)
    return Training(section, stream, tokenizers, model, updater, validator, checkpoints, processes, run)


def _loss(
    config: TrainingConfig, model: Transformer, smoothing: float, precision: torch.dtype, processes: Processes
) -> BatchLoss:
    """Return what is trained: `model` itself, or a copy of it of which each process holds a share."""
    device = model.output.weight.device
    trained = deepcopy(model.cpu()) if processes.share_weights else model
    loss = BatchLoss(trained, smoothing, precision, config.r_drop)
    layers = [*trained.encoder.layers, *trained.decoder.layers]
    if config.compile:
        compile_layers(layers, device)
    if processes.share_weights:
        share_out(loss, layers, device)
    return loss


def _fingerprint(config: Config, prepared: Prepared, precision: torch.dtype) -> Fingerprint:
    training, mixture = asdict(config.training), make_mixture(prepared, config.corpus)
    return {
        "prepared data": prepared.fingerprint,
        "run.seed": config.run.seed,
        **{f"model.{key}": value for key, value in asdict(config.model).items()},
        **{f"batches.{key}": value for key, value in asdict(config.batches).items()},
        **({"weights of corpus.train": str(list(mixture.weights))} if mixture else {}),
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
    weights = [f"{one.title} {one.weight:g}" for one in entries(config.corpus, "train")]
    if len(weights) > 1:
        say(f"how often an epoch sees the pairs of each corpus: {'; '.join(weights)}")
    if stream.left_out:
        limit = config.batches.max_tokens_per_sentence
        warn(f"{stream.left_out:,} training pairs with over {limit} tokens on a side are left out")
    if state.update:
        say(f"going on from update {state.update:,} (epoch {state.epoch + 1}, {state.seconds / 60:.1f} minutes so far)")
