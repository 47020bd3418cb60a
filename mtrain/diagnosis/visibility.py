"""Who may see what: no position its future, nobody padding, no sentence another one (paper sections 3.1 and 3.2.3)."""

import torch
from torch import Tensor

from mtrain.batches.collate import Batch
from mtrain.diagnosis.finding import Finding, Findings, judged
from mtrain.diagnosis.probe import SEEN, gap, logits_of, other_tokens
from mtrain.model.transformer import Transformer

_POSITIONS_TRIED = 8


def check_visibility(model: Transformer, batch: Batch) -> Findings:
    """Change what must not be seen, and what must; some sources of `batch` are padded."""
    yield _rows(model, batch)
    yield from _target_order(model, batch)
    yield _padding_in_encoder(model, batch)
    yield _padding_in_decoder(model, batch)


def _rows(model: Transformer, batch: Batch) -> Finding:
    source, V = batch.source.src_BS.clone(), model.source_embedding.weight.size(0)
    source[1:] = other_tokens(source[1:], V)
    other = model.logits(model(source, batch.source.keep_BS, batch.tgt_in_BT))
    moved = gap(other[0], logits_of(model, batch)[0])
    measured = f"other sentences in the batch move a sentence's logits by {moved:.1g} (at most {SEEN:.1g})"
    return judged("no sentence sees another one", measured, "sentences_mixed" if moved > SEEN else "")


def _target_order(model: Transformer, batch: Batch) -> Findings:
    before, tokens, V = logits_of(model, batch), batch.tgt_in_BT, model.output.weight.size(0)
    future = past = own = 0.0
    for position in range(1, min(tokens.size(1), _POSITIONS_TRIED)):
        changed = tokens.clone()
        changed[:, position] = other_tokens(tokens[:, position], V)
        after = logits_of(model, batch, changed)
        future = max(future, gap(after[:, :position], before[:, :position]))
        own = max(own, gap(after[:, position], before[:, position]))
        if position + 1 < tokens.size(1):
            past = max(past, gap(after[:, position + 1], before[:, position + 1]))
    moved = f"logits before a changed target token move by {future:.1g} of their spread (at most {SEEN:.1g})"
    yield judged("the future is invisible", moved, "future_visible" if future > SEEN else "")
    seen = f"changing the latest target token moves the next logits by {own:.2g}, the one before it by {past:.2g}"
    blind = own < SEEN or past < SEEN
    yield judged("the past is visible", f"{seen} (at least {SEEN:.1g})", "past_invisible" if blind else "")


def _padding_in_encoder(model: Transformer, batch: Batch) -> Finding:
    src_BS, keep_BS = _padded_rows(batch)
    V = model.source_embedding.weight.size(0)
    before = model.encode(src_BS, keep_BS)
    padding, first = torch.where(keep_BS, src_BS, other_tokens(src_BS, V)), src_BS.clone()
    first[:, 0] = other_tokens(src_BS[:, 0], V)
    kept = keep_BS.clone()
    kept[:, 0] = False  # the changed token's own place changes in any case
    of_padding = gap(model.encode(padding, keep_BS)[keep_BS], before[keep_BS])
    of_others = gap(model.encode(first, keep_BS)[kept], before[kept])
    return _judge_padding("encoder", of_padding, of_others, "padding_read_by_encoder", "encoder_blind")


def _padding_in_decoder(model: Transformer, batch: Batch) -> Finding:
    src_BS, keep_BS = _padded_rows(batch)
    tgt_in_BT = batch.tgt_in_BT[_has_padding(batch)]
    memory_BSD = model.encode(src_BS, keep_BS)
    noise_BSD = torch.randn(memory_BSD.shape, generator=torch.Generator().manual_seed(1)).to(memory_BSD.device)
    noise_BSD = noise_BSD * memory_BSD[keep_BS].std()
    before = model.logits(model.decode(tgt_in_BT, memory_BSD, keep_BS))

    def moved(noisy_BS: Tensor) -> float:
        other_BSD = torch.where(noisy_BS[:, :, None], noise_BSD, memory_BSD)
        return gap(model.logits(model.decode(tgt_in_BT, other_BSD, keep_BS)), before)

    of_padding, of_others = moved(~keep_BS), moved(keep_BS)
    return _judge_padding("decoder", of_padding, of_others, "padding_read_by_decoder", "source_ignored")


def _judge_padding(part: str, of_padding: float, of_others: float, reads: str, blind: str) -> Finding:
    cause = ""
    if of_padding > SEEN:
        cause = reads if of_others > SEEN else "keep_inverted"
    elif of_others <= SEEN:
        cause = blind
    measured = (
        f"what stands in the padding moves the {part} by {of_padding:.1g} of its spread (at most {SEEN:.1g}), "
        f"a real source token by {of_others:.2g} (at least {SEEN:.1g})"
    )
    return judged(f"the {part} sees the source, and no padding", measured, cause)


def _has_padding(batch: Batch) -> Tensor:
    assert batch.source.keep_BS is not None
    return ~batch.source.keep_BS.all(dim=1)


def _padded_rows(batch: Batch) -> tuple[Tensor, Tensor]:
    assert batch.source.keep_BS is not None
    rows = _has_padding(batch)
    return batch.source.src_BS[rows], batch.source.keep_BS[rows]
