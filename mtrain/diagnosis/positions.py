"""Whether order is seen, and whether tokens are loud enough beside positions (paper sections 3.4 and 3.5)."""

import math

import torch
from torch import Tensor

from mtrain.config.schema import ModelConfig
from mtrain.diagnosis.finding import Finding, Findings, judged
from mtrain.diagnosis.probe import SAME, SEEN, gap, listening, rms
from mtrain.model.embedding import TokenEmbedding
from mtrain.model.transformer import Transformer

# Embeddings of N(0, 1 / d) without their scale reach 0.1 beside sinusoids at d_model 1024, those of N(0, 0.02) 0.07.
_DROWNED = 0.08
_NO_POSITIONS = 1000
_TRIED = 12


def check_positions(model: Transformer, config: ModelConfig, source: Tensor, target: Tensor) -> Findings:
    """`source` and `target` are different tokens of each side, of which sentences are made in several orders."""
    yield _order("encoder", config, _source_order(model, source))
    yield _order("decoder", config, _target_order(model, source, target))
    yield from _inside(model, config)
    yield from _scale("source", model.source_embedding, config, source)
    yield from _scale("target", model.target_embedding, config, target)
    yield _loudness(model, source)


def _source_order(model: Transformer, words: Tensor) -> float:
    """Return by how much the last place changes where the words before it stand in the opposite order."""
    turned = torch.cat((words[:-1].flip(0), words[-1:]))
    return gap(model.encode(turned[None], None)[:, -1], model.encode(words[None], None)[:, -1])


def _target_order(model: Transformer, source: Tensor, words: Tensor) -> float:
    """Return the same after the first layer: in later ones, a causal order alone tells who comes first."""
    memory_BSD = model.encode(source[None], None)
    turned = torch.cat((words[:-1].flip(0), words[-1:]))
    layer = model.decoder.layers[0]
    outputs = [layer(model.target_embedding(tokens[None]), memory_BSD, None)[:, -1] for tokens in (turned, words)]
    return gap(*outputs)


def _order(part: str, config: ModelConfig, moved: float) -> Finding:
    tested, measured = f"order is seen by the {part}", f"another order of the words moves the last one by {moved:.2g}"
    if config.positions == "none":
        unasked = "positions_unasked" if moved > SEEN else ""
        return judged(f"order is not seen by the {part}", f"{measured}, as model.positions: none wants it", unasked)
    return judged(tested, f"{measured} (at least {SEEN:.1g})", "positions_missing" if moved <= SEEN else "")


def _inside(model: Transformer, config: ModelConfig) -> Findings:
    """Compare rotary and alibi with their formulas, written out."""
    moved = []
    for attention in (*model.encoder.self_attentions, *model.decoder.self_attentions):
        positions, like = attention.positions, attention.output.weight.new_zeros(())
        if config.positions == "rotary":
            ones_TK = torch.ones_like(like).expand(_TRIED, attention.query.out_features // attention.heads)
            moved.append(gap(positions.turn(ones_TK[None, None])[0, 0], _turned_ones(ones_TK)))
        elif config.positions == "alibi":
            bias_HTS = positions.bias(0, _TRIED, _TRIED, like)
            moved.append(float("inf") if bias_HTS is None else gap(bias_HTS, _alibi(attention.heads).to(like.device)))
    if moved:
        measured = f"in {len(moved)} attentions they differ by at most {max(moved):.1g} of their spread ({SAME:.1g})"
        cause = "inner_positions_wrong" if max(moved) > SAME else ""
        yield judged(f"positions inside attention: {config.positions}'s formula", measured, cause)


def _turned_ones(ones_TK: Tensor) -> Tensor:
    """Return ones turned by their angles, as complex numbers: Su et al. 2021, eq. 13."""
    T, K = ones_TK.shape
    angles = torch.arange(T)[:, None] / 10000 ** (torch.arange(0, K, 2, dtype=torch.float64) / K)
    turned = (1 + 1j) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((turned.real, turned.imag), dim=1).to(ones_TK)


def _alibi(heads: int) -> Tensor:
    """Return bias_HTS: Press et al. 2022, with the heads in reverse order for what lies ahead."""
    rates = [2.0 ** (-8 * (head + 1) / heads) for head in range(heads)]
    there = range(_TRIED)
    return torch.tensor(
        [[[-abs(s - t) * (rates[h] if s <= t else rates[-1 - h]) for s in there] for t in there] for h in range(heads)]
    )


def _scale(side: str, embedding: TokenEmbedding, config: ModelConfig, words: Tensor) -> Findings:
    heard: list[Tensor] = []
    with listening([embedding.positions], lambda _, inputs, __: heard.append(inputs[0])):
        embedding(words[None])
    if not heard:  # the embedding does not ask its positions, which the order has told already
        return
    wanted = math.sqrt(config.d_model) if config.scale_embeddings else 1.0
    factor = rms(heard[0]) / max(rms(embedding.weight[words]), 1e-12)
    measured = f"factor {factor:.3g}, model.scale_embeddings asks for {wanted:.3g} (within 1 %)"
    wrong = abs(factor / wanted - 1) > 0.01
    yield judged(f"{side} embeddings are scaled as configured", measured, "embedding_scale_wrong" if wrong else "")


def _loudness(model: Transformer, words: Tensor) -> Finding:
    embedded = _token_to_position(model.source_embedding, model, words, layers=0)
    later = _token_to_position(model.source_embedding, model, words, layers=1)
    if embedded > _NO_POSITIONS:
        measured = f"the embeddings carry no positions; after the first layer tokens vary {later:.2g} times as much"
    else:
        measured = f"tokens vary {embedded:.2g} times as much as positions, later {later:.2g} (at least {_DROWNED:g})"
    return judged("tokens are heard beside positions", measured, "tokens_drowned" if embedded < _DROWNED else "")


def _token_to_position(embedding: TokenEmbedding, model: Transformer, words: Tensor, layers: int) -> float:
    """Return how much a place varies with its token over how much it varies with where it stands.

    Seen over as many sentences as there are words: each turns the same words by one place.
    """
    sentences = torch.stack([words.roll(turn) for turn in range(len(words))])
    x_BSD = embedding(sentences)
    for layer in list(model.encoder.layers)[:layers]:
        x_BSD = layer(x_BSD, None)
    of_position = x_BSD.mean(dim=0, keepdim=True)
    return rms(x_BSD - of_position) / max(rms(of_position - of_position.mean(dim=1, keepdim=True)), 1e-6)
