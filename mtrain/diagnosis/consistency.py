"""The same thing computed by two ways: training and step-by-step decoding, both modes, both precisions."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from mtrain.batches.collate import Batch
from mtrain.diagnosis.finding import Finding, Findings, judged
from mtrain.diagnosis.probe import SAME, gap, kernels_heard, listening, logits_of, rms, without_dropout
from mtrain.model.attention import MultiHeadAttention, Sight
from mtrain.model.transformer import Transformer

# bf16 has 8 bits of mantissa; a few layers of it differ from fp32 by a hundredth.
_ROUGHLY = 0.1


def check_consistency(model: Transformer, batch: Batch) -> Findings:
    """The model is at rest."""
    full_BTV = logits_of(model, batch)
    yield _prefixes(model, batch, full_BTV)
    yield _steps(model, batch, full_BTV)
    yield _reordered(model, batch)
    yield _modes(model, batch, full_BTV)
    yield _autocast(model, batch, full_BTV)


def _prefixes(model: Transformer, batch: Batch, full_BTV: Tensor) -> Finding:
    moved = 0.0
    for length in range(1, batch.tgt_in_BT.size(1)):
        prefix_BTV = logits_of(model, batch, batch.tgt_in_BT[:, :length])
        moved = max(moved, gap(prefix_BTV[:, -1], full_BTV[:, length - 1]))
    measured = f"logits differ by {moved:.1g} of their spread (at most {SAME:.1g})"
    return judged("decoding without cache equals teacher forcing", measured, "future_visible" if moved > SAME else "")


def _steps(model: Transformer, batch: Batch, full_BTV: Tensor) -> Finding:
    tested = "decoding with the cache equals teacher forcing"
    full, steps = _Decoding(model), _Decoding(model)
    with full.heard():
        logits_of(model, batch)
    with steps.heard():
        step_BTV = _step_by_step(model, batch)
    if step_BTV is None:
        return judged(tested, "a step fails: its shapes do not fit", "cache_wrong")
    gaps = [gap(step_BTV[:, t], full_BTV[:, t]) for t in range(full_BTV.size(1))]
    measured = f"logits differ by {max(gaps):.1g} of their spread (at most {SAME:.1g})"
    if max(gaps) <= SAME:
        return judged(tested, measured, "")
    position = next(t for t, moved in enumerate(gaps) if moved > SAME)
    place, cause = _first_difference(full, steps)
    return judged(tested, f"{measured}, from target position {position + 1} on, first in {place}", cause)


class _Decoding:
    """What each part of the decoder gives for each target position, in whatever way it is called."""

    def __init__(self, model: Transformer) -> None:
        self.parts: dict[nn.Module, tuple[str, str]] = {}
        self.parts[model.target_embedding] = ("the embedding", "step_positions_wrong")
        self.owners: dict[nn.Module, MultiHeadAttention] = {}
        for number, layer in enumerate(model.decoder.layers, start=1):
            for name, place, cause in (
                ("self_attention", "self-attention", "cache_wrong"),
                ("cross_attention", "attention to the source", "source_cache_wrong"),
            ):
                attention = layer.get_submodule(name)
                assert isinstance(attention, MultiHeadAttention)
                self.parts[attention.output] = (f"{place} of layer {number}", cause)
                self.owners[attention.output] = attention
        self.outputs: dict[nn.Module, list[Tensor]] = {part: [] for part in self.parts}
        self.asked: dict[nn.Module, list[tuple[Tensor, Tensor, Sight]]] = {part: [] for part in self.owners.values()}

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Gather all of it."""

        def output(part: nn.Module, _: object, output: Tensor) -> None:
            self.outputs[part].append(output)

        def asked(part: nn.Module, q_BHTK: Tensor, k_BHSK: Tensor, sight: Sight) -> None:
            self.asked[part].append((q_BHTK, k_BHSK.clone(), sight))

        with listening(list(self.parts), output), kernels_heard(list(self.owners.values()), asked):
            yield


