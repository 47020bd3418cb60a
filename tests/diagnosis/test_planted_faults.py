"""The test of the tester: one fault at a time is put into a healthy model, and must be called by its name."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from mtrain.batches.collate import SourceBatch, collate
from mtrain.config.schema import TokenizerConfig
from mtrain.corpus.sources import SIDES
from mtrain.diagnosis.examination import examine
from mtrain.diagnosis.report import root_cause
from mtrain.model.attention import MultiHeadAttention
from mtrain.model.cache import DecoderCache, GrowingKeyValues
from mtrain.model.dropout import Dropout
from mtrain.model.positions import AlibiPositions, NoPositions, RotaryPositions, SinusoidalPositions
from mtrain.model.sublayer import PostNorm, PreNorm
from mtrain.tokenizer import BOS, EOS, PAD, train_tokenizer
from mtrain.training.objective import Loss, _ChunkedCrossEntropy
from mtrain.training.objective import _loss_and_gradient as loss_and_gradient
from mtrain.training.optimizer import build_optimizer
from mtrain.training.step import BatchLoss, Updater

FAULTS = {}


def fault(cause, *overrides):
    """Register what plants a fault into (subject, monkeypatch), with its cause and perhaps settings."""

    def register(plant):
        FAULTS[plant.__name__] = (cause, overrides, plant)
        return plant

    return register


def with_sight(attention, change):
    """Let an attention see something else than it is told to."""
    kernel = attention.kernel
    attention.kernel = lambda q, k, v, sight, dropout: kernel(q, k, v, change(sight), dropout)


def attentions(subject):
    return [module for module in subject.model.modules() if isinstance(module, MultiHeadAttention)]


def with_batch(subject, change):
    """Let batches be something else than their examples, which `change` is given too."""
    make = subject.make_batch
    subject.make_batch = lambda indices: change(make(indices), *zip(*map(subject.pair, indices), strict=True))


# Who sees what.


@fault("keep_inverted")
def polarity_inverted_everywhere(subject, monkeypatch):
    for attention in attentions(subject):
        with_sight(attention, lambda s: s if s.keep_BS is None else s._replace(keep_BS=~s.keep_BS))


def softly_inverted(sight):
    """Hide by a large negative number what should be seen: a row without padding then sees all."""
    if sight.keep_BS is None:
        return sight
    nothing_left = sight.keep_BS.all(dim=1, keepdim=True)
    return sight._replace(keep_BS=~sight.keep_BS | nothing_left)


@fault("keep_inverted")
def polarity_inverted_in_the_encoder_softly(subject, monkeypatch):
    for layer in subject.model.encoder.layers:
        with_sight(layer.attention, softly_inverted)


@fault("keep_inverted")
def polarity_inverted_in_cross_attention_softly(subject, monkeypatch):
    for layer in subject.model.decoder.layers:
        with_sight(layer.cross_attention, softly_inverted)


@fault("keep_inverted")
def polarity_inverted_in_the_batch(subject, monkeypatch):
    def change(batch, *_):
        keep = batch.source.keep_BS
        return replace(batch, source=SourceBatch(batch.source.src_BS, None if keep is None else ~keep))

    with_batch(subject, change)


@fault("future_visible")
def no_causal_order(subject, monkeypatch):
    for layer in subject.model.decoder.layers:
        with_sight(layer.self_attention, lambda sight: sight._replace(causal=False))


@fault("future_visible")
def no_causal_order_in_the_last_layer_of_post_norm(subject, monkeypatch):
    with_sight(subject.model.decoder.layers[-1].self_attention, lambda sight: sight._replace(causal=False))


@fault("padding_read_by_decoder")
def padding_attended_in_cross_attention(subject, monkeypatch):
    for layer in subject.model.decoder.layers:
        with_sight(layer.cross_attention, lambda sight: sight._replace(keep_BS=None))


@fault("padding_read_by_encoder")
def padding_attended_in_one_encoder_layer(subject, monkeypatch):
    with_sight(subject.model.encoder.layers[1].attention, lambda sight: sight._replace(keep_BS=None))


@fault("source_ignored")
def encoder_output_ignored(subject, monkeypatch):
    decode = subject.model.decoder.forward
    subject.model.decoder.forward = lambda x, memory, keep: decode(x, torch.ones_like(memory), keep)


@fault("past_invisible")
def decoder_sees_only_the_latest_token(subject, monkeypatch):
    for layer in subject.model.decoder.layers:
        layer.self_attention.attend = lambda q, k, v, sight, own=layer.self_attention: own.output(
            v[:, :, -q.size(2) :].transpose(1, 2).flatten(2)
        )


@fault("encoder_blind")
def encoder_positions_see_only_themselves(subject, monkeypatch):
    for layer in subject.model.encoder.layers:
        layer.attention.attend = lambda q, k, v, sight, own=layer.attention: own.output(v.transpose(1, 2).flatten(2))


@fault("sentences_mixed")
def encoder_subtracts_the_mean_of_the_batch(subject, monkeypatch):
    embed = subject.model.source_embedding.forward
    subject.model.source_embedding.forward = lambda tokens: embed(tokens) - embed(tokens).mean(0, keepdim=True)


# Positions and embeddings.


@fault("embedding_scale_wrong", "model.initialization=normal")
def no_scale_of_embeddings(subject, monkeypatch):
    for embedding in (subject.model.source_embedding, subject.model.target_embedding):
        embedding._scale = 1.0


@fault("tokens_drowned", "model.initialization=normal", "model.scale_embeddings=false")
def no_scale_of_small_embeddings_as_configured(subject, monkeypatch):
    pass


@fault("positions_missing")
def positions_not_added(subject, monkeypatch):
    for embedding in (subject.model.source_embedding, subject.model.target_embedding):
        embedding.positions = NoPositions()


@fault("positions_missing")
def positions_not_added_on_the_target_side(subject, monkeypatch):
    subject.model.target_embedding.positions = NoPositions()


@fault("positions_missing", "model.positions=rotary")
def queries_and_keys_not_turned(subject, monkeypatch):
    for attention in attentions(subject):
        attention.positions.turn = lambda x, first=0: x


@fault("inner_positions_wrong", "model.positions=rotary")
def queries_and_keys_turned_twice(subject, monkeypatch):
    turn = RotaryPositions.turn
    monkeypatch.setattr(RotaryPositions, "turn", lambda self, x, first=0: turn(self, turn(self, x, first), first))


@fault("inner_positions_wrong", "model.positions=alibi")
def what_is_far_is_favoured(subject, monkeypatch):
    bias = AlibiPositions.bias
    monkeypatch.setattr(AlibiPositions, "bias", lambda *arguments: -bias(*arguments))


@fault("step_positions_wrong")
def steps_are_one_position_ahead(subject, monkeypatch):
    embed = subject.model.target_embedding.forward
    subject.model.target_embedding.forward = lambda tokens, first=None: (
        embed(tokens) if first is None else embed(tokens, first + 1)
    )


@fault("step_positions_wrong")
def steps_stand_still(subject, monkeypatch):
    embed = subject.model.target_embedding.forward
    subject.model.target_embedding.forward = lambda tokens, first=0: embed(tokens, 0)


@fault("step_positions_wrong", "model.positions=rotary")
def queries_of_steps_are_turned_too_far(subject, monkeypatch):
    for layer in subject.model.decoder.layers:
        project = layer.self_attention.project_query
        layer.self_attention.project_query = lambda x, first=None, project=project: (
            project(x) if first is None else project(x, first + 1)
        )


# Attention.


@fault("attention_scale_missing")
def no_division_by_the_root_of_the_width(subject, monkeypatch):
    for attention in attentions(subject):
        kernel = attention.kernel
        attention.kernel = lambda q, k, v, sight, dropout, kernel=kernel: kernel(
            q * q.size(-1) ** 0.5, k, v, sight, dropout
        )


@fault("keys_values_swapped")
def keys_and_values_of_a_layer_swapped(subject, monkeypatch):
    attention = subject.model.encoder.layers[1].attention
    project = attention.project_memory
    attention.project_memory = lambda memory, first=0: project(memory, first)[::-1]


@fault("attention_formula_wrong")
def heads_put_together_in_the_wrong_order(subject, monkeypatch):
    attention = subject.model.encoder.layers[0].attention
    attention.output.register_forward_pre_hook(lambda _, inputs: (inputs[0].unflatten(2, (4, 16)).mT.flatten(2),))


# Layers.


@fault("residual_missing")
def no_residual_connections(subject, monkeypatch):
    monkeypatch.setattr(PreNorm, "forward", lambda self, x, sublayer: self.dropout(sublayer(self.norm(x))))


@fault("residual_missing", "model.norm_position=post")
def no_residual_connection_around_one_sublayer_of_post_norm(subject, monkeypatch):
    residual = subject.model.decoder.layers[1].cross_residual
    residual.forward = lambda x, sublayer: residual.norm(residual.dropout(sublayer(x)))


@fault("norm_missing")
def one_norm_left_out(subject, monkeypatch):
    subject.model.encoder.layers[1].feed_forward_residual.norm = nn.Identity()


@fault("norm_missing", "model.norm_position=post")
def one_norm_of_post_norm_left_out(subject, monkeypatch):
    subject.model.decoder.layers[0].self_residual.norm = nn.Identity()


@fault("norm_missing")
def no_norm_at_the_end_of_the_encoder(subject, monkeypatch):
    subject.model.encoder.final_norm = nn.Identity()


@fault("norm_misplaced")
def norms_behind_instead_of_before(subject, monkeypatch):
    monkeypatch.setattr(PreNorm, "forward", PostNorm.forward)


@fault("norm_misplaced", "model.norm_position=post")
def the_norm_around_the_sublayer_alone(subject, monkeypatch):
    monkeypatch.setattr(PostNorm, "forward", lambda self, x, sublayer: x + self.norm(sublayer(x)))


@fault("residual_formula_wrong")
def the_stream_added_twice(subject, monkeypatch):
    monkeypatch.setattr(PreNorm, "forward", lambda self, x, sublayer: 2 * x + sublayer(self.norm(x)))


@fault("activation_missing")
def a_feed_forward_without_its_activation(subject, monkeypatch):
    subject.model.encoder.layers[1].feed_forward._activation = lambda x: x


@fault("activation_missing", "model.activation=swiglu", "model.norm_position=post")
def gated_feed_forwards_without_their_activation(subject, monkeypatch):
    monkeypatch.setattr("torch.nn.functional.silu", lambda x: x)


@fault("activation_wrong", "model.activation=gelu")
def relu_for_gelu(subject, monkeypatch):
    subject.model.decoder.layers[0].feed_forward._activation = torch.relu


@fault("feed_forward_formula_wrong")
def a_bias_forgotten(subject, monkeypatch):
    part = subject.model.decoder.layers[0].feed_forward
    part.outer.bias.data.fill_(0.1)
    part.forward = lambda x: torch.relu(part.inner(x)) @ part.outer.weight.T


@fault("positions_twice")
def positions_added_twice(subject, monkeypatch):
    embedding = subject.model.source_embedding
    add = embedding.positions.forward
    embedding.positions.forward = lambda x, first=0: add(add(x, first), first)


@fault("embedding_formula_wrong")
def positions_that_begin_at_1(subject, monkeypatch):
    add = SinusoidalPositions.forward
    monkeypatch.setattr(SinusoidalPositions, "forward", lambda self, x, first=0: add(self, x, first + 1))


@fault("layer_skipped")
def a_layer_is_skipped(subject, monkeypatch):
    subject.model.encoder.layers[1].forward = lambda x, keep: x


@fault("wired_wrong")
def a_layer_is_run_twice(subject, monkeypatch):
    layer = subject.model.encoder.layers[0]
    once = layer.forward
    layer.forward = lambda x, keep: once(once(x, keep), keep)


@fault("memory_wrong")
def a_decoder_layer_reads_what_the_encoder_does_not_give(subject, monkeypatch):
    layer = subject.model.decoder.layers[1]
    decode = layer.forward
    layer.forward = lambda x, memory, keep: decode(x, memory.flip(2), keep)


@fault("logits_formula_wrong")
def logits_divided(subject, monkeypatch):
    output = subject.model.output.forward
    subject.model.output.forward = lambda hidden: output(hidden) / 8


# Training against decoding.


@fault("cache_wrong")
def cache_hides_the_latest_position(subject, monkeypatch):
    append = GrowingKeyValues.append

    def one_short(self, k, v):
        keys, values = append(self, k, v)
        last = max(1, self.length - 1)
        return keys[:, :, :last], values[:, :, :last]

    monkeypatch.setattr(GrowingKeyValues, "append", one_short)


@fault("cache_wrong")
def cache_overwrites_the_position_before(subject, monkeypatch):
    append = GrowingKeyValues.append

    def over(self, k, v):
        keys, values = append(self, k, v)
        if self.length > 1:
            keys[:, :, -2], values[:, :, -2] = keys[:, :, -1], values[:, :, -1]
        return keys, values

    monkeypatch.setattr(GrowingKeyValues, "append", over)


@fault("cache_reorder_wrong")
def cache_is_not_reordered(subject, monkeypatch):
    monkeypatch.setattr(DecoderCache, "reorder", lambda self, rows: self.layers[0].past.reorder(rows))


@fault("source_cache_wrong")
def steps_see_the_padding_of_the_source(subject, monkeypatch):
    start = subject.model.decoder.start
    subject.model.decoder.start = lambda memory, keep: start(memory, None)


@fault("dropout_in_eval")
def dropout_that_never_sleeps(subject, monkeypatch):
    forward = Dropout.forward

    def awake(self, x):
        self.training = True
        return forward(self, x)

    monkeypatch.setattr(Dropout, "forward", awake)


@fault("dropout_missing")
def dropout_that_never_drops(subject, monkeypatch):
    monkeypatch.setattr(Dropout, "forward", lambda self, x: x)


@fault("dropout_missing", "model.norm_position=post")
def dropout_forgotten_around_a_sublayer(subject, monkeypatch):
    residual = subject.model.encoder.layers[0].attention_residual
    residual.forward = lambda x, sublayer: residual.norm(x + sublayer(x))


@fault("dropout_missing", "model.attention_dropout=0.2")
def attention_without_its_dropout(subject, monkeypatch):
    subject.model.decoder.layers[0].cross_attention.dropout.p = 0.0


@fault("dropout_wrong")
def dropout_that_does_not_scale_up(subject, monkeypatch):
    forward = Dropout.forward
    monkeypatch.setattr(Dropout, "forward", lambda self, x: forward(self, x) * (1 - self.p * self.training))


@fault("dropout_wrong")
def dropout_that_keeps_instead_of_dropping(subject, monkeypatch):
    for module in subject.model.modules():
        if isinstance(module, Dropout):
            module.p = 0.9


@fault("dropout_repeats")
def each_update_drops_the_same(subject, monkeypatch):
    monkeypatch.setattr("mtrain.training.step.seed_from", lambda *_: torch.manual_seed(1))


@fault("random_in_eval")
def noise_in_the_embedding(subject, monkeypatch):
    embed = subject.model.source_embedding.forward
    subject.model.source_embedding.forward = lambda tokens: embed(tokens) + 0.1 * torch.randn(1)


@fault("modes_differ")
def something_else_than_dropout_in_training(subject, monkeypatch):
    model = subject.model
    output = model.output.forward
    model.output.forward = lambda hidden: output(hidden) * (1.5 if model.training else 1.0)


@fault("decoding_differs")
def decoding_begins_with_eos(subject, monkeypatch):
    begin = lambda sentences, device: torch.full((sentences, 1), EOS, device=device)  # noqa: E731
    monkeypatch.setattr("mtrain.decoding.beam.begin", begin)


# Batches and loss.


@fault("labels_not_shifted")
def labels_are_the_inputs(subject, monkeypatch):
    with_batch(subject, lambda batch, *_: replace(batch, labels_M=batch.tgt_in_BT.flatten()[batch.real_M]))


@fault("labels_not_shifted")
def inputs_are_the_labels(subject, monkeypatch):
    def change(batch, sources, targets):
        ahead = batch.tgt_in_BT.clone()
        ahead.view(-1)[batch.real_M] = batch.labels_M
        return replace(batch, tgt_in_BT=ahead)

    with_batch(subject, change)


@fault("eos_never_trained")
def no_eos_among_the_labels(subject, monkeypatch):
    def change(batch, *_):
        real = batch.labels_M != EOS
        return replace(batch, labels_M=batch.labels_M[real], real_M=batch.real_M[real])

    with_batch(subject, change)


def loss_without(subject, piece):
    whole = subject.loss

    def loss(batch):
        real = batch.labels_M != piece
        return whole(replace(batch, labels_M=batch.labels_M[real], real_M=batch.real_M[real]))

    subject.loss = loss


@fault("eos_never_trained")
def eos_left_out_of_the_loss(subject, monkeypatch):
    loss_without(subject, EOS)


@fault("wrong_pad")
def a_digit_taken_for_padding_in_the_loss(subject, monkeypatch):
    loss_without(subject, subject.tokenizers["target"].encode("7")[0])


@fault("wrong_pad")
def a_digit_taken_for_padding_in_the_labels(subject, monkeypatch):
    seven = subject.tokenizers["target"].encode("7")[0]

    def change(batch, *_):
        real = batch.labels_M != seven
        return replace(batch, labels_M=batch.labels_M[real], real_M=batch.real_M[real])

    with_batch(subject, change)


@fault("padding_trained")
def padding_among_the_labels(subject, monkeypatch):
    def change(batch, sources, targets):
        B, T = batch.tgt_in_BT.shape
        labels = torch.full((B * T,), PAD)
        labels[batch.real_M] = batch.labels_M
        return replace(batch, labels_M=labels, real_M=torch.arange(B * T))

    with_batch(subject, change)


@fault("bos_missing")
def no_bos(subject, monkeypatch):
    def change(batch, sources, targets):
        without = collate(sources, targets).tgt_in_BT.roll(-1, dims=1)
        return replace(batch, tgt_in_BT=without.masked_fill(without == BOS, PAD))

    with_batch(subject, change)


@fault("bos_missing")
def eos_for_bos(subject, monkeypatch):
    monkeypatch.setattr("mtrain.batches.collate.BOS", EOS)


@fault("sources_shuffled")
def sources_shuffled_in_the_batch(subject, monkeypatch):
    with_batch(subject, lambda batch, sources, targets: collate(sources[1:] + sources[:1], targets))


@fault("target_as_source")
def target_fed_as_source(subject, monkeypatch):
    with_batch(subject, lambda batch, sources, targets: collate(targets, targets))


@fault("source_without_eos")
def source_not_closed(subject, monkeypatch):
    def change(batch, *_):
        src = batch.source.src_BS.masked_fill(batch.source.src_BS == EOS, PAD)
        return replace(batch, source=SourceBatch(src, src != PAD))

    with_batch(subject, change)


@fault("sentences_truncated")
def sentences_cut_short(subject, monkeypatch):
    with_batch(subject, lambda batch, sources, targets: collate(sources, [target[:4] for target in targets]))


@fault("smoothing_wrong")
def loss_without_its_smoothing(subject, monkeypatch):
    subject.loss = BatchLoss(subject.model, 0.0, torch.float32)


@fault("smoothing_wrong")
def loss_with_smoothing_of_the_other_kind(subject, monkeypatch):
    V = subject.model.output.weight.size(0)
    subject.loss = BatchLoss(subject.model, 0.1 * (V - 1) / V, torch.float32)


@fault("loss_divided")
def loss_is_a_mean(subject, monkeypatch):
    whole = subject.loss
    subject.loss = lambda batch: Loss(*(part / batch.target_tokens for part in whole(batch)))


@fault("loss_gradient_wrong")
def the_gradient_of_the_loss_forgets_the_smoothing(subject, monkeypatch):
    def plain(logits, labels, smoothing):
        loss = loss_and_gradient(logits.clone(), labels, smoothing)
        loss_and_gradient(logits, labels, 0.0)
        return loss

    monkeypatch.setattr("mtrain.training.objective._loss_and_gradient", plain)


def with_gradient(monkeypatch, change):
    backward = _ChunkedCrossEntropy.backward
    monkeypatch.setattr(_ChunkedCrossEntropy, "backward", lambda ctx, *grads: change(*backward(ctx, *grads)))


@fault("loss_gradient_wrong")
def the_gradient_by_the_hidden_states_is_doubled(subject, monkeypatch):
    with_gradient(monkeypatch, lambda hidden, *others: (2 * hidden, *others))


@fault("loss_gradient_wrong", "model.tied=none")
def the_gradient_by_the_output_is_halved(subject, monkeypatch):
    with_gradient(monkeypatch, lambda hidden, weight, *others: (hidden, weight / 2, *others))


# Weights.


@fault("zero_gain_frozen")
def inner_norm_of_gain_0_and_frozen(subject, monkeypatch):
    gain = subject.model.encoder.layers[0].feed_forward_residual.norm.weight
    gain.data.zero_()
    gain.requires_grad_(False)


@fault("untied")
def untied_after_loading(subject, monkeypatch):
    model = subject.model
    model.output.weight = nn.Parameter(model.output.weight.detach().clone())


@fault("weights_not_finite")
def one_weight_is_no_number(subject, monkeypatch):
    subject.model.decoder.layers[0].feed_forward.inner.weight.data[3, 3] = float("nan")


@fault("frozen")
def a_frozen_layer(subject, monkeypatch):
    subject.model.encoder.layers[1].requires_grad_(False)


@fault("not_in_optimizer")
def weights_that_the_optimizer_does_not_know(subject, monkeypatch):
    def make():
        optimizer = build_optimizer(subject.model, subject.training)
        optimizer.param_groups[0]["params"].pop()
        return Updater(BatchLoss(subject.model, 0.1, torch.float32), optimizer, 1.0, seed=1)

    subject.make_updater = make


@fault("no_gradient")
def a_detached_encoder(subject, monkeypatch):
    encode = subject.model.encoder.forward
    subject.model.encoder.forward = lambda x, keep: encode(x, keep).detach()


@fault("accumulation_wrong")
def a_gradient_that_is_a_sum(subject, monkeypatch):
    gradient = Updater.gradient

    def summed(self, number, batches):
        sums = gradient(self, number, batches)
        for parameter in self.model.parameters():
            parameter.grad *= sum(batch.target_tokens for batch in batches)
        return sums

    monkeypatch.setattr(Updater, "gradient", summed)


@fault("sublayer_dead")
def a_feed_forward_that_gives_nothing(subject, monkeypatch):
    outer = subject.model.decoder.layers[0].feed_forward.outer
    outer.weight.data.zero_()


@fault("activations_explode")
def weights_that_start_far_too_large(subject, monkeypatch):
    for layer in list(subject.model.encoder.layers)[1:]:
        layer.feed_forward.outer.weight.data.mul_(1000)


@fault("first_loss_high")
def an_output_that_starts_far_too_large(subject, monkeypatch):
    subject.model.decoder.final_norm.weight.data.mul_(8)


@fault("gate_stays_shut", "model.initialization=tfixup_like")
def a_sublayer_that_no_gradient_opens(subject, monkeypatch):
    subject.model.encoder.layers[0].feed_forward.inner.weight.data.zero_()  # so that its inner values are 0 as well


# Settings.


@fault("learning_rate_high", "training.learning_rate_scale=100", "training.max_updates=1000")
def learning_rate_a_hundred_times_too_high(subject, monkeypatch):
    pass


@fault("learning_rate_low", "training.learning_rate_scale=0.0001")
def learning_rate_ten_thousand_times_too_low(subject, monkeypatch):
    pass


@fault("clip_norm_low", "training.clip_norm=0.0001")
def gradient_clipped_to_nothing(subject, monkeypatch):
    pass


@fault("clip_norm_low")
def gradient_clipped_to_nothing_unsaid(subject, monkeypatch):
    def make():
        optimizer = build_optimizer(subject.model, subject.training)
        return Updater(BatchLoss(subject.model, 0.1, torch.float32), optimizer, 1e-4, seed=1)

    subject.make_updater = make


# Model against data.


@fault("tokenizer_mismatch")
def a_tokenizer_of_other_text(subject, monkeypatch):
    words = ["".join(map(chr, range(97, 97 + n % 26))) for n in range(1, 200)]
    subject.tokenizers = dict.fromkeys(SIDES, train_tokenizer(words, TokenizerConfig(vocabulary_size=290)))


# These show only in training, and the first in decoding after it.
SLOW = {
    "decoding_begins_with_eos",
    "learning_rate_a_hundred_times_too_high",
    "learning_rate_ten_thousand_times_too_low",
    "gradient_clipped_to_nothing",
    "gradient_clipped_to_nothing_unsaid",
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in FAULTS])
def test_a_planted_fault_is_called_by_its_name(name, subject, monkeypatch):
    cause, overrides, plant = FAULTS[name]
    ill = subject(*overrides)
    plant(ill, monkeypatch)
    findings = [finding for _, finding in examine(ill)]
    named = [finding.cause for finding in findings if finding.cause]
    assert (root_cause(findings) or named[0]) == cause, [finding for finding in findings if finding.cause]
