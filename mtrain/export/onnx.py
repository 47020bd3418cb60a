"""ONNX: two graphs for any runtime. `encoder.onnx` reads sources, `decoder.onnx` says one more piece of translations.

    encoder   source                        (R, S) ids, EOS last, padded with 0; R rows
              → source_keys, source_values  (layers, R, heads, S, width)
    decoder   token                         (R, 1) the latest ids: BOS at first
              source, source_keys, source_values
              keys, values                  (layers, R, heads, T, width) of what was said before; T is 0 at first
              → log_probabilities           (R, V) of the next piece
              → new_keys, new_values        the same with this piece, for the next step

There are no masks to make. A beam search reorders keys and values along their R.
"""

import logging
import warnings
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from mtrain.batches.collate import collate_sources
from mtrain.config.schema import DecodingConfig
from mtrain.decoding.beam import Beam, beam_search
from mtrain.decoding.length import length_penalty
from mtrain.export.target import Runtime, Said, Target, output_bias, position_table
from mtrain.model.attention import MultiHeadAttention, plain_attention
from mtrain.model.bundle import Bundle
from mtrain.model.cache import GrowingKeyValues, LayerCache
from mtrain.model.positions import SinusoidalPositions
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import PAD, save_tokenizers

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

_PARTS = ("encoder", "decoder")
_ROWS = 20  # translated at once by the check