def _first_difference(full: _Decoding, steps: _Decoding) -> tuple[str, str]:
    """Return which part of the decoder is the first to give something else, and what that speaks of."""
    for part, (place, cause) in full.parts.items():
        (at_once,), one_by_one = full.outputs[part], steps.outputs[part]
        joined = torch.stack([output.reshape(at_once.size(0), -1) for output in one_by_one], dim=1)
        if gap(joined, at_once) > SAME:
            own = full.owners.get(part)
            if cause == "cache_wrong" and own and _misplaced(full.asked[own][0], steps.asked[own]):
                return place, "step_positions_wrong"
            return place, cause
    return "the last sublayers", "cache_wrong"


def _misplaced(at_once: tuple[Tensor, Tensor, Sight], steps: list[tuple[Tensor, Tensor, Sight]]) -> bool:
    """Tell whether steps ask with other queries, keys or biases: those of tokens that stand somewhere else.

    A cache that is wrong gives keys of the right making at the wrong time.
    """
    (q_BHTK, k_BHSK, sight), last = at_once, len(steps) - 1
    q_RH1K, k_RHSK, step_sight = steps[last]
    newest = min(gap(k_RHSK[:, :, -1], k_BHSK[:, :, position]) for position in range(k_BHSK.size(2)))
    if gap(q_RH1K[:, :, 0], q_BHTK[:, :, last]) > SAME or newest > SAME:
        return True
    if sight.bias_HTS is None or step_sight.bias_HTS is None:
        return sight.bias_HTS is not step_sight.bias_HTS
    return gap(step_sight.bias_HTS[:, 0], sight.bias_HTS[:, last, : step_sight.bias_HTS.size(2)]) > SAME


def _step_by_step(model: Transformer, batch: Batch) -> Tensor | None:
    try:
        cache = model.start(batch.source.src_BS, batch.source.keep_BS)
        steps = [model.step(batch.tgt_in_BT[:, [t]], cache)[:, 0] for t in range(batch.tgt_in_BT.size(1))]
    except (RuntimeError, IndexError):
        return None
    return torch.stack(steps, dim=1)


def _reordered(model: Transformer, batch: Batch) -> Finding:
    """Two hypotheses a sentence that change places half-way, as in beam search."""
    tested = "the cache follows hypotheses that change places"
    one_BT, B = batch.tgt_in_BT[:, :4], batch.tgt_in_BT.size(0)
    other_BT = one_BT.roll(1, dims=0)
    try:
        cache = model.start(batch.source.src_BS, batch.source.keep_BS)
        tokens_BNT = torch.stack((one_BT, other_BT), dim=1)
        for position in range(one_BT.size(1) - 1):
            model.step(tokens_BNT[:, :, position], cache)
        cache.reorder(torch.arange(2 * B, device=one_BT.device).view(B, 2).flip(1).flatten())
        last_BNV = model.step(tokens_BNT[:, :, -1].flip(1), cache).flip(1)
    except (RuntimeError, IndexError):
        return judged(tested, "a step fails: its shapes do not fit", "cache_reorder_wrong")
    moved = max(gap(last_BNV[:, n], logits_of(model, batch, tokens_BNT[:, n])[:, -1]) for n in (0, 1))
    measured = f"logits differ by {moved:.1g} of their spread (at most {SAME:.1g})"
    return judged(tested, measured, "cache_reorder_wrong" if moved > SAME else "")


def _modes(model: Transformer, batch: Batch, full_BTV: Tensor) -> Finding:
    with without_dropout(model):
        model.train()
        training = gap(logits_of(model, batch), full_BTV)
        model.eval()
    with torch.enable_grad():
        gradient = gap(logits_of(model, batch).detach(), full_BTV)
    measured = f"logits differ by {training:.1g}, and with gradients by {gradient:.1g} (at most {SAME:.1g})"
    cause = "modes_differ" if max(training, gradient) > SAME else ""
    return judged("train() without dropout equals eval()", measured, cause)


def _autocast(model: Transformer, batch: Batch, full_BTV: Tensor) -> Finding:
    with torch.autocast(full_BTV.device.type, torch.bfloat16):
        rough_BTV = logits_of(model, batch).float()
    moved = rms(rough_BTV - full_BTV) / rms(full_BTV - full_BTV.mean())
    measured = f"logits differ by {moved:.1%} of their spread (at most {_ROUGHLY:.0%})"
    bad = not moved <= _ROUGHLY
    return judged("bf16 stays near fp32", measured, "precision_fragile" if bad else "", "suspicious")
