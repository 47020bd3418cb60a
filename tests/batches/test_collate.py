"""Tensors hold what the ids say: shifted labels, one EOS each, padding nowhere counted."""

import torch

from mtrain.batches.collate import collate, collate_sources, twice
from mtrain.tokenizer import BOS, EOS, PAD


def test_sources_end_with_eos_and_keep_marks_what_is_real():
    batch = collate_sources([[5, 6, 7], [8]])
    assert batch.src_BS.tolist() == [[5, 6, 7, EOS], [8, EOS, PAD, PAD]]
    assert batch.keep_BS.tolist() == [[True] * 4, [True, True, False, False]]


def test_without_padding_there_is_no_mask():
    assert collate_sources([[5, 6], [7, 8]]).keep_BS is None


def test_labels_are_the_inputs_shifted_by_one():
    batch = collate([[9], [9]], [[5, 6, 7], [8]])
    assert batch.tgt_in_BT.tolist() == [[BOS, 5, 6, 7], [BOS, 8, PAD, PAD]]
    assert batch.labels_M.tolist() == [5, 6, 7, EOS, 8, EOS]
    assert batch.real_M.tolist() == [0, 1, 2, 3, 4, 5]
    inputs_M = batch.tgt_in_BT.flatten()[batch.real_M].tolist()
    assert inputs_M == [BOS, 5, 6, 7, BOS, 8]


def test_tokens_are_counted_without_padding():
    batch = collate([[9, 9, 9], [9]], [[5], [6, 7]])
    assert (batch.source_tokens, batch.target_tokens) == (6, 5)
    assert batch.padded_tokens == 2 * 4 + 2 * 3


def test_twice_has_each_target_position_two_times_in_a_row():
    batch = twice(collate([[9, 8], [7]], [[5, 6, 7], [8]]))
    assert batch.source.src_BS.tolist() == [[9, 8, EOS], [7, EOS, PAD]] * 2
    assert batch.source.keep_BS.tolist() == [[True] * 3, [True, True, False]] * 2
    assert batch.labels_M.tolist() == [5, 5, 6, 6, 7, 7, EOS, EOS, 8, 8, EOS, EOS]
    assert batch.real_M.tolist() == [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13]
    assert (batch.source_tokens, batch.target_tokens, batch.padded_tokens) == (10, 12, 2 * (6 + 8))


def test_an_empty_side_is_only_its_marks():
    batch = collate([[]], [[]])
    assert batch.source.src_BS.tolist() == [[EOS]]
    assert batch.tgt_in_BT.tolist() == [[BOS]]
    assert batch.labels_M.tolist() == [EOS]


def test_moving_keeps_everything():
    batch = collate([[5, 6], [7]], [[5], [6, 7]])
    moved = batch.to(torch.device("cpu"))
    assert torch.equal(moved.labels_M, batch.labels_M)
    assert torch.equal(moved.source.keep_BS, batch.source.keep_BS)
