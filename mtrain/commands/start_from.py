"""Training that starts from the model of another run."""

from dataclasses import asdict
from pathlib import Path

from mtrain.config.schema import ModelConfig
from mtrain.console import say
from mtrain.corpus.sources import SIDES
from mtrain.errors import BundleError, ConfigError, PreparedDataError
from mtrain.model.bundle import load_bundle
from mtrain.model.transformer import Transformer
from mtrain.model.weights import named_weights, restore_weights
from mtrain.tokenizer import Tokenizers

# Settings of the model that leave its shape and its meaning as they are.
_FREE = {
    "attention",
    "dropout",
    "embedding_dropout",
    "residual_dropout",
    "feed_forward_dropout",
    "attention_dropout",
    "initialization",
}


def start_from(run: str, model: Transformer, config: ModelConfig, tokenizers: Tokenizers) -> None:
    """Give `model` the weights of a run that has ended.

    Raises: ConfigError where its shape is another one; PreparedDataError where the data are in other pieces.
    """
    bundle = load_bundle(Path(run) / "model")
    if any(tokenizers[side].all_pieces() != bundle.tokenizers[side].all_pieces() for side in SIDES):
        raise PreparedDataError(
            f"training.start_from: {run} has another vocabulary than the prepared data. Run `mtrain prepare` with the "
            "same --config and --set, into a corpus.folder of its own, to have them in its pieces"
        )
    theirs, ours = asdict(bundle.model_config), asdict(config)
    cures = [f"model.{key}={theirs[key]}" for key in theirs if key not in _FREE and theirs[key] != ours[key]]
    if cures:
        raise ConfigError(f"training.start_from: {run} has a model of another shape; set {', '.join(cures)}")
    restore_weights(model, named_weights(bundle.model), run, BundleError)
    say(f"starting from the model of {run}")
