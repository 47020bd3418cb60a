"""What can be broken, by name: what it means, and what to do about it."""

from typing import NamedTuple


class Cause(NamedTuple):
    """In words for the reader of the report."""

    meaning: str
    cure: str


CAUSES = {
    # Data.
    "tokenizer_loses_text": Cause(
        "the tokenizer does not give back what it was given",
        "Prepare again; train no tokenizer of your own into the folder.",
    ),
    "tokenizer_mismatch": Cause(
        "model, data and tokenizer were not made together: ids mean other pieces",
        "Prepare again and train anew, or use the tokenizer and data that the model was trained with.",
    ),
    "unknown_pieces": Cause(
        "characters have become UNK, which is never translated", "Prepare again with mtrain's byte fallback."
    ),
    "many_bytes": Cause(
        "many characters have no piece and are spelt in bytes, three tokens each",
        "Raise tokenizer.vocabulary_size or tokenizer.character_coverage.",
    ),
    "limit_low": Cause(
        "many pairs are never trained on", "Raise batches.max_tokens_per_sentence, or cut the text into sentences."
    ),
    "leak": Cause(
        "scores will be too good: test sentences are learnt by heart", "Prepare again; do not add to the files by hand."
    ),
    # Batches.
    "sources_shuffled": Cause(
        "sources stand beside the targets of others",
        "See that line N of one file is the translation of line N of the other.",
    ),
    "target_as_source": Cause(
        "the target is given as the source", "Give the two sides in their order (corpus.train, collate)."
    ),
    "source_without_eos": Cause("sources are not closed by EOS", "Append EOS where sources are collated."),
    "sentences_truncated": Cause(
        "sentences are cut short", "Cut nothing where batches are made; leave out what is too long."
    ),
    "sentences_changed": Cause(
        "batches hold something else than the pairs", "Look at how examples become batches (collate)."
    ),
    "keep_inverted": Cause(
        "the padding is attended and the words are hidden: the polarity of the mask is inverted",
        "True must mean a real token that may be attended (nn.MultiheadAttention means the opposite).",
    ),
    "keep_wrong": Cause("some words are hidden, or some padding is not", "Make keep from the lengths of the sources."),
    "bos_missing": Cause(
        "the decoder's input does not begin with BOS, with which translating begins",
        "Put BOS before each target input.",
    ),
    "labels_not_shifted": Cause(
        "the label is the token that the decoder is given: it learns to copy, not to go on",
        "Shift by one: the input is BOS and the target, the labels are the target and EOS.",
    ),
    "eos_never_trained": Cause(
        "EOS is no label, so that translations never end", "Close the labels by EOS, and count it in the loss."
    ),
    "padding_trained": Cause("the loss counts padding as words", "Leave padded positions out of the loss."),
    "wrong_pad": Cause(
        "the loss leaves out a real piece, taken for padding", "Give the loss the tokenizer's own id of PAD (0)."
    ),
    # The loss.
    "smoothing_wrong": Cause(
        "the smoothing is not the one configured", "Compare training.label_smoothing and smoothing_over."
    ),
    "loss_divided": Cause(
        "the loss is a mean, to be divided again by the tokens", "Sum over tokens; divide once per update."
    ),
    "loss_formula_wrong": Cause(
        "the loss is not cross entropy with this smoothing", "Compare it with paper section 5.4."
    ),
    "loss_gradient_wrong": Cause(
        "the gradient of the loss is not that of its formula: training goes elsewhere than the loss says",
        "Compare the gradient by hidden states, weights and bias in training/objective.py with autograd's.",
    ),
    "first_loss_high": Cause(
        "a fresh model is sure of wrong words: weights start too large", "Look at the initialisation."
    ),
    "first_loss_low": Cause(
        "this model is not fresh, or sees its labels", "Look at where the labels could leak into the input."
    ),
    # The model's condition.
    "weights_not_finite": Cause(
        "weights are NaN or infinite", "Go back to a checkpoint; lower the learning rate, or use fp32."
    ),
    "logits_not_finite": Cause(
        "finite weights give NaN or infinity", "Look for a softmax over nothing (all places hidden) and for overflow."
    ),
    "untied": Cause(
        "matrices that should be one have parted: they are trained apart",
        "Tie them again after loading: one Parameter, not a copy.",
    ),
    "tied_unasked": Cause("matrices are shared that should not be", "Set model.tied to what the model does."),
    "dropout_in_eval": Cause(
        "dropout is at work in eval()", "Let dropout obey self.training, and call eval() before translating."
    ),
    "dropout_missing": Cause(
        "training drops nothing where it should: the model will overfit",
        "Call dropout where model.dropout says, and train() before training.",
    ),
    "dropout_wrong": Cause(
        "dropout zeroes another share than configured, or does not scale up what it keeps",
        "Zero with probability p, and divide the others by 1 - p.",
    ),
    "dropout_repeats": Cause(
        "updates all drop the same values, or none at all",
        "Call train() before each update, and draw from another seed in each.",
    ),
    "random_in_eval": Cause("the model is random even without dropout", "Look for random numbers in forward()."),
    # Who sees what.
    "future_visible": Cause(
        "a position sees the tokens it should predict: loss will be low, translations bad",
        "Give the decoder's self-attention its causal mask.",
    ),
    "past_invisible": Cause(
        "the decoder does not see what it has said", "Look at the causal mask: is the diagonal in, the past too?"
    ),
    "padding_read_by_encoder": Cause(
        "the encoder attends to padding: a translation depends on its batch",
        "Pass keep to the encoder's self-attention.",
    ),
    "padding_read_by_decoder": Cause(
        "attention to the source reads padding: a translation depends on its batch", "Pass keep to the cross-attention."
    ),
    "encoder_blind": Cause(
        "source positions do not see each other", "Look at the encoder's self-attention and what it may see."
    ),
    "source_ignored": Cause(
        "the decoder does not use what the encoder gives: it is a mere language model",
        "Look at the cross-attention; are sources and targets aligned, is the rate too high?",
    ),
    "sentences_mixed": Cause(
        "sentences of a batch see each other", "Look for a dimension mixed up in a view, a norm or a softmax."
    ),
    # Positions.
    "positions_missing": Cause(
        "order is not seen: a sentence is a bag of words", "Add the positions to the embeddings, on both sides."
    ),
    "positions_unasked": Cause(
        "order is seen though model.positions is none", "Look at what the model was built from."
    ),
    "inner_positions_wrong": Cause(
        "positions inside attention are not those of model.positions", "Compare with model/positions.py's sources."
    ),
    "embedding_scale_wrong": Cause(
        "embeddings are not multiplied as model.scale_embeddings says", "Multiply by sqrt(d_model) (paper section 3.4)."
    ),
    "tokens_drowned": Cause(
        "positions drown the tokens: sentences look alike to the first layer",
        "Set model.scale_embeddings: true, or initialise embeddings larger.",
    ),
    # Layers.
    "layer_skipped": Cause("a layer, or a part of one, is never called", "Go through all layers, and all their parts."),
    "positions_twice": Cause("positions are added twice", "Add them once, in the embedding."),
    "embedding_formula_wrong": Cause(
        "embeddings are not those of the tokens with their positions", "Compare with paper sections 3.4 and 3.5."
    ),
    "residual_missing": Cause(
        "a sublayer's output takes the place of its input instead of being added to it",
        "Add the input: x + Sublayer(...) (paper section 3.1).",
    ),
    "norm_missing": Cause("a norm is left out", "Normalise as model.norm_position says; with pre, at the end as well."),
    "norm_misplaced": Cause(
        "a norm stands elsewhere than model.norm_position says",
        "pre is x + Sublayer(Norm(x)), post is Norm(x + Sublayer(x)).",
    ),
    "residual_formula_wrong": Cause(
        "a sublayer is not added and normalised as model.norm and model.norm_position say", "Look at model/sublayer.py."
    ),
    "activation_missing": Cause(
        "a feed-forward is without its activation: two linear maps, which are no more than one",
        "Apply model.activation between the two matrices (paper eq. 2).",
    ),
    "activation_wrong": Cause(
        "a feed-forward has another activation than model.activation", "Look at what the model was built from."
    ),
    "feed_forward_formula_wrong": Cause("a feed-forward is not eq. 2", "Compare with model/feedforward.py."),
    "wired_wrong": Cause(
        "a part is given something else than what the part before it gave", "Pass on the output of each, in turn."
    ),
    "memory_wrong": Cause(
        "an attention looks at something else than it should: the decoder's at what the encoder gives, others at their "
        "own input",
        "Pass the encoder's last, normalised output to all layers of the decoder.",
    ),
    "logits_formula_wrong": Cause(
        "logits are not the decoder's output times the output matrix", "Look at the output layer."
    ),
    # Attention and consistency.
    "attention_scale_missing": Cause(
        "scores are not divided by sqrt(d_k): the softmax stares", "Divide them (paper eq. 1)."
    ),
    "keys_values_swapped": Cause(
        "keys are used as values and values as keys", "Look at the order of the two projections."
    ),
    "attention_formula_wrong": Cause("attention is not eq. 1", "Compare with attention_weights in model/attention.py."),
    "step_positions_wrong": Cause(
        "step-by-step decoding puts tokens at other positions than training",
        "Give each step the number of tokens before it.",
    ),
    "cache_wrong": Cause(
        "the cache of decoder self-attention forgets or misplaces a position", "Compare what step t attends to: 0 … t."
    ),
    "source_cache_wrong": Cause(
        "steps see another source than training does", "Compare the cached keys, values and keep."
    ),
    "cache_reorder_wrong": Cause(
        "hypotheses that change places take over another's past", "Reorder keys and values of all layers."
    ),
    "modes_differ": Cause(
        "train() or gradients change more than dropout", "Look for what else asks self.training or requires_grad."
    ),
    "precision_fragile": Cause("half precision changes the results much", "Set training.precision: fp32."),
    "cannot_run": Cause("PyTorch cannot compute the model", "Read the message: it names shapes, types or indices."),
    # Signals.
    "zero_gain_frozen": Cause(
        "a gain or last matrix is 0 and frozen: its sublayer is shut off for good", "Let it be trained."
    ),
    "zero_gain": Cause(
        "a gain or last matrix is still 0 after training: its sublayer is shut off", "Train on; see that it is trained."
    ),
    "gate_stays_shut": Cause(
        "a sublayer's gain or last matrix starts at 0 and no gradient will ever open it",
        "Start it elsewhere, or look what makes the sublayer's inner values 0.",
    ),
    "frozen": Cause("weights are frozen", "Set requires_grad."),
    "not_in_optimizer": Cause("the optimiser does not know some weights", "Build it from all of model.parameters()."),
    "no_gradient": Cause(
        "weights get no gradient: nothing depends on them", "Look for detach(), no_grad(), or a part not called."
    ),
    "gradient_not_finite": Cause(
        "the gradient is NaN or infinite", "Look for 0/0, log 0, overflow; try training.precision: fp32."
    ),
    "accumulation_wrong": Cause(
        "the gradient of several micro-batches is not their mean over target tokens",
        "Add up all of them, and divide once by all their target tokens.",
    ),
    "sublayer_dead": Cause("a sublayer gives nothing", "Look at its weights, and whether it is called."),
    "activations_explode": Cause("activations grow from layer to layer", "Look at norms and first values."),
    "activations_vanish": Cause("activations fade from layer to layer", "Look at norms and first values."),
    "gradients_uneven": Cause(
        "some layers learn a thousand times slower", "Use model.norm_position: pre, or a longer warm-up."
    ),
    "heads_collapsed": Cause(
        "nearly all heads stare at one place", "Look at the size of queries and keys, and at 1 / sqrt(d_k)."
    ),
    "heads_uniform": Cause(
        "after training, heads look everywhere alike", "Train longer; is the learning rate too high or too low?"
    ),
    # Learning.
    "weights_untrained": Cause(
        "this model knows no more than a fresh one", "Are these the right weights? Has training blown up?"
    ),
    "first_token_cold": Cause(
        "all but the first token is learnt: the model goes on from words, and does not read the source",
        "Look at the cross-attention and at the gradient that reaches the encoder.",
    ),
    "time_is_up": Cause(
        "the model is learning them, but too slowly for the time that this check has",
        "Nothing need be wrong: diagnose on a faster machine, or with fewer layers.",
    ),
    "cannot_learn": Cause("the model cannot even learn twenty pairs by heart", "Look for what was suspicious above."),
    "decoding_differs": Cause(
        "the loss is nearly 0, and yet decoding gives something else",
        "Compare what decoding feeds (BOS, positions, cache, EOS).",
    ),
    "learning_rate_high": Cause(
        "the learning rate is too high: training diverges",
        "Lower training.learning_rate (_scale) ten times, or warm up longer.",
    ),
    "learning_rate_low": Cause(
        "the learning rate is too low: nothing is learnt",
        "Raise training.learning_rate or learning_rate_scale ten times.",
    ),
    "schedule_flat": Cause(
        "the learning rate begins at its height: there is no warm-up", "Compare training/schedule.py with paper eq. 3."
    ),
    "smoothing_high": Cause(
        "so much smoothing teaches the model to be undecided", "Set training.label_smoothing near 0.1."
    ),
    "rate_ignored": Cause(
        "updates are not made with the schedule's learning rate", "Set it in all of the optimiser's groups."
    ),
    "gradient_kept": Cause(
        "gradients of an update are still there in the next one", "Call zero_grad() once in each update."
    ),
    "not_clipped": Cause(
        "gradients are not clipped as training.clip_norm says", "Clip once, before the optimiser's step."
    ),
    "clip_norm_low": Cause("every gradient is crushed by clipping", "Set training.clip_norm near 1, or 0 for none."),
}
