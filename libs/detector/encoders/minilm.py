"""Sentence encoder all-MiniLM-L6-v2, executed by ONNX Runtime on a single thread.

Unlike WordLlama, which only sums word vectors, this model reads whole sentences and can tell "reset my password" from
"reset my router". It takes about 2 ms per text, so only a few texts are encoded. Its weights are 8-bit, so the last
digits of a vector may differ between processor types.

The six layers are split into two models of three layers each. Judging a message needs only the first model, comparing
requests needs both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from detector.encoders.embedder import Vectors, encodable, unit_rows
from detector.encoders.minilm_files import ModelFiles
from detector.encoders.onnx_part import part

#: Maximum number of word pieces of a text.
PIECES: Final = 64
#: Number of components of a layer's output for one word piece.
WIDTH: Final = 384

#: Names of the output tensors of the third and the last layer.
_EARLY: Final = "/encoder/layer.2/output/LayerNorm/Add_1_output_0"
_LAST: Final = "last_hidden_state"


class MiniLm:
    """Encoder whose 384-dimensional vectors are the mean of the model's output over the word pieces of a text.

    It takes 80 MB of memory.
    """

    name = "all-minilm-l6-v2-q"
    dimension = WIDTH

    def __init__(self, files: ModelFiles) -> None:
        """Load the model.

        Raises:
            ImportError: The package onnxruntime or tokenizers is missing.
        """
        tokenizers: Any = import_module("tokenizers")
        model = files.model.read_bytes()
        self._first: Any = _session(part(model, _EARLY))
        self._rest: Any = _session(part(model, _LAST, start=_EARLY))
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(files.tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(PIECES)
        self.early = EarlyLayers(self._layers)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the texts, as described for `Embedder.embed`."""
        return _vectors(texts, self.dimension, self._mean)

    def _mean(self, text: str) -> Vectors:
        early = self._layers(text)
        seen = np.ones((1, len(early)), dtype=np.int64)
        [hidden] = self._rest.run(None, {_EARLY: early[None], "attention_mask": seen})
        mean: Vectors = hidden[0].mean(axis=0)
        return mean

    def _layers(self, text: str) -> Vectors:
        """Return the output of the first three layers for a text, as an array of shape (word pieces, WIDTH)."""
        ids = np.array([self._tokenizer.encode(encodable(text)).ids], dtype=np.int64)
        fed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        [hidden] = self._first.run(None, fed)
        layers: Vectors = hidden[0]
        return layers


class EarlyLayers:
    """Encoder that runs only the first three layers of the model.

    Its 768-dimensional vectors combine the mean and the maximum of the third layer's output over the word pieces of a
    text.
    """

    name = "all-minilm-l6-v2-q-3-layers"
    dimension = 2 * WIDTH

    def __init__(self, layers: Callable[[str], Vectors]) -> None:
        """Create the encoder.

        Args:
            layers: Function that runs the first three layers on a text and returns an array of shape (word pieces,
                WIDTH).
        """
        self._layers = layers

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the texts, as described for `Embedder.embed`."""
        return _vectors(texts, self.dimension, self._pooled)

    def _pooled(self, text: str) -> Vectors:
        layers = self._layers(text)
        pooled: Vectors = unit_rows(np.stack((layers.mean(axis=0), layers.max(axis=0)))).ravel()
        return pooled


def _vectors(texts: Sequence[str], dimension: int, read: Callable[[str], Vectors]) -> Vectors:
    """Encode each text with `read` and return the vectors as an array of shape (len(texts), dimension).

    Texts are not batched. The 8-bit scaling would otherwise make a text's vector depend on the other texts in the
    batch.
    """
    out: Vectors = np.zeros((len(texts), dimension), dtype=np.float32)
    for row, text in enumerate(texts):
        if text.strip():
            out[row] = read(text)
    return unit_rows(out)


def _session(model: bytes) -> Any:
    onnx: Any = import_module("onnxruntime")
    options = onnx.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # otherwise it keeps the memory of the longest text
    session = onnx.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    session._model_bytes = None  # needed only to restart with other providers, and takes 20 MB
    return session
