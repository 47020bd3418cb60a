"""ONNX Runtime says the same of given translations, step by step, with every member of the family."""

import numpy as np
import pytest
import torch
from onnxruntime import InferenceSession

from mtrain.batches.collate import collate
from mtrain.config.schema import DecodingConfig
from mtrain.export.onnx import TARGET
from mtrain.tokenizer import PAD


def scores(folder, sources, targets):
    batch = collate(sources, targets)
    encoder, decoder = (InferenceSession(folder / f"{part}.onnx") for part in ("encoder", "decoder"))
    inputs = {"source": batch.source.src_BS.numpy()}
    inputs["source_keys"], inputs["source_values"] = encoder.run(None, inputs)
    layers, rows, heads, _, width = inputs["source_keys"].shape
    inputs["keys"] = inputs["values"] = np.zeros((layers, rows, heads, 0, width), inputs["source_keys"].dtype)
    labels_BT = torch.full_like(batch.tgt_in_BT, PAD)
    labels_BT.view(-1)[batch.real_M] = batch.labels_M
    sums_B = torch.zeros(rows)
    for tokens_B, labels_B in zip(batch.tgt_in_BT.T, labels_BT.T, strict=True):
        inputs["token"] = tokens_B[:, None].numpy()
        found_BV, inputs["keys"], inputs["values"] = decoder.run(None, inputs)
        gained_B = torch.from_numpy(found_BV).gather(1, labels_B[:, None])[:, 0]
        sums_B += gained_B.masked_fill(labels_B == PAD, 0.0)
    return sums_B


def test_a_model_scores_the_same(make_bundle, pairs, log_probabilities, tmp_path):
    assert_same_scores(make_bundle(positions="rotary"), "", pairs, log_probabilities, tmp_path, 1e-4)


@pytest.mark.slow
def test_every_member_scores_the_same(member, pairs, log_probabilities, tmp_path):
    assert_same_scores(member, "", pairs, log_probabilities, tmp_path, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("quantization", "tolerance"), [("float16", 5e-3), ("int8", 0.1)])
def test_quantised_it_says_nearly_the_same(quantization, tolerance, make_bundle, pairs, log_probabilities, tmp_path):
    assert_same_scores(make_bundle(), quantization, pairs, log_probabilities, tmp_path, tolerance)


def assert_same_scores(bundle, quantization, pairs, log_probabilities, folder, tolerance):
    TARGET.refuse(bundle)
    TARGET.write(bundle, DecodingConfig(), quantization, folder)
    sources, targets = pairs(bundle)
    expected = log_probabilities(bundle, sources, targets)
    torch.testing.assert_close(scores(folder, sources, targets), expected, rtol=tolerance, atol=tolerance)
    assert expected.std() > 1
