"""Every setting, once: its type, default, unit, choices and one sentence of explanation.

A section of the YAML is a frozen dataclass here; its name is also the name of the folder that obeys it.
`option(default, "sentence")` keeps the sentence beside the default, so that help, `base.yaml` and tests can read it.
"""

from dataclasses import dataclass, field
from typing import Any, Literal


def option(default: Any, sentence: str) -> Any:
    """Declare one setting: what it is when nobody says anything, and what it means."""
    return field(default=default, metadata={"help": sentence})


@dataclass(frozen=True)
class RunConfig:
    """One run: where it lives and what it runs on."""

    folder: str = option("", "Folder of everything this run makes; empty: runs/<config name>.")
    seed: int = option(1, "Seed of the initial weights, dropout, batch order and splits.")
    device: Literal["auto", "cpu", "cuda"] = option("auto", "Where to compute; auto: cuda where there is one.")
    threads: int = option(0, "CPU threads; 0: all cores this process may use.")


@dataclass(frozen=True)
class OneCorpus:
    """One of several corpora that make a split: an entry of corpus.train, dev or test."""

    files: tuple[str, ...] = option((), "As corpus.train names them.")
    name: str = option("", "What reports call it; empty: its files.")
    weight: float = option(1.0, "How often an epoch of training sees each of its pairs; 0.5: half of them, drawn afresh each epoch.")
    tag: str = option("", "Put before its sources as a symbol of its own, as `mtrain translate --tag` does; empty: none.")
    settings: dict[str, Any] = field(default_factory=dict, metadata={"help": "Settings of corpus that are others here."})

    @property
    def title(self) -> str:
        """What people are told it is called."""
        return self.name or ", ".join(self.files)

    def as_written(self) -> dict[str, Any]:
        """Return what one writes into the YAML for it."""
        said = {"name": self.name, "weight": self.weight, "tag": self.tag}
        defaults = OneCorpus(self.files)
        told = {key: value for key, value in said.items() if value != getattr(defaults, key)}
        return {"files": list(self.files), **told, **self.settings}


# The settings of corpus that are one for all corpora together.
FOR_ALL_CORPORA = {"folder", "train", "dev", "test", "dev_pairs", "test_pairs", "split_by", "near_overlap"} | {
    f"{side}_{what}" for side in ("source", "target") for what in ("width", "quotes", "dashes", "script")
}