class _Encoder(nn.Module):
    """Sources to what each layer of the decoder looks at."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor) -> tuple[Tensor, Tensor]:
        memory_RSD = self.model.encode(source, source != PAD)
        attentions = self.model.decoder.cross_attentions
        keys_values = [attention.project_memory(memory_RSD) for attention in attentions]
        return torch.stack([key for key, _ in keys_values]), torch.stack([value for _, value in keys_values])


class _Given(GrowingKeyValues):
    """What was said before, handed in; one position joined to it makes new tensors."""

    def __init__(self, keys_RHTK: Tensor, values_RHTK: Tensor) -> None:
        self.length = keys_RHTK.size(2)
        self.keys_RHTK, self.values_RHTK = keys_RHTK, values_RHTK

    def append(self, k_RH1K: Tensor, v_RH1K: Tensor) -> tuple[Tensor, Tensor]:
        self.keys_RHTK = torch.cat((self.keys_RHTK, k_RH1K), dim=2)
        self.values_RHTK = torch.cat((self.values_RHTK, v_RH1K), dim=2)
        return self.keys_RHTK, self.values_RHTK


class _Decoder(nn.Module):
    """One step."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model
        self.never_V = nn.Buffer(output_bias(model))

    def forward(
        self, token: Tensor, source: Tensor, source_keys: Tensor, source_values: Tensor, keys: Tensor, values: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        model, keep_RS = self.model, source != PAD
        x_R1D = model.target_embedding(token, keys.size(3))
        pasts = [_Given(*past) for past in zip(keys, values, strict=True)]
        for layer, past, key, value in zip(model.decoder.stack, pasts, source_keys, source_values, strict=True):
            x_R1D = layer.step(x_R1D, LayerCache(past, key, value), keep_RS)
        hidden_RD = model.decoder.final_norm(x_R1D)[:, 0]
        log_probabilities_RV = (hidden_RD @ model.output.weight.T + self.never_V).float().log_softmax(-1)
        news = [torch.stack([getattr(past, name) for past in pasts]) for name in ("keys_RHTK", "values_RHTK")]
        return log_probabilities_RV, news[0], news[1]


class _Table(nn.Module):
    """Adds the first positions' vectors; a longer sentence is an error."""

    def __init__(self, table_TD: Tensor) -> None:
        super().__init__()
        self.table_TD = nn.Buffer(table_TD)

    def forward(self, x_BTD: Tensor, first: int = 0) -> Tensor:
        return x_BTD + self.table_TD[torch.arange(first, first + x_BTD.size(1))]


def _refuse(_: Bundle) -> None:
    """Everything that PyTorch computes has a graph."""


def _write(bundle: Bundle, _: DecodingConfig, quantization: str, folder: Path) -> None:
    model = _exportable(bundle.model)
    if quantization == "float16":
        model.half()
    layers, R, S, T = len(model.decoder.stack), 2, 3, 4
    attention = model.decoder.cross_attentions[0]
    heads, width = attention.heads, attention.query.out_features // attention.heads
    source, token = torch.full((R, S), PAD + 1), torch.full((R, 1), PAD + 1)
    read, said = (model.output.weight.new_zeros(layers, R, heads, length, width) for length in (S, T))
    rows, source_length, said_length = (torch.export.Dim(name) for name in ("R", "S", "T"))
    at_source, at_said = {1: rows, 3: source_length}, {1: rows, 3: said_length}
    inputs = {"source": (source, {0: rows, 1: source_length})}
    _export(_Encoder(model), inputs, ("source_keys", "source_values"), folder / "encoder.onnx")
    inputs = {"token": (token, {0: rows}), **inputs, "source_keys": (read, at_source)}
    inputs |= {"source_values": (read, at_source), "keys": (said, at_said), "values": (said, at_said)}
    _export(_Decoder(model), inputs, ("log_probabilities", "new_keys", "new_values"), folder / "decoder.onnx")
    if quantization == "int8":
        _quantise(folder)
    save_tokenizers(bundle.tokenizers, folder)


def _exportable(model: Transformer) -> Transformer:
    """Return a copy whose graph holds for any length: no kernel chosen by length, no table that grows."""
    copy = deepcopy(model).requires_grad_(False)
    for module in copy.modules():
        if isinstance(module, MultiHeadAttention):
            module.kernel = plain_attention
    for embedding in (copy.source_embedding, copy.target_embedding):
        if isinstance(embedding.positions, SinusoidalPositions):
            embedding.positions = _Table(position_table(embedding))
    return copy


def _export(module: nn.Module, inputs: dict[str, tuple[Tensor, Any]], outputs: Sequence[str], file: Path) -> None:
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it tells of other packages that it could do without
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns itself of its own
        torch.onnx.export(
            module.eval(),
            tuple(example.clone() for example, _ in inputs.values()),  # one tensor given twice would be one input
            file,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_shapes={name: shape for name, (_, shape) in inputs.items()},
            external_data=False,
            verbose=False,
        )


def _quantise(folder: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415  optional

    for part in _PARTS:
        whole = (folder / f"{part}.onnx").rename(folder / f"{part}.whole.onnx")
        quantize_dynamic(whole, folder / f"{part}.onnx", weight_type=QuantType.QInt8)
        whole.unlink()


class _Steps:
    """The step protocol of mtrain's search, by ONNX Runtime."""

    def __init__(self, encoder: "InferenceSession", decoder: "InferenceSession", source_RS: Tensor) -> None:
        self._decoder = decoder
        self._source = source_RS.numpy()
        self._read = encoder.run(None, {"source": self._source})
        layers, _, heads, _, width = self._read[0].shape
        self._said = [np.zeros((layers, len(self._source), heads, 0, width), self._read[0].dtype)] * 2

    def log_probabilities(self, tokens_BN: Tensor) -> Tensor:
        """Each hypothesis is a row of its own."""
        self._hypotheses = tokens_BN.size(1)
        names = ("source_keys", "source_values", "keys", "values")
        inputs = dict(zip(names, (*self._read, *self._said), strict=True))
        found, *self._said = self._decoder.run(
            None, {"token": tokens_BN.flatten()[:, None].numpy(), "source": self._source, **inputs}
        )
        return torch.from_numpy(found).view(*tokens_BN.shape, -1)

    def go_on(self, sentences: Tensor, parents_BN: Tensor) -> None:
        """Reorder everything by rows."""
        rows = (sentences[:, None] * self._hypotheses + parents_BN).flatten().numpy()
        self._source = self._source[rows]
        self._read, self._said = ([array[:, rows] for array in pair] for pair in (self._read, self._said))

    def coverage_BN(self) -> Tensor:
        """Attention stays inside the graph; `check` searches without a coverage penalty, so nobody asks."""
        raise NotImplementedError


def _open(folder: Path, bundle: Bundle) -> Runtime:
    from onnxruntime import InferenceSession, SessionOptions  # noqa: PLC0415  optional

    options = SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    encoder, decoder = (InferenceSession(folder / f"{part}.onnx", options) for part in _PARTS)
    source, target = bundle.tokenizers["source"], bundle.tokenizers["target"]

    def translate(lines: Sequence[str], beam: int, longest: int) -> list[Said]:
        said: list[Said] = []
        for first in range(0, len(lines), _ROWS):
            ids = [source.encode(line) for line in lines[first : first + _ROWS]]
            steps = _Steps(encoder, decoder, collate_sources(ids).src_BS)
            longest_B = torch.full((len(ids),), longest + 1)
            for (best,) in beam_search(steps, longest_B, Beam(beam, length_penalty("average", 1.0))):
                said.append(Said(target.decode(best.tokens), best.score))
        return said

    return translate


TARGET = Target(
    title="ONNX Runtime",
    packages=("onnx", "onnxruntime", "onnxscript"),
    quantizations=("int8", "float16"),
    refuse=_refuse,
    write=_write,
    open=_open,
)
