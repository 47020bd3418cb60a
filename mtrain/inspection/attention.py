"""What a model looks at while it reads one sentence and writes another."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from mtrain.batches.collate import collate
from mtrain.console import table
from mtrain.model.attention import watched
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import Tokenizers

_BEGIN, _END = "<s>", "</s>"


class AttentionView(NamedTuple):
    """The attention weights of every layer and head, and the pieces that they stand between.

    Row t of the decoder's stands for the step that reads `inputs[t]` and predicts `outputs[t]`.
    Shapes: encoder_LHSS, decoder_LHTT, cross_LHTS; each row sums to 1.
    """

    sources: list[str]
    inputs: list[str]
    outputs: list[str]
    encoder_LHSS: NDArray[np.float32]
    decoder_LHTT: NDArray[np.float32]
    cross_LHTS: NDArray[np.float32]
    aligning_layer: int


@torch.inference_mode()
def attention_view(model: Transformer, tokenizers: Tokenizers, source: str, target: str) -> AttentionView:
    """Return what the model looks at while it reads `source` and is made to write `target`."""
    source_ids, target_ids = (
        tokenizer.encode(tokenizer.normalise(text))
        for tokenizer, text in ((tokenizers["source"], source), (tokenizers["target"], target))
    )
    batch = collate([source_ids], [target_ids]).to(next(model.parameters()).device)
    kinds = (model.encoder.self_attentions, model.decoder.self_attentions, model.decoder.cross_attentions)
    with watched([attention for kind in kinds for attention in kind]) as seen:
        model.eval()(batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT)
    maps = iter(weights_1HTS[0].float().cpu().numpy() for (weights_1HTS,) in seen)
    encoder, decoder, cross = (np.stack([next(maps) for _ in kind]) for kind in kinds)
    sources = [*tokenizers["source"].pieces(source_ids), _END]
    targets = tokenizers["target"].pieces(target_ids)
    outputs, layer = [*targets, _END], model.decoder.aligning_layer
    return AttentionView(sources, [_BEGIN, *targets], outputs, encoder, decoder, cross, layer)


def render_alignment(view: AttentionView) -> str:
    """Return, for each piece written, what was looked at most, in the layer that aligns best, the mean of its heads."""
    looked_TS = view.cross_LHTS[view.aligning_layer].mean(0)
    head, rows = ("written", "looking at", "and at", "and at"), []
    for piece, looked_S in zip(view.outputs, looked_TS, strict=True):
        best = np.argsort(-looked_S, kind="stable")[: len(head) - 1]
        seen = [f"{view.sources[place]} {looked_S[place]:4.0%}" for place in best]
        rows.append([piece, *seen, *[""] * (len(head) - 1 - len(seen))])
    return table(head, rows)
