"""One update: accumulation is exact, clipping clips, dropout is a function of seed and update."""

from types import SimpleNamespace

import pytest
import torch

from mtrain.batches.collate import collate, without_loss
from mtrain.config.schema import TrainingConfig
from mtrain.errors import TrainingError
from mtrain.model.build import build_model
from mtrain.model.dropout import Dropout
from mtrain.model.weights import named_weights
from mtrain.training import loop, step
from mtrain.training.moving_average import MovingAverage
from mtrain.training.optimizer import build_optimizer, optimizer_tensors, restore_optimizer
from mtrain.training.state import TrainingState
from mtrain.training.step import BatchLoss, Updater
from mtrain.training.validation import dev_losses

SIGNS_OF_NO_MEMORY = [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("CPU: can't allocate memory: you")]


@pytest.fixture
def updater(model_config):
    def make(dropout=0.0, clip_norm=0.0, seed=1, average_decay=0.0, r_drop=0.0):
        torch.manual_seed(3)
        model = build_model(model_config(dropout=dropout), 40, 40)
        average = MovingAverage(model, average_decay) if average_decay else None
        loss, optimizer = BatchLoss(model, 0.1, torch.float32, r_drop), build_optimizer(model, TrainingConfig())
        return Updater(loss, optimizer, clip_norm, seed, average=average)

    return make


def weights_after(updater, batches, updates=1):
    for number in range(1, updates + 1):
        report = updater.update(number, batches, 1e-3)
    return {name: weight.clone() for name, weight in named_weights(updater.model).items()}, report


def parts_of(sources, targets, sizes):
    cut = iter(zip(sources, targets, strict=True))
    return [collate(*zip(*(next(cut) for _ in range(size)), strict=True)) for size in sizes]


def test_micro_batches_of_unequal_size_give_the_gradient_of_the_whole(updater, sentences):
    sources, targets = sentences(8), sentences(8, seed=1)
    gradients = []
    for sizes in ([8], [4, 2, 1, 1], [1] * 8):
        one = updater()
        one.optimizer.zero_grad = lambda: None  # keep the gradient to look at
        _, report = weights_after(one, parts_of(sources, targets, sizes))
        gradients.append({name: p.grad.clone() for name, p in one.model.named_parameters()})
        assert report.target_tokens == sum(len(target) + 1 for target in targets)
    for other in gradients[1:]:
        for name, gradient in gradients[0].items():
            torch.testing.assert_close(other[name], gradient, rtol=1e-4, atol=1e-6)


def test_the_reported_gradient_norm_is_the_one_before_clipping_and_clipping_holds(updater, sentences):
    batch = parts_of(sentences(4), sentences(4, seed=1), [4])
    free, clipped = updater(), updater(clip_norm=0.01)
    for one in (free, clipped):
        one.optimizer.zero_grad = lambda: None
    _, free_report = weights_after(free, batch)
    _, clipped_report = weights_after(clipped, batch)
    assert float(clipped_report.gradient_norm) == pytest.approx(float(free_report.gradient_norm), rel=1e-5)
    norm = torch.stack([p.grad.norm() for p in clipped.model.parameters()]).norm()
    assert float(norm) == pytest.approx(0.01, rel=1e-3)


def test_dropout_follows_from_seed_and_update_whatever_was_drawn_between(updater, sentences):
    batch = parts_of(sentences(4), sentences(4, seed=1), [2, 2])
    first, _ = weights_after(updater(dropout=0.3), batch, updates=2)
    again = updater(dropout=0.3)
    again.update(1, batch, 1e-3)
    torch.rand(17)
    again.update(2, batch, 1e-3)
    other, _ = weights_after(updater(dropout=0.3, seed=2), batch, updates=2)
    assert all(torch.equal(weight, first[name]) for name, weight in named_weights(again.model).items())
    assert not torch.equal(other["source_embedding.weight"], first["source_embedding.weight"])


