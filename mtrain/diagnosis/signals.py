"""Forward and backward, layer by layer: what is dead, what explodes, what never learns, where heads look."""

import math
from typing import Any

import torch
from torch import Tensor

from mtrain.batches.collate import Batch
from mtrain.diagnosis.finding import Finding, Findings, Verdict, judged
from mtrain.diagnosis.probe import closed_gates, listening, logits_of, opened_gates, rms, without_dropout
from mtrain.model.attention import MultiHeadAttention, watched
from mtrain.model.feedforward import FeedForward, GatedFeedForward
from mtrain.model.transformer import Transformer
from mtrain.training.step import Updater

# Of the stream that a sublayer adds to: less is nothing.
_SILENT = 1e-5
_GROWTH = 100.0
_IMBALANCE = 1000.0
# A head's entropy over that of looking everywhere alike.
_COLLAPSED, _UNIFORM = 0.02, 0.9999
_MOST = 0.9
_SAME_MEAN = 0.01


def check_signals(model: Transformer, updater: Updater, batch: Batch, trained: bool) -> Findings:
    """Run one batch forward and backward, as training does."""
    yield _learning(model, updater)
    yield from _gates(model, updater, batch, trained)
    model.eval()
    with opened_gates(model):
        with torch.no_grad():
            yield _contributions(model, batch)
            yield _stream(model, batch)
            yield _heads(model, batch, trained)
        yield from _gradients(model, updater, batch)
        yield _accumulation(model, updater, batch)


def _learning(model: Transformer, updater: Updater) -> Finding:
    known = {id(parameter) for group in updater.optimizer.param_groups for parameter in group["params"]}
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    unknown = [name for name, parameter in model.named_parameters() if id(parameter) not in known]
    shut = [name for name in frozen if name in closed_gates(model)]
    cause = "zero_gain_frozen" if shut else "frozen" if frozen else "not_in_optimizer" if unknown else ""
    named = f", such as {(shut or frozen or unknown)[0]}" if cause else ""
    measured = f"{len(frozen)} tensors are frozen, {len(unknown)} are not in the optimiser{named} (0 of both)"
    return judged("every weight is trained", measured, cause)


def _gates(model: Transformer, updater: Updater, batch: Batch, trained: bool) -> Findings:
    gates = closed_gates(model)
    if not gates:
        yield Finding("no sublayer is shut off", "no gain is 0, nor all last matrices")
        return
    tested = "sublayers that are shut off open in training"
    named = f"{len(gates)} tensors are 0, such as {next(iter(gates))}"
    if trained:
        yield judged(tested, f"{named}, after training", "zero_gain")
        return
    with opened_gates(model, but_gains=True):  # the encoder learns nothing before the decoder looks at it
        updater.gradient(1, [batch])
    stuck = [name for name, gate in gates.items() if gate.grad is None or not float(gate.grad.abs().max()) > 0]
    model.zero_grad()
    measured = f"{named}; {len(stuck)} get no gradient{f', such as {stuck[0]}' if stuck else ''} (0)"
    yield judged(tested, measured, "gate_stays_shut" if stuck else "")


