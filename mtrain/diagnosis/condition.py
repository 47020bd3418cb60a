"""What must hold before anything else can be tested: weights that are numbers, and a model that repeats itself."""

import torch

from mtrain.batches.collate import Batch
from mtrain.config.schema import ModelConfig
from mtrain.corpus.sources import SIDES
from mtrain.diagnosis.finding import Finding, Findings, judged
from mtrain.diagnosis.probe import gap, logits_of, without_dropout
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import Tokenizers

_TIES = {"three_way": (True, True), "decoder": (False, True), "none": (False, False)}


@torch.no_grad()
def check_condition(model: Transformer, config: ModelConfig, batch: Batch, tokenizers: Tokenizers) -> Findings:
    """Look at the weights, then whether the same question is answered twice in the same way."""
    bad = [name for name, weight in model.named_parameters() if not bool(weight.isfinite().all())]
    measured = f"{len(bad)} tensors with NaN or infinity{f', such as {bad[0]}' if bad else ''} (0)"
    yield judged("all weights are numbers", measured, "weights_not_finite" if bad else "")
    yield _ties(model, config)
    pieces = [embedding.weight.size(0) for embedding in (model.source_embedding, model.target_embedding)]
    known = [tokenizers[side].vocabulary_size for side in SIDES]
    fits = pieces == known and model.output.weight.size(0) == known[1]
    measured = f"source and target pieces: {pieces[0]:,} and {pieces[1]:,} in the model, {known[0]:,} and {known[1]:,}"
    yield judged("model and tokenizers fit", f"{measured} in the tokenizers", "" if fits else "tokenizer_mismatch")
    if not bad and fits:
        yield _repeats(model, batch)


def _ties(model: Transformer, config: ModelConfig) -> Finding:
    source, target, output = model.source_embedding.weight, model.target_embedding.weight, model.output.weight
    are, wanted = (source is target, target is output), _TIES[config.tied]
    words = {True: "one matrix", False: "two matrices"}
    measured = f"source and target: {words[are[0]]}, target and output: {words[are[1]]}; model.tied is {config.tied}"
    lost = any(want and not is_ for is_, want in zip(are, wanted, strict=True))
    cause = "" if are == wanted else "untied" if lost else "tied_unasked"
    return judged("matrices are shared as configured", measured, cause)


def _repeats(model: Transformer, batch: Batch) -> Finding:
    model.eval()
    first = logits_of(model, batch)
    if not bool(first.isfinite().all()):
        cause = "keep_inverted" if _finite_with_inverted_keep(model, batch) else "logits_not_finite"
        return judged("logits are numbers", "NaN or infinity among them (none)", cause)
    tested, moved = "the same input gives the same logits in eval()", gap(logits_of(model, batch), first)
    with without_dropout(model):
        calm = gap(logits_of(model, batch), logits_of(model, batch))
    cause = "" if moved == 0 else "dropout_in_eval" if calm == 0 else "random_in_eval"
    return judged(tested, f"a second time they differ by {moved:.2g} of their spread (at most 0)", cause)


def _finite_with_inverted_keep(model: Transformer, batch: Batch) -> bool:
    """Tell whether a part that gives no numbers gives some where the mask's polarity is turned round.

    With an inverted mask, the longest source, which has no padding, has nothing that may be attended.
    """
    src_BS, keep_BS = batch.source.src_BS, batch.source.keep_BS
    if keep_BS is None:
        return False
    memory_BSD = model.source_embedding(src_BS)
    as_it_is, turned_round = (
        (model.encode(src_BS, keep), model.decode(batch.tgt_in_BT, memory_BSD, keep)) for keep in (keep_BS, ~keep_BS)
    )
    return any(
        not bool(one.isfinite().all()) and bool(other.isfinite().all())
        for one, other in zip(as_it_is, turned_round, strict=True)
    )
