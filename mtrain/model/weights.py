"""A model's weights as named tensors: a matrix that serves in several places stands once."""

from torch import Tensor

from mtrain.errors import BundleError
from mtrain.model.transformer import Transformer


def named_weights(model: Transformer) -> dict[str, Tensor]:
    """Return every parameter once, under its first name."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def restore_weights(model: Transformer, weights: dict[str, Tensor], where: str) -> None:
    """Copy `weights` into the model. Raises: BundleError where names or shapes differ; `where` is named in it."""
    own = named_weights(model)
    wrong = sorted(own.keys() ^ weights.keys()) or [name for name in own if own[name].shape != weights[name].shape]
    if wrong:
        raise BundleError(f"{where}: its weights are not those of this model; {len(wrong)} differ, such as {wrong[0]}.")
    for name, parameter in own.items():
        parameter.copy_(weights[name])