def _contributions(model: Transformer, batch: Batch) -> Finding:
    """Each sublayer's output beside the stream that it is added to."""
    kinds = (MultiHeadAttention, FeedForward, GatedFeedForward)
    named = {module: name for name, module in model.named_modules() if isinstance(module, kinds)}
    sizes = dict.fromkeys(named.values(), 0.0)

    def hear(module: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        sizes[named[module]] = rms(output) / max(rms(inputs[0]), 1e-12)

    with listening(list(named), hear):
        logits_of(model, batch)
    quiet = min(sizes, key=lambda name: sizes[name])
    measured = f"the quietest, {quiet}, gives {sizes[quiet]:.2g} of its input (at least {_SILENT:.1g})"
    return judged("every sublayer says something", measured, "sublayer_dead" if sizes[quiet] < _SILENT else "")


def _stream(model: Transformer, batch: Batch) -> Finding:
    named = {layer: f"encoder {n}" for n, layer in enumerate(model.encoder.layers, start=1)}
    named |= {layer: f"decoder {n}" for n, layer in enumerate(model.decoder.layers, start=1)}
    sizes: dict[str, float] = {}
    with listening(list(named), lambda layer, _, output: sizes.update({named[layer]: rms(output)})):
        logits_of(model, batch)
    first = {part: sizes[f"{part} 1"] for part in ("encoder", "decoder")}
    ratios = {name: size / max(first[name.split()[0]], 1e-12) for name, size in sizes.items()}
    most, least = max(ratios.values()), min(ratios.values())
    listed = ", ".join(f"{name}: {size:.3g}" for name, size in sizes.items())
    cause = "activations_explode" if not most <= _GROWTH else "activations_vanish" if least < 1 / _GROWTH else ""
    return judged("layers keep the stream's size", f"RMS {listed} (within a factor of {_GROWTH:g})", cause)


def _gradients(model: Transformer, updater: Updater, batch: Batch) -> Findings:
    updater.gradient(1, [batch])
    norms = {
        name: 0.0 if parameter.grad is None else float(parameter.grad.norm())
        for name, parameter in model.named_parameters()
    }
    model.zero_grad()
    none = [name for name, norm in norms.items() if norm == 0.0]
    wrong = [name for name, norm in norms.items() if not math.isfinite(norm)]
    named = f", such as {(none or wrong)[0]}" if none or wrong else ""
    measured = f"{len(none)} of {len(norms)} tensors get none, {len(wrong)} one that is no number{named} (0)"
    cause = "gradient_not_finite" if wrong else "no_gradient" if none else ""
    yield judged("the gradient reaches every weight", measured, cause)
    if not cause:
        yield _balance(norms)


def _accumulation(model: Transformer, updater: Updater, batch: Batch) -> Finding:
    """Two equal micro-batches have the gradient of one: the mean over all target tokens."""
    norms = []
    with without_dropout(model):
        for batches in ([batch], [batch, batch]):
            updater.gradient(1, batches)
            norms.append(math.hypot(*(float(p.grad.norm()) for p in model.parameters() if p.grad is not None)))
            model.zero_grad()
    factor = norms[1] / max(norms[0], 1e-12)
    measured = f"two equal ones have {factor:.3f} times the gradient of one (1, within 1 %)"
    cause = "" if abs(factor - 1) <= _SAME_MEAN else "accumulation_wrong"
    return judged("gradients of micro-batches are averaged over tokens", measured, cause)


def _balance(norms: dict[str, float]) -> Finding:
    layers: dict[str, float] = {}
    for name, norm in norms.items():
        if ".layers." in name:
            part, _, number = name.split(".")[:3]
            place = f"{part} {int(number) + 1}"
            layers[place] = math.hypot(layers[place], norm) if place in layers else norm
    listed = ", ".join(f"{place}: {norm:.2g}" for place, norm in layers.items())
    uneven = max(layers.values()) / min(layers.values()) > _IMBALANCE
    measured = f"norm {listed} (within a factor of {_IMBALANCE:g})"
    return judged("layers get gradients of like size", measured, "gradients_uneven" if uneven else "", "suspicious")


def _heads(model: Transformer, batch: Batch, trained: bool) -> Finding:
    with watched([module for module in model.modules() if isinstance(module, MultiHeadAttention)]) as seen:
        logits_of(model, batch)
    heads = torch.cat([_entropy(weights_BHTS) for calls in seen for weights_BHTS in calls])
    collapsed, uniform = float((heads < _COLLAPSED).float().mean()), float((heads > _UNIFORM).float().mean())
    measured = (
        f"entropy {float(heads.mean()):.0%} of looking everywhere alike on average, {float(heads.min()):.0%} to "
        f"{float(heads.max()):.0%}; {collapsed:.0%} of {len(heads)} heads look at one place (at most {_MOST:.0%})"
    )
    cause = "heads_collapsed" if collapsed > _MOST else "heads_uniform" if trained and uniform > _MOST else ""
    verdict: Verdict = "suspicious"
    return judged("heads neither stare nor look at everything", measured, cause, verdict)


def _entropy(weights_BHTS: Tensor) -> Tensor:
    """Return, for each head, the mean over queries that have a choice."""
    keys_BHT = (weights_BHTS > 0).sum(dim=-1)
    entropy_BHT = torch.special.entr(weights_BHTS.float()).sum(dim=-1)
    share_BHT = torch.where(keys_BHT > 1, entropy_BHT / keys_BHT.clamp_min(2).log(), 0.0)
    return share_BHT.sum(dim=(0, 2)) / (keys_BHT > 1).sum(dim=(0, 2)).clamp_min(1)
