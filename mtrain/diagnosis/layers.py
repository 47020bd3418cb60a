"""Each part of a layer written out from its weights, and what it is given (paper figure 1, sections 3.1 to 3.4)."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mtrain.batches.collate import Batch
from mtrain.config.schema import ModelConfig
from mtrain.diagnosis.finding import Finding, Findings, judged
from mtrain.diagnosis.probe import SAME, gap, listening, logits_of
from mtrain.model.embedding import TokenEmbedding
from mtrain.model.transformer import Transformer

# Each sublayer of a layer, in turn, with what adds it to the stream and normalises.
_SUBLAYERS = {
    "encoder": {"attention": "attention_residual", "feed_forward": "feed_forward_residual"},
    "decoder": {
        "self_attention": "self_residual",
        "cross_attention": "cross_residual",
        "feed_forward": "feed_forward_residual",
    },
}
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": lambda x: x.clamp_min(0),
    "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
    "swish": lambda x: x / (1 + (-x).exp()),
}

_EPSILON = {"layernorm": 1e-5, "rmsnorm": 1e-6}


class _Call(NamedTuple):
    inputs: tuple[Any, ...]
    output: Any


class _Trial(NamedTuple):
    """What a part gives, and what it would give by each cause: first "" for what it should, then the usual slips."""

    place: str
    found: Tensor
    forms: Sequence[tuple[str, Tensor]]
    otherwise: str


_Calls = dict[nn.Module, _Call]


def check_layers(model: Transformer, config: ModelConfig, batch: Batch) -> Findings:
    """Run the model once, at rest, and compute each sublayer again from what went into it."""
    calls, places = _heard(model, batch), list(_places(model))
    uncalled = _uncalled(model, calls)
    measured = f"{len(uncalled)} are not{f', such as {uncalled[0]}' if uncalled else ''} (0)"
    yield judged("every part is called", measured, "layer_skipped" if uncalled else "")
    if uncalled:
        return
    added = [_residual(place, parts, config, calls) for place, parts in places]
    yield _judge(f"sublayers are added and normalised: {config.norm_position}", [*added, *_ends(model, config, calls)])
    fed = [_feed_forward(place, parts[0], config, calls) for place, parts in places if "feed_forward" in place]
    yield _judge(f"feed-forwards are W2 {config.activation}(W1 x)", fed)


def check_wiring(model: Transformer, config: ModelConfig, batch: Batch) -> Findings:
    """Look at what the layers are given, and what becomes of what they give; the model is at rest."""
    calls = _heard(model, batch)
    if _uncalled(model, calls):
        return
    sides = (("source", model.source_embedding), ("target", model.target_embedding))
    embedded = [_embedding(side, embedding, config, calls) for side, embedding in sides]
    yield _judge("embeddings are those of the tokens, and positions once", embedded)
    yield _judge("each part goes on from the one before it", list(_links(model, calls)))


def _heard(model: Transformer, batch: Batch) -> _Calls:
    calls: _Calls = {}
    with listening(list(model.modules()), lambda part, *call: calls.update({part: _Call(*call)})):
        logits_of(model, batch)
    return calls


def _uncalled(model: Transformer, calls: _Calls) -> list[str]:
    needed = [*_places(model), *((name, (part,)) for name, part in model.named_children())]
    return [place for place, parts in needed if not all(part in calls for part in parts)]


def _judge(tested: str, trials: Sequence[_Trial]) -> Finding:
    gaps = [gap(trial.found, trial.forms[0][1]) for trial in trials]
    measured = f"computed again, {len(gaps)} places differ by at most {max(gaps):.1g} of their spread ({SAME:.1g})"
    bad = next((trial for trial, moved in zip(trials, gaps, strict=True) if moved > SAME), None)
    if bad is None:
        return judged(tested, measured, "")
    fits = (cause for cause, form in bad.forms if gap(bad.found, form) <= SAME)
    return judged(tested, f"{measured}, first in {bad.place}", next(fits, bad.otherwise))


def _places(model: Transformer) -> Iterator[tuple[str, tuple[nn.Module, nn.Module]]]:
    """Yield the name of each sublayer, itself, and what adds it."""
    for side, stack in (("encoder", model.encoder.layers), ("decoder", model.decoder.layers)):
        for number, layer in enumerate(stack):
            for sublayer, residual in _SUBLAYERS[side].items():
                parts = layer.get_submodule(sublayer), layer.get_submodule(residual)
                yield f"{side}.layers.{number}.{sublayer}", parts


def _embedding(side: str, embedding: TokenEmbedding, config: ModelConfig, calls: _Calls) -> _Trial:
    tokens_BT = calls[embedding].inputs[0]
    words_BTD = embedding.weight[tokens_BT] * (math.sqrt(config.d_model) if config.scale_embeddings else 1.0)
    there_TD = torch.arange(tokens_BT.size(1), device=tokens_BT.device)
    positions_TD = torch.zeros_like(words_BTD[0])
    if config.positions == "sinusoidal":
        positions_TD = _sinusoids(there_TD, config.d_model)
    elif config.positions == "learned":
        positions_TD = embedding.positions.get_parameter("weight")[there_TD.clamp(max=config.max_positions - 1)]
    forms = [("", words_BTD + positions_TD), ("positions_twice", words_BTD + 2 * positions_TD)]
    return _Trial(f"{side}_embedding", calls[embedding].output, forms, "embedding_formula_wrong")


def _sinusoids(positions_T: Tensor, d_model: int) -> Tensor:
    even = torch.arange(0, d_model, 2, dtype=torch.float64, device=positions_T.device)
    angles_TE = positions_T[:, None] / 10000 ** (even / d_model)
    return torch.stack((angles_TE.sin(), angles_TE.cos()), dim=2).flatten(1).float()


def _residual(place: str, parts: tuple[nn.Module, nn.Module], config: ModelConfig, calls: _Calls) -> _Trial:
    """Compare at once what the sublayer was given and what becomes of what it said."""
    sublayer, residual = (calls[part] for part in parts)
    x, said = residual.inputs[0], sublayer.output

    def normalised(values: Tensor) -> Tensor:
        return _normalised(parts[1].get_submodule("norm"), config.norm, values)

    pre, post = (normalised(x), x + said), (x, normalised(x + said))
    wanted, alone = (pre, (pre[0], said)) if config.norm_position == "pre" else (post, (x, normalised(said)))
    slips = [("", wanted), ("residual_missing", alone), ("norm_missing", (x, x + said))]
    slips += [("norm_misplaced", form) for form in (pre, post, (pre[0], pre[0] + said), (x, x + normalised(said)))]
    forms = [(cause, torch.stack(form)) for cause, form in slips]
    return _Trial(place, torch.stack((sublayer.inputs[0], residual.output)), forms, "residual_formula_wrong")


def _ends(model: Transformer, config: ModelConfig, calls: _Calls) -> Iterator[_Trial]:
    """Yield what either stack gives: its last layer's output, normalised where nothing else does."""
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        last = calls[stack.layers[-1]].output
        normalised = _normalised(stack.final_norm, config.norm, last) if config.norm_position == "pre" else last
        forms = [("", normalised), ("norm_missing", last)]
        yield _Trial(f"{side}.final_norm", calls[stack].output, forms, "wired_wrong")