@dataclass(frozen=True)
class CorpusConfig:
    """Raw parallel text in, clean and split sentence pairs out."""

    folder: str = option("", "Folder of the prepared data, which several runs can share; empty: data/prepared/<config name>.")
    root: str = option(".", "Folder that the paths below start from; looked for here, then among the shipped data.")
    source_language: str = option("zh", "Language to translate from (ISO code; lzh is classical Chinese).")
    target_language: str = option("en", "Language to translate into; it also chooses the BLEU tokenizer.")
    train: tuple[str | OneCorpus, ...] = option((), "Two aligned texts (a third: the group of each pair), or .tsv, .csv, .jsonl, .parquet, .tmx files, or hub:NAME[:CONFIG][:SPLIT]; globs and folders of these; or several corpora.")
    dev: tuple[str | OneCorpus, ...] = option((), "As train; empty: dev_pairs are taken out of train.")
    test: tuple[str | OneCorpus, ...] = option((), "As train; empty: test_pairs are taken out of train.")
    source_column: str = option("", "Column, JSON key or TSV position (from 1) of the source; empty: the language code, or column 1.")
    target_column: str = option("", "Column, JSON key or TSV position (from 1) of the target; empty: the language code, or column 2.")
    group_column: str = option("", "Column, JSON key or TSV position (from 1) of what a pair belongs to, such as its book; empty: none.")
    streaming: bool = option(False, "Read data sets of the hub as they come, without keeping them on the disk.")
    dev_pairs: int = option(2000, "Pairs taken out of train for dev, where dev is not given.")
    test_pairs: int = option(2000, "Pairs taken out of train for test, where test is not given.")
    split_by: Literal["line", "group"] = option("line", "What is taken out of train for dev and test: single pairs, or whole groups until there are about as many.")
    near_overlap: float = option(0.5, "Training pairs with a side that has this share of the n-grams of a dev or test sentence are dropped, where that has 10 Han characters or 29 letters; 0: only those that have one as it is.")
    source_width: Literal["auto", "keep", "full", "half"] = option("auto", "Letters, digits and marks of the source: full-width, half-width or as they are; auto: keep for Chinese, Japanese and Korean, half for others.")
    target_width: Literal["auto", "keep", "full", "half"] = option("auto", "The same of the target; what is to be translated is changed likewise, references never are.")
    source_quotes: Literal["auto", "keep", "full", "half"] = option("auto", "Quotation marks of the source: full (“ ”), half (straight ones) or as they are; auto: as source_width.")
    target_quotes: Literal["auto", "keep", "full", "half"] = option("auto", "The same of the target.")
    source_dashes: Literal["auto", "keep", "full", "half"] = option("auto", "Dashes of the source: full (——), half (hyphens) or as they are; auto: as source_width.")
    target_dashes: Literal["auto", "keep", "full", "half"] = option("auto", "The same of the target.")
    source_script: Literal["keep", "simplified", "traditional"] = option("keep", "Characters that a Chinese source is turned into, with OpenCC.")
    target_script: Literal["keep", "simplified", "traditional"] = option("keep", "The same of the target; references stay as they are.")
    drop_empty: bool = option(True, "Drop training pairs with an empty side.")
    drop_control: bool = option(True, "Drop training pairs with control characters or characters of private use.")
    drop_replacement: bool = option(True, "Drop training pairs in which a character was lost: with U+FFFD or □.")
    drop_mojibake: bool = option(True, "Drop training pairs with text that was read in a wrong encoding (é as Ã©, 中文 as 涓枃).")
    drop_markup: bool = option(True, "Drop training pairs with tags, entities, marks of wikis and forums, or addresses of the web.")
    max_units: int = option(256, "Longest side of a training pair; one unit is a Han character or a word. 0: no limit.")
    min_units: int = option(1, "Shortest side of a training pair, in the same units.")
    max_length_ratio: float = option(6.0, "Largest ratio of the two sides' units, in pairs with a side of more than 10; 0: no limit.")
    min_script_share: float = option(0.5, "Least share of a side's words and Han characters in the script of its language; 0: any script.")
    drop_identical: bool = option(False, "Drop training pairs whose two sides are the same.")
    drop_untranslated: bool = option(True, "Drop training pairs whose target stands in the source by two thirds; never asked between Chinese languages.")
    drop_number_mismatch: bool = option(False, "Drop training pairs each side of which has a number in digits that the other has not.")
    drop_repetitive: bool = option(True, "Drop training pairs with a side that says one thing over and over.")
    drop_duplicates: bool = option(True, "Keep only the first of equal training pairs.")
    drop_duplicate_sources: bool = option(False, "Keep only the first of training pairs with the same source.")
    drop_duplicate_targets: bool = option(False, "Keep only the first of training pairs with the same target.")


@dataclass(frozen=True)
class TokenizerConfig:
    """SentencePiece BPE of both languages together, or of each by itself."""

    joint: bool = option(True, "One vocabulary that both sides share; false: one for each, with model.tied decoder or none.")
    vocabulary_size: int = option(8000, "Pieces in the vocabulary, special symbols and bytes included.")
    target_vocabulary_size: int = option(0, "Pieces in the target's vocabulary, where it has one of its own; 0: as vocabulary_size.")
    character_coverage: float = option(0.9995, "Share of the characters that get pieces of their own; the others are spelt in bytes.")
    split_digits: bool = option(True, "Cut numbers into single digits, so that unseen numbers can be built.")
    take_from: str = option("", "Run folder whose vocabulary is taken over instead of learning one; empty: training.start_from.")
    train_lines: int = option(1_000_000, "Lines, of both sides together, that the vocabulary is learnt from, or the two are.")


@dataclass(frozen=True)
class BatchesConfig:
    """Sentence pairs of like length in, padded tensors out."""

    max_tokens_per_batch: int = option(4096, "Rows times the longest side of a micro-batch, padding included.")
    max_tokens_per_sentence: int = option(256, "Training pairs with a longer side are left out, and counted.")
    bpe_dropout: float = option(0.0, "Probability of skipping a BPE merge, drawn afresh each epoch (Provilkov et al. 2020).")
    strip_punctuation: float = option(0.0, "Share of the training sources that lose their punctuation, drawn afresh each epoch.")


