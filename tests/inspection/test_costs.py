"""What a model costs, against formulas by hand and against what training really holds."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from mtrain.batches.collate import collate
from mtrain.config.schema import TrainingConfig
from mtrain.inspection import costs
from mtrain.inspection.costs import BatchShape, forward_flops, render_flops, render_memory, training_memory
from mtrain.model.build import build_model
from mtrain.training.optimizer import build_optimizer, optimizer_tensors
from mtrain.training.step import BatchLoss, Updater, batch_loss

V, D, F, ENCODER, DECODER = 40, 32, 64, 2, 3


@pytest.fixture
def model(model_config):
    return build_model(model_config(encoder_layers=ENCODER, decoder_layers=DECODER), V, V)


def by_hand(S, T):
    """Multiply-adds of one pair, forward: products with weights, and within attention."""
    encoder = ENCODER * (4 * D * D + 2 * D * F) * S
    decoder = DECODER * ((6 * D * D + 2 * D * F) * T + 2 * D * D * S)
    attention = ENCODER * 2 * S * S * D + DECODER * (2 * T * T * D + 2 * T * S * D)
    return encoder + decoder + V * D * T, attention


# 200 positions are beyond those for which attention is computed as plain products.
@pytest.mark.parametrize(("S", "T"), [(5, 7), (12, 3), (200, 150)])
def test_operations_are_twice_the_multiplications_by_hand(model, S, T):
    weights, attention = by_hand(S, T)
    assert forward_flops(model, S, T) == (2 * weights, 2 * attention)


SWITCHES = [
    {},
    {"positions": "rotary", "norm": "rmsnorm", "activation": "swiglu"},
    {"positions": "relative", "attention": "reference", "head_width": 6},
    {"positions": "alibi", "output_bias": True, "tied": "none"},
]


@pytest.mark.parametrize("switches", SWITCHES)
def test_training_takes_three_times_the_forward_pass_whatever_the_model(model_config, switches):
    model = build_model(model_config(**switches), V, V)
    batch = collate([[9] * 4], [[9] * 6])  # 5 and 7 tokens with EOS and BOS
    with FlopCounterMode(display=False) as counter:
        batch_loss(model, batch, 0.1, torch.float32).smoothed.backward()
    assert forward_flops(model, 5, 7).of_training(7) == counter.get_total_flops() / 7


@pytest.mark.parametrize(("optimizer", "average_decay"), [("adam", 0.0), ("adamw", 0.99), ("muon", 0.0)])
def test_weights_gradients_and_optimiser_are_exact(model, optimizer, average_decay):
    section = TrainingConfig(optimizer=optimizer, weight_decay=0.01, average_decay=average_decay)
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    memory = training_memory(model, section, BatchShape(4, 5, 7), torch.float32)
    assert all(parameter.equal(before[name]) for name, parameter in model.named_parameters())
    updater = Updater(BatchLoss(model, 0.1, torch.float32), build_optimizer(model, section), 1.0, 1)
    updater.gradient(1, [collate([[9] * 4], [[9] * 6])])
    assert memory.weights == 4 * sum(parameter.numel() for parameter in model.parameters())
    assert memory.gradients == sum(parameter.grad.nbytes for parameter in model.parameters())
    updater.optimizer.step()
    assert memory.optimizer == sum(tensor.nbytes for tensor in optimizer_tensors(model, updater.optimizer).values())
    assert memory.average == (memory.weights if average_decay else 0)


@pytest.mark.parametrize(("precision", "r_drop"), [(torch.float32, 0.0), (torch.bfloat16, 0.0), (torch.bfloat16, 5.0)])
def test_activations_of_many_rows_lie_on_the_line_through_two(model, precision, r_drop):
    shape = BatchShape(24, 9, 11)
    estimated = training_memory(model, TrainingConfig(r_drop=r_drop), shape, precision).activations
    loss = BatchLoss(model, 0.1, precision, r_drop)
    measured = costs._kept_for_backward(loss, costs._batch(shape, shape.rows))
    assert estimated == pytest.approx(measured, rel=0.01)
    assert estimated > 20 * 2 * 24 * (9 + 11) * D  # at the very least 20 tensors of the width, in bf16


def test_what_is_printed_names_the_formula_and_what_is_an_estimate(model):
    flops = forward_flops(model, 5, 7)
    text = render_flops(flops, 5, 7)
    assert text.startswith(f"{6 * sum(by_hand(5, 7)) / 7 / 1e6:,.1f} MFLOP for a target token")
    assert "Kaplan" in text
    memory = training_memory(model, TrainingConfig(), BatchShape(4, 5, 7), torch.float32)
    table = render_memory(memory, BatchShape(4, 5, 7), torch.float32)
    assert "activations of 4 pairs of 5 and 7 tokens in float32" in table
    assert "an estimate" in table
    assert "moving average" not in table