def test_batches_are_brought_to_the_models_device(updater, sentences, monkeypatch):
    (batch,) = parts_of(sentences(2), sentences(2, seed=1), [2])
    seen = []
    monkeypatch.setattr(type(batch), "to", lambda self, device: seen.append(device) or self)
    weights_after(updater(), [batch])
    assert seen == [torch.device("cpu")]


def test_the_optimisers_state_survives_its_names(updater, sentences):
    batch = parts_of(sentences(4), sentences(4, seed=1), [4])
    one, other = updater(), updater()
    weights_after(one, batch, updates=3)
    for mine, theirs in zip(other.model.parameters(), one.model.parameters(), strict=True):
        mine.detach().copy_(theirs.detach())
    saved = {name: tensor.clone() for name, tensor in optimizer_tensors(one.model, one.optimizer).items()}
    restore_optimizer(other.model, other.optimizer, saved)
    for each in (one, other):
        each.update(4, batch, 1e-3)
    for mine, theirs in zip(other.model.parameters(), one.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_dev_loss_is_per_token_and_a_lone_sentence_has_no_other_source(updater, sentences):
    model = updater().model
    sources, targets = sentences(6), sentences(6, seed=1)
    whole, gain = dev_losses(model, parts_of(sources, targets, [6]), torch.float32)
    alone, no_gain = dev_losses(model, parts_of(sources, targets, [1] * 6), torch.float32)
    assert whole == pytest.approx(alone, rel=1e-4)
    assert gain is not None
    assert no_gain is None


def test_a_batch_in_pieces_gives_the_gradient_of_the_whole(updater, sentences):
    batch = parts_of(sentences(7), sentences(7, seed=1), [7])
    gradients = []
    for pieces in (1, 2, 3, 7, 9):
        one = updater()
        one.pieces = pieces
        one.gradient(1, batch)
        gradients.append({name: p.grad.clone() for name, p in one.model.named_parameters()})
    for other in gradients[1:]:
        for name, gradient in gradients[0].items():
            torch.testing.assert_close(other[name], gradient, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("sign", SIGNS_OF_NO_MEMORY)
def test_where_memory_runs_out_the_same_update_is_made_in_pieces(updater, sentences, monkeypatch, capsys, sign):
    batches = parts_of(sentences(8), sentences(8, seed=1), [2, 6])
    in_pieces = updater(dropout=0.3)
    in_pieces.pieces = 4
    expected, _ = weights_after(in_pieces, batches)

    def loss(model, batch, *rest, original=step.batch_loss):
        if len(batch.tgt_in_BT) > 2:
            raise sign
        return original(model, batch, *rest)

    monkeypatch.setattr(step, "batch_loss", loss)
    one = updater(dropout=0.3)
    weights, _ = weights_after(one, batches)
    assert "update 1: out of memory. From here on each batch is computed in 4 pieces" in capsys.readouterr().err
    assert all(torch.equal(weights[name], expected[name]) for name in expected)


@pytest.mark.parametrize("sign", SIGNS_OF_NO_MEMORY)
def test_a_memory_too_small_for_one_pair_ends_training(updater, sentences, monkeypatch, sign):
    def loss(*_):
        raise sign

    monkeypatch.setattr(step, "batch_loss", loss)
    batches = parts_of(sentences(3), sentences(3, seed=1), [3])
    stream = SimpleNamespace(take=lambda *_: batches)
    training = SimpleNamespace(config=TrainingConfig(), stream=stream, updater=updater())
    with pytest.raises(TrainingError, match=r"update 1: out of memory\. Run the same command again"):
        loop._update(training, TrainingState(), None)


def test_r_drop_without_dropout_is_the_loss_without_r_drop(updater, sentences):
    batch = parts_of(sentences(4), sentences(4, seed=1), [4])
    plain, twofold = (updater(r_drop=r_drop).update(1, batch, 1e-3) for r_drop in (0.0, 5.0))
    assert float(twofold.loss) == pytest.approx(float(plain.loss), rel=1e-5)
    assert float(twofold.nll) == pytest.approx(float(plain.nll), rel=1e-5)
    assert float(twofold.gradient_norm) == pytest.approx(float(plain.gradient_norm), rel=1e-4)
    assert twofold.target_tokens == plain.target_tokens
    assert twofold.padded_tokens == plain.padded_tokens


def test_r_drop_punishes_what_dropout_changes(updater, sentences):
    batch = parts_of(sentences(4), sentences(4, seed=1), [4])
    weak, strong = (updater(dropout=0.3, r_drop=r_drop).update(1, batch, 1e-3) for r_drop in (1e-9, 5.0))
    assert float(strong.loss) > float(weak.loss)
    assert float(strong.nll) == pytest.approx(float(weak.nll))


def test_r_drop_gives_micro_batches_and_pieces_the_gradient_of_the_whole(updater, sentences, monkeypatch):
    def second_pass_differs(self, x):
        return x * torch.linspace(1, 1.5, 2).repeat_interleave(x.size(0) // 2).view(-1, *[1] * (x.dim() - 1))

    monkeypatch.setattr(Dropout, "forward", second_pass_differs)
    sources, targets = sentences(8), sentences(8, seed=1)
    results = []
    for sizes, pieces in (([8], 1), ([4, 2, 1, 1], 1), ([1] * 8, 1), ([8], 3), ([5, 3], 2)):
        one = updater(r_drop=5.0)
        one.pieces = pieces
        loss = one.gradient(1, parts_of(sources, targets, sizes)).loss
        results.append((float(loss), {name: p.grad.clone() for name, p in one.model.named_parameters()}))
    for loss, gradients in results[1:]:
        assert loss == pytest.approx(results[0][0], rel=1e-5)
        for name, gradient in results[0][1].items():
            torch.testing.assert_close(gradients[name], gradient, rtol=1e-4, atol=1e-6)


def test_a_micro_batch_without_loss_changes_nothing(updater, sentences):
    batches = parts_of(sentences(4), sentences(4, seed=1), [2, 2])
    results = []
    for more in ([], [without_loss()]):
        one = updater()
        sums = one.gradient(1, batches + more)
        results.append((sums, [parameter.grad.clone() for parameter in one.model.parameters()]))
    (sums, gradients), (other_sums, other_gradients) = results
    assert sums == other_sums
    assert all(map(torch.equal, gradients, other_gradients))


@pytest.mark.parametrize("r_drop", [0.0, 5.0])
def test_a_micro_batch_without_loss_reaches_every_parameter_by_itself(updater, r_drop):
    # Other processes wait until each parameter has its gradient here, too.
    model = updater(dropout=0.3, r_drop=r_drop).model
    BatchLoss(model, 0.1, torch.float32, r_drop)(without_loss()).smoothed.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert not parameter.grad.any(), name


def test_the_moving_average_is_the_formula_and_outlives_a_checkpoint(updater, sentences):
    batch = parts_of(sentences(4), sentences(4, seed=1), [4])
    one = updater(average_decay=0.3)
    expected = {name: weight.clone() for name, weight in named_weights(one.model).items()}
    for number in range(1, 5):
        one.update(number, batch, 1e-2)
        decay = min(0.3, (1 + number) / (10 + number))
        for name, weight in named_weights(one.model).items():
            expected[name] = decay * expected[name] + (1 - decay) * weight
    for name, weight in expected.items():
        torch.testing.assert_close(one.average.weights[name], weight)
    stored = {file: {name: tensor.clone() for name, tensor in part.items()} for file, part in one.tensors().items()}
    other = updater(average_decay=0.3)
    other.restore(stored)
    for each in (one, other):
        each.update(5, batch, 1e-2)
    for name, weight in one.average.weights.items():
        assert torch.equal(weight, other.average.weights[name])
