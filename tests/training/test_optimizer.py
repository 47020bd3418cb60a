"""Adam and AdamW: one step by hand, what decays and what does not, and going on exactly."""

import pytest
import torch

from mtrain.config.schema import TrainingConfig
from mtrain.model.build import build_model
from mtrain.model.weights import named_weights
from mtrain.training.optimizer import build_optimizer, optimizer_tensors, restore_optimizer

RATE, DECAY = 0.01, 0.5


@pytest.fixture
def make(model_config):
    def make(optimizer, weight_decay=0.0):
        torch.manual_seed(3)
        model = build_model(model_config(), 40, 40)
        settings = TrainingConfig(optimizer=optimizer, weight_decay=weight_decay)
        return model, build_optimizer(model, settings)

    return make


def step(model, optimizer, seed):
    """Make one update with random gradients."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    for group in optimizer.param_groups:
        group["lr"] = RATE
    optimizer.step()


def copied(model):
    return {name: weight.clone() for name, weight in named_weights(model).items()}


def test_decay_is_apart_from_the_gradient_and_leaves_biases_and_norms_alone(make):
    model, optimizer = make("adamw", DECAY)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)  # biases start at 0, where decay would not show
    before = copied(model)
    step(model, optimizer, seed=5)
    decayed = set()
    for name, parameter in model.named_parameters():
        # First step: the corrected moments are g and g^2, so Adam moves each weight by the learning rate.
        moved = before[name] - RATE * parameter.grad / (parameter.grad.abs() + 1e-9)
        expected = moved - RATE * DECAY * before[name] if parameter.dim() == 2 else moved
        torch.testing.assert_close(parameter.detach(), expected)
        if not torch.allclose(parameter.detach(), moved):
            decayed.add(name)
    assert decayed == {name for name, weight in before.items() if weight.dim() == 2}
    assert not any("bias" in name or "norm" in name for name in decayed)
    assert any("embedding" in name for name in decayed)
    # What Adam remembers knows nothing of the decay.
    for parameter in model.parameters():
        torch.testing.assert_close(optimizer.state[parameter]["exp_avg"], 0.1 * parameter.grad)


def test_without_decay_adamw_is_adam(make):
    (one, adam), (other, adamw) = make("adam"), make("adamw")
    for seed in range(3):
        step(one, adam, seed)
        step(other, adamw, seed)
    for name, weight in named_weights(one).items():
        assert torch.equal(weight, named_weights(other)[name]), name


def test_muon_steps_are_orthogonal_and_as_large_as_adams(make):
    model, optimizer = make("muon")
    before = copied(model)
    step(model, optimizer, seed=5)
    inside = {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)}
    assert len(inside) == 2 * 5 + 2 * 8
    for name, weight in named_weights(model).items():
        moved = (weight - before[name]) / RATE
        if name in inside:
            # Five iterations bring all but the smallest singular values near 1; the root mean square is that of Adam.
            singular = torch.linalg.svdvals(moved) / (0.2 * max(moved.shape) ** 0.5)
            assert 0.5 < singular.quantile(0.1) < singular.max() < 1.5, name
            assert moved.square().mean().sqrt().item() == pytest.approx(0.2, rel=0.25)
        else:
            torch.testing.assert_close(moved.abs(), torch.ones_like(moved), rtol=0, atol=1e-3)


def test_muon_makes_no_step_where_it_is_told_of_a_non_finite_gradient(make):
    model, optimizer = make("muon")
    step(model, optimizer, seed=5)
    before, remembered = copied(model), {n: t.clone() for n, t in optimizer_tensors(model, optimizer).items()}
    optimizer.found_inf = torch.ones(())
    step(model, optimizer, seed=6)
    assert all(torch.equal(weight, before[name]) for name, weight in named_weights(model).items())
    assert all(torch.equal(tensor, remembered[n]) for n, tensor in optimizer_tensors(model, optimizer).items())


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_every_parameter_is_in_one_group(make, kind):
    model, optimizer = make(kind, DECAY)
    grouped = [id(parameter) for group in optimizer.param_groups for parameter in group["params"]]
    assert sorted(grouped) == sorted(id(parameter) for parameter in model.parameters())


@pytest.mark.parametrize("kind", ["adam", "adamw", "muon"])
def test_going_on_from_before_the_first_update_is_exact(make, kind):
    (model, first), (other, again) = make(kind), make(kind)
    restore_optimizer(other, again, optimizer_tensors(model, first))
    assert not again.state
    step(model, first, seed=0)
    step(other, again, seed=0)
    assert all(torch.equal(weight, named_weights(other)[name]) for name, weight in named_weights(model).items())


@pytest.mark.parametrize(("optimizer", "weight_decay"), [("adam", 0.0), ("adamw", DECAY), ("muon", DECAY)])
def test_going_on_from_saved_tensors_is_exact(make, optimizer, weight_decay):
    model, first = make(optimizer, weight_decay)
    for seed in range(3):
        step(model, first, seed)
    saved = {name: tensor.clone() for name, tensor in optimizer_tensors(model, first).items()}
    assert {name.split("/")[1] for name in saved} == named_weights(model).keys()
    other, again = make(optimizer, weight_decay)
    for name, weight in named_weights(other).items():
        weight.copy_(named_weights(model)[name])
    restore_optimizer(other, again, saved)
    for seed in (3, 4):
        step(model, first, seed)
        step(other, again, seed)
    for name, weight in named_weights(model).items():
        assert torch.equal(weight, named_weights(other)[name]), name
