"""What must hold for every model, whatever its weights."""

import math

import pytest
import torch

from mtrain.batches.collate import collate, collate_sources
from mtrain.model.build import build_model
from mtrain.tokenizer import PAD

EXACT = {"rtol": 0, "atol": 2e-5}


def logits(model, batch):
    return model.logits(model(batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT))


def test_the_future_is_invisible(model, sentences):
    batch = collate(sentences(3), sentences(3, 10, 10, seed=1))
    before = logits(model, batch)
    for position in range(1, batch.tgt_in_BT.size(1)):
        changed = batch.tgt_in_BT.clone()
        changed[:, position:] = (changed[:, position:] + 7) % 30 + 4
        after = model.logits(model(batch.source.src_BS, batch.source.keep_BS, changed))
        torch.testing.assert_close(after[:, :position], before[:, :position], **EXACT)
        assert not torch.allclose(after[:, position], before[:, position], atol=1e-3)


def test_padding_on_either_side_changes_nothing(model, sentences):
    sources, targets = sentences(6), sentences(6, seed=1)
    together = collate(sources, targets)
    assert together.source.keep_BS is not None
    together_BTV = logits(model, together)
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        alone_1TV = logits(model, collate([source], [target]))
        torch.testing.assert_close(together_BTV[row, : len(target) + 1], alone_1TV[0], **EXACT)


def test_what_stands_in_the_padding_is_never_read(model, sentences):
    batch = collate(sentences(4, 3, 9), sentences(4, seed=1))
    changed = batch.source.src_BS.clone()
    changed[changed == PAD] = 17
    real = model(batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT)
    torch.testing.assert_close(model(changed, batch.source.keep_BS, batch.tgt_in_BT), real, **EXACT)


def test_every_source_position_is_seen_and_order_matters(model, sentences):
    source = [5, 6, 7, 8, 9]
    target = collate([source], [[10, 11]])
    original = logits(model, target)
    for position in range(len(source)):
        changed = [*source]
        changed[position] = 20
        assert not torch.allclose(logits(model, collate([changed], [[10, 11]])), original, atol=1e-4)
    assert not torch.allclose(logits(model, collate([source[::-1]], [[10, 11]])), original, atol=1e-4)


def test_decoding_with_the_cache_gives_the_logits_of_teacher_forcing(model, sentences):
    sources, target = sentences(3, 2, 9), sentences(1, 40, 40, seed=2)[0]  # longer than the cache's first room
    batch = collate(sources, [target] * 3)
    full_BTV = logits(model, batch)
    cache = model.start(batch.source.src_BS, batch.source.keep_BS)
    for position in range(batch.tgt_in_BT.size(1)):
        step_BNV = model.step(batch.tgt_in_BT[:, position : position + 1], cache)
        torch.testing.assert_close(step_BNV[:, 0], full_BTV[:, position], **EXACT)


def test_reordered_and_thinned_out_cache_goes_on_where_the_chosen_rows_were(model, sentences):
    source = collate_sources(sentences(3, 2, 9))
    cache = model.start(source.src_BS, source.keep_BS)
    histories = torch.tensor([[[1, 5, 6], [1, 7, 8]], [[1, 9, 10], [1, 11, 12]], [[1, 13, 14], [1, 15, 16]]])
    model.step(histories[:, :1, 0], cache)
    cache.reorder(torch.tensor([0, 0, 1, 1, 2, 2]))
    for position in (1, 2):
        model.step(histories[:, :, position], cache)
    # Sentences 0 and 2 go on; both hypotheses of 0 go on from its second one, 2's change places.
    cache.reorder(torch.tensor([1, 1, 5, 4]))
    cache.keep_sentences(torch.tensor([0, 2]))
    step_BNV = model.step(torch.tensor([[20, 21], [22, 23]]), cache)
    expected = {(0, 0): [1, 7, 8, 20], (0, 1): [1, 7, 8, 21], (1, 0): [1, 15, 16, 22], (1, 1): [1, 13, 14, 23]}
    for (place, hypothesis), history in expected.items():
        sentence = [0, 2][place]
        keep = source.keep_BS[sentence : sentence + 1]
        hidden = model(source.src_BS[sentence : sentence + 1], keep, torch.tensor([history]))
        torch.testing.assert_close(step_BNV[place, hypothesis], model.logits(hidden)[0, -1], **EXACT)


def test_long_sentences_need_no_table_of_positions_beforehand(model, sentences):
    batch = collate(sentences(1, 700, 700), sentences(1, 600, 600, seed=1))
    assert logits(model, batch).isfinite().all()


@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_autocast_stays_near_fp32(model_config, sentences, norm_position):
    model = build_model(model_config(norm_position=norm_position), 40, 40).eval()
    batch = collate(sentences(4), sentences(4, seed=1))
    exact = logits(model, batch)
    with torch.autocast("cpu", torch.bfloat16):
        rough = logits(model, batch)
    assert (exact - rough.float()).abs().max() < 0.1 * exact.std()


def test_an_untrained_model_is_nearly_undecided(model_config, sentences):
    # Untied: with tied weights a fresh model finds its own input token likeliest.
    model = build_model(model_config(d_model=256, heads=4, tied="none"), 1000, 1000).eval()
    batch = collate(sentences(8), sentences(8, seed=1))
    log_probabilities = logits(model, batch).log_softmax(-1)
    assert -log_probabilities.mean().item() == pytest.approx(math.log(1000), abs=0.7)
