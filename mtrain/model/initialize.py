"""The first value of every parameter, decided in one place."""

from torch import nn

from mtrain.model.attention import MultiHeadAttention
from mtrain.model.transformer import Transformer


def initialize(model: Transformer) -> None:
    """Draw the weights from PyTorch's global generator: Xavier for matrices, d_model^-0.5 for embeddings.

    Embeddings of that size have variance 1 after the sqrt(d_model) scale, and give logits of variance 1 where they
    serve as the output layer, so that training starts near ln V. Source: Glorot and Bengio 2010; tensor2tensor.
    """
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=model.d_model**-0.5)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            # Two projections that share a matrix only for speed are drawn as what they are.
            for weight_DD in module.key_value.weight.chunk(2):
                nn.init.xavier_uniform_(weight_DD)