@dataclass(frozen=True)
class ModelConfig:
    """The encoder-decoder Transformer of "Attention Is All You Need"."""

    d_model: int = option(512, "Width of the residual stream (the paper's d_model).")
    heads: int = option(8, "Attention heads.")
    head_width: int = option(0, "Width of one head; 0: d_model / heads, as in the paper.")
    d_ff: int = option(2048, "Inner width of the feed-forward sublayer (the paper's d_ff); swiglu takes two thirds of it.")
    encoder_layers: int = option(6, "Layers of the encoder.")
    decoder_layers: int = option(6, "Layers of the decoder.")
    positions: Literal["sinusoidal", "learned", "rotary", "alibi", "relative", "none"] = option("sinusoidal", "How the model learns where a token stands; the paper's are sinusoidal.")
    max_positions: int = option(1024, "Positions that have a vector of their own where these are learned.")
    norm_position: Literal["pre", "post"] = option("pre", "Norm before each sublayer (pre) or after the sum, as in the paper (post).")
    norm: Literal["layernorm", "rmsnorm"] = option("layernorm", "The paper's layer norm, or the leaner root mean square.")
    activation: Literal["relu", "gelu", "swiglu"] = option("relu", "Inner function of the feed-forward sublayer; the paper's is relu.")
    attention: Literal["fast", "reference"] = option("fast", "How attention is computed: as fast as is known here, or the formula step by step.")
    tied: Literal["three_way", "decoder", "none"] = option("three_way", "Share one matrix between source, target and output (paper section 3.4), between the latter two, or none.")
    scale_embeddings: bool = option(True, "Multiply embeddings by sqrt(d_model) (paper section 3.4).")
    output_bias: bool = option(False, "Give the output layer a bias for each piece.")
    dropout: float = option(0.1, "Dropout on embeddings, on each sublayer's output and inside the feed-forward, where no line below says otherwise.")
    embedding_dropout: float = option(-1.0, "Dropout on embeddings with their positions (paper section 5.4); -1: as dropout.")
    residual_dropout: float = option(-1.0, "Dropout on each sublayer's output (paper section 5.4); -1: as dropout.")
    feed_forward_dropout: float = option(-1.0, "Dropout inside the feed-forward sublayer; -1: as dropout.")
    attention_dropout: float = option(0.0, "Dropout on attention weights.")
    initialization: Literal["xavier", "normal", "tfixup_like"] = option("xavier", "First values of the weights: Xavier, N(0, 0.02), or Xavier with sublayers that start at 0.")


@dataclass(frozen=True)
class TrainingConfig:
    """Examples in, a better model out."""

    start_from: str = option("", "Run folder whose model, with its vocabulary, training starts from; empty: from random weights.")
    max_updates: int = option(100_000, "Stop after so many optimiser steps; 0: no limit.")
    max_epochs: int = option(0, "Stop after so many passes over the training data; 0: no limit.")
    max_minutes: float = option(0.0, "Stop after about so many minutes, validations included; their number of updates is fixed at the first validation, or, where that comes late, after a tenth of them. 0: no limit.")
    patience: int = option(0, "Stop after so many validations in a row without a better dev loss; 0: never.")
    guard: str = option("", "Name of the corpus in corpus.dev that must not be forgotten while another is learnt; empty: none.")
    guard_tolerance: float = option(0.05, "Rise of the guarded corpus' dev loss, in nats per token above that before the first update, at which training stops.")
    accumulate: int = option(1, "Micro-batches that make one update.")
    schedule: Literal["noam", "inverse_sqrt", "cosine", "linear", "constant"] = option("noam", "How the learning rate goes on after its warm-up; cosine and linear fall to zero at the end of the run.")
    learning_rate: float = option(5e-4, "Peak learning rate of every schedule but noam, whose peak is 1 / sqrt(d_model * warmup_updates).")
    learning_rate_scale: float = option(1.0, "Factor on the learning rate of any schedule.")
    warmup_updates: int = option(4000, "Updates over which the learning rate rises.")
    cooldown: float = option(0.0, "Share of the run, at its end, over which the learning rate falls to zero; needs max_updates or max_minutes, and where these are changed later, it jumps.")
    optimizer: Literal["adam", "adamw", "muon"] = option("adam", "Adam, Adam with decoupled weight decay (Loshchilov & Hutter 2019), or Muon (Jordan et al. 2024) for the layers' matrices with AdamW for the rest.")
    weight_decay: float = option(0.0, "Share, times the learning rate, by which AdamW and Muon shrink matrices at each update; never biases and norms.")
    adam_beta1: float = option(0.9, "Adam's decay of the gradient's mean.")
    adam_beta2: float = option(0.98, "Adam's decay of the gradient's square.")
    adam_epsilon: float = option(1e-9, "Adam's guard against division by zero.")
    label_smoothing: float = option(0.1, "Probability moved away from the reference token (paper section 5.4).")
    smoothing_over: Literal["others", "all"] = option("others", "Where it goes: to all pieces but the reference, as in the paper's code, or to all V, as in PyTorch.")
    r_drop: float = option(0.0, "Weight of R-Drop, which pulls two passes with different dropout together (Liang et al. 2021); 0: none. 5 is the paper's.")
    clip_norm: float = option(1.0, "Largest global norm of the gradient; 0: no clipping.")
    precision: Literal["auto", "fp32", "bf16"] = option("auto", "Arithmetic of matrix products; auto: bf16 where the hardware has it.")
    compile: bool = option(False, "Let torch.compile make kernels of its own for the layers.")
    distributed: Literal["ddp", "fsdp"] = option("ddp", "What torchrun's processes hold: each the whole model (ddp), or each a share of its weights (fsdp).")
    log_every_updates: int = option(50, "Updates between two lines of the journal.")
    tensorboard: bool = option(False, "Write the journal's numbers for TensorBoard as well, into <run.folder>/tensorboard.")
    validate_every_updates: int = option(1000, "Updates between two validations on dev.")
    validate_pairs: int = option(500, "Dev pairs, spread evenly, that are translated greedily for dev BLEU; 0: none.")
    tune_pairs: int = option(500, "Dev pairs, spread evenly, that are translated at the end to find the best length penalty, where decoding has none; 0: none.")
    save_every_updates: int = option(1000, "Updates between two checkpoints.")
    save_every_minutes: float = option(10.0, "Minutes without a checkpoint after which one is written all the same; 0: none.")
    keep_checkpoints: int = option(5, "Latest checkpoints kept; the best one is kept besides.")
    average_checkpoints: int = option(5, "Latest checkpoints averaged at the end; below 2: none.")
    average_decay: float = option(0.0, "Decay of a moving average of the weights over all updates, kept for translating where it is better on dev; 0: none.")


