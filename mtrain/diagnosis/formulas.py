"""Attention held against eq. 1, written out from the weights (paper sections 3.2.1 and 3.2.2)."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtrain.batches.collate import Batch
from mtrain.diagnosis.finding import Finding, Findings, judged
from mtrain.diagnosis.probe import SAME, gap, listening, logits_of
from mtrain.model.attention import MultiHeadAttention
from mtrain.model.transformer import Transformer


class _Formula(NamedTuple):
    """Eq. 1, or what it becomes by one of the usual slips."""

    scaled: bool = True
    swapped: bool = False
    hides_future: bool = True
    hides_padding: bool = True
    inverted: bool = False


# What the model computes is compared with each in turn; the first that fits names what it does.
_SLIPS = {
    "": _Formula(),
    "attention_scale_missing": _Formula(scaled=False),
    "keys_values_swapped": _Formula(swapped=True),
    "future_visible": _Formula(hides_future=False),
    "keep_inverted": _Formula(inverted=True),
    "padding_read_by_decoder": _Formula(hides_padding=False),
}


class _Call(NamedTuple):
    x_BTD: Tensor
    memory_BSD: Tensor
    keep_BS: Tensor | None
    causal: bool


def check_formulas(model: Transformer, batch: Batch) -> Findings:
    """Recompute each layer's attention from what went into it; the model is at rest."""
    named = {module: name for name, module in model.named_modules() if isinstance(module, MultiHeadAttention)}
    calls: dict[MultiHeadAttention, tuple[_Call, Tensor]] = {}

    def hear(module: Any, inputs: tuple[Any, ...], out_BTD: Tensor) -> None:
        keep_BS = inputs[2] if len(inputs) > 2 else None
        own = named[module].startswith("decoder") and named[module].endswith("self_attention")
        calls[module] = (_Call(inputs[0], inputs[1], keep_BS, causal=own), out_BTD)

    with listening(list(named), hear):
        logits_of(model, batch)
    yield _judge(named, calls)


def _judge(named: dict[MultiHeadAttention, str], calls: dict[MultiHeadAttention, tuple[_Call, Tensor]]) -> Finding:
    tested = "attention is softmax(QK^T / sqrt(d_k)) V"
    gaps = {module: gap(_eq1(module, call, _SLIPS[""]), out) for module, (call, out) in calls.items()}
    measured = f"recomputed from weights, {len(gaps)} modules differ by at most {max(gaps.values()):.1g} ({SAME:.1g})"
    bad = [module for module, moved in gaps.items() if moved > SAME]
    if not bad:
        return judged(tested, measured, "")
    module, (call, out) = bad[0], calls[bad[0]]
    fits = (cause for cause, slip in _SLIPS.items() if gap(_eq1(module, call, slip), out) <= SAME)
    cause = next(fits, "attention_formula_wrong")
    if named[module].startswith("encoder"):
        cause = cause.replace("by_decoder", "by_encoder")
    return judged(tested, f"{measured}, first in {named[module]}", cause)


def _eq1(module: MultiHeadAttention, call: _Call, formula: _Formula) -> Tensor:
    """Return out_BTD; the biases of positions are the module's own, which other checks test."""
    B, T, S = call.x_BTD.size(0), call.x_BTD.size(1), call.memory_BSD.size(1)
    turn = module.positions.turn

    def heads(x_BSE: Tensor) -> Tensor:
        return x_BSE.view(B, x_BSE.size(1), module.heads, -1).transpose(1, 2)

    k_BSE, v_BSE = _linear(module.key_value, call.memory_BSD).chunk(2, dim=-1)
    q_BHTK, k_BHSK, v_BHSK = turn(heads(_linear(module.query, call.x_BTD))), turn(heads(k_BSE)), heads(v_BSE)
    if formula.swapped:
        k_BHSK, v_BHSK = v_BHSK, k_BHSK
    scores_BHTS = q_BHTK @ k_BHSK.transpose(-1, -2) / (q_BHTK.size(-1) ** 0.5 if formula.scaled else 1.0)
    bias_HTS = module.positions.bias(0, T, S, q_BHTK)
    scores_BHTS = scores_BHTS if bias_HTS is None else scores_BHTS + bias_HTS
    if call.keep_BS is not None and formula.hides_padding:
        hidden_BS = call.keep_BS if formula.inverted else ~call.keep_BS
        scores_BHTS = scores_BHTS.masked_fill(hidden_BS[:, None, None, :], float("-inf"))
    if call.causal and formula.hides_future:
        ahead_TS = torch.ones(T, S, dtype=torch.bool, device=scores_BHTS.device).triu(1)
        scores_BHTS = scores_BHTS.masked_fill(ahead_TS, float("-inf"))
    out_BTE = (scores_BHTS.softmax(dim=-1) @ v_BHSK).transpose(1, 2).flatten(2)
    return _linear(module.output, out_BTE)


def _linear(module: nn.Linear, x: Tensor) -> Tensor:
    return F.linear(x, module.weight, module.bias)
