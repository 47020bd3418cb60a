"""`mtrain diagnose`: a config or a trained model in, what is broken in it out."""

import time
from functools import partial
from pathlib import Path

import torch

from mtrain.batches.store import Prepared, open_prepared
from mtrain.batches.stream import collate_examples
from mtrain.config.schema import Config, ModelConfig
from mtrain.console import say
from mtrain.corpus.sources import SIDES
from mtrain.diagnosis.examination import Subject, examine
from mtrain.diagnosis.finding import Finding
from mtrain.diagnosis.report import render, render_summary
from mtrain.errors import BundleError, CheckpointError, PreparedDataError
from mtrain.model.build import build_model
from mtrain.model.bundle import load_bundle
from mtrain.model.transformer import Transformer
from mtrain.model.weights import restore_weights
from mtrain.runtime import choose_device, choose_precision, keep_freed_memory, seed_from, set_threads
from mtrain.tokenizer import Tokenizers
from mtrain.training.checkpoint import Checkpoints
from mtrain.training.objective import share_of_others
from mtrain.training.optimizer import build_optimizer
from mtrain.training.step import BatchLoss, Updater


def diagnose(config: Config, trained: Path | None) -> bool:
    """Print the report on a fresh model, or on that of a run's or model's folder; return whether nothing is broken.

    Nothing on the disk is changed.
    """
    began, group = time.perf_counter(), ""
    subject = make_subject(config, trained)
    findings: list[Finding] = []
    for name, finding in examine(subject):
        if name != group:
            print(f"{name}" if not group else f"\n{name}")
            group = name
        print(render(finding), flush=True)
        findings.append(finding)
    print(f"\n{render_summary(findings, time.perf_counter() - began)}", flush=True)
    return all(finding.verdict != "broken" for finding in findings)


def make_subject(config: Config, trained: Path | None) -> Subject:
    """Return all that is examined, made as `mtrain fit` makes it."""
    set_threads(config.run.threads)
    keep_freed_memory()
    device = choose_device(config.run.device)
    prepared = open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)
    if not prepared.manifest.pairs["train"]:
        raise PreparedDataError(f"{config.corpus.folder}: there is nothing to train on.")
    model, model_config, tokenizers = _model(config, trained, prepared)
    model = model.to(device)
    section, seed = config.training, config.run.seed
    smoothing = share_of_others(section.label_smoothing, section.smoothing_over, model.output.weight.size(0))
    examples, precision = prepared.examples("train"), choose_precision(section.precision, device)
    say(f"diagnosing {trained or 'a fresh model'} on {prepared.folder}, {device.type}")
    return Subject(
        model=model,
        trained=trained is not None,
        model_config=model_config,
        training=section,
        batches=config.batches,
        prepared=prepared,
        tokenizers=tokenizers,
        make_batch=partial(collate_examples, examples),
        loss=BatchLoss(model, smoothing, torch.float32),
        make_updater=lambda: Updater(
            BatchLoss(model, smoothing, precision), build_optimizer(model, section), section.clip_norm, seed
        ),
    )


def _model(config: Config, trained: Path | None, prepared: Prepared) -> tuple[Transformer, ModelConfig, Tokenizers]:
    """Return a model with its shape and tokenizers: a model folder's own ones, else the config's and the data's."""
    if trained is not None and (folder := _model_folder(trained)):
        bundle = load_bundle(folder)
        return bundle.model, bundle.model_config, bundle.tokenizers
    tokenizers = prepared.tokenizers()
    seed_from(config.run.seed, "weights")
    source_pieces, target_pieces = (tokenizers[side].vocabulary_size for side in SIDES)
    model = build_model(config.model, source_pieces, target_pieces)
    if trained is not None:
        checkpoints = Checkpoints(trained / "checkpoints", {}, keep=1)
        latest = checkpoints.latest()
        if latest is None:
            raise BundleError(f"{trained}: neither a model nor a checkpoint is in this folder.")
        (weights,) = checkpoints.weights([latest])
        with torch.no_grad():
            restore_weights(model, weights, str(latest), CheckpointError)
        say(f"{trained} has no model yet: its latest checkpoint, {latest.name}, is examined")
    return model, config.model, tokenizers


def _model_folder(folder: Path) -> Path | None:
    """Return the model folder that is meant by that of a run or of a model; None where there is none."""
    return next((place for place in (folder, folder / "model") if (place / "bundle.json").is_file()), None)