def _normalised(norm: nn.Module, kind: str, x: Tensor) -> Tensor:
    if kind == "layernorm":
        x = x - x.mean(dim=-1, keepdim=True)
    x = x / (x.square().mean(dim=-1, keepdim=True) + _EPSILON[kind]).sqrt()
    learned = dict(norm.named_parameters())
    x = x * learned["weight"] if "weight" in learned else x
    return x + learned["bias"] if "bias" in learned else x


def _feed_forward(place: str, part: nn.Module, config: ModelConfig, calls: _Calls) -> _Trial:
    inner, outer = part.get_submodule("inner"), part.get_submodule("outer")
    inner_BTF = inner(calls[part].inputs[0])
    if config.activation == "swiglu":
        gate, value = inner_BTF.chunk(2, dim=-1)
        wanted, bare = _ACTIVATIONS["swish"](gate) * value, gate * value
        others = [act(one) * two for act in _ACTIVATIONS.values() for one, two in ((gate, value), (value, gate))]
    else:
        wanted, bare = _ACTIVATIONS[config.activation](inner_BTF), inner_BTF
        others = [act(inner_BTF) for act in _ACTIVATIONS.values()]
    slips = [("", wanted), ("activation_missing", bare), *(("activation_wrong", other) for other in others)]
    forms = [(cause, outer(values)) for cause, values in slips]
    return _Trial(place, calls[part].output, forms, "feed_forward_formula_wrong")


def _links(model: Transformer, calls: _Calls) -> Iterator[_Trial]:
    """Yield what each part is given, beside what the one before it gave."""
    streams = {"encoder": calls[model.source_embedding].output, "decoder": calls[model.target_embedding].output}
    memory = calls[model.encoder].output
    for place, parts in _places(model):
        (sublayer, residual), side = (calls[part] for part in parts), place.partition(".")[0]
        yield _Trial(place, residual.inputs[0], [("", streams[side])], "wired_wrong")
        if "attention" in place:
            seen = memory if "cross" in place else sublayer.inputs[0]
            yield _Trial(place, sublayer.inputs[1], [("", seen)], "memory_wrong")
        streams[side] = residual.output
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        yield _Trial(f"the end of the {side}", calls[stack.layers[-1]].output, [("", streams[side])], "wired_wrong")
    hidden, output = calls[model.output].inputs[0], model.output
    yield _Trial("the output", hidden, [("", calls[model.decoder].output)], "wired_wrong")
    logits = hidden @ output.weight.T + (0.0 if output.bias is None else output.bias)
    yield _Trial("the logits", calls[output].output, [("", logits)], "logits_formula_wrong")