@dataclass(frozen=True)
class DecodingConfig:
    """A model and text in, translations out."""

    beam: int = option(4, "Hypotheses kept at each step; 1 is greedy search.")
    method: Literal["beam", "sampling"] = option("beam", "Search for the likeliest translation, or draw one at random.")
    length_normalization: Literal["gnmt", "average"] = option("gnmt", "What log-probabilities are divided by: ((5 + length) / 6)^length_penalty (Wu et al. 2016, eq. 14), or length^length_penalty.")
    length_penalty: float = option(-1.0, "Exponent of the length's part; 0: sums of log-probabilities are compared as they are; -1: what fit finds best on dev, or 0.6.")
    coverage_penalty: float = option(0.0, "Weight of the penalty for parts of the source that got little attention (Wu et al. 2016, eq. 14); 0: none.")
    min_length: int = option(0, "Fewest tokens of a translation, its end included.")
    min_length_factor: float = option(0.0, "Fewest tokens of a translation, as a share of the source's.")
    max_length_factor: float = option(2.0, "Longest translation: this times the source's tokens, plus max_length_extra.")
    max_length_extra: int = option(50, "Tokens that any translation may have besides.")
    no_repeat_ngram: int = option(0, "No sequence of so many tokens comes twice in a translation; 0: no such rule.")
    repetition_penalty: float = option(1.0, "Factor on the log-probability of tokens that the translation already has (Keskar et al. 2019); 1: none.")
    temperature: float = option(1.0, "Sampling: divide log-probabilities by this; below 1 the likely becomes likelier.")
    top_k: int = option(0, "Sampling: draw from the so many likeliest tokens only; 0: from all.")
    top_p: float = option(1.0, "Sampling: draw from the likeliest tokens that together have this probability (Holtzman et al. 2020).")
    seed: int = option(1, "Sampling: another seed draws other translations.")
    max_source_tokens: int = option(256, "Longer inputs are cut at sentence ends, translated in parts and joined.")
    max_tokens_per_batch: int = option(4096, "Sentences times beam times the longest source, padding included.")


@dataclass(frozen=True)
class EvaluationConfig:
    """Translations and references in, numbers with a signature out."""

    bleu_tokenizer: Literal["auto", "13a", "zh", "ja-mecab", "ko-mecab", "intl", "char", "none"] = option(
        "auto", "sacreBLEU's tokenizer; auto: by target language (zh for Chinese, 13a for others)."
    )


@dataclass(frozen=True)
class Config:
    """The whole of one run's settings; only the commands see all of it."""

    run: RunConfig = field(default_factory=RunConfig)
    corpus: CorpusConfig = field(default_factory=CorpusConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    batches: BatchesConfig = field(default_factory=BatchesConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
