"""Sentence encoder all-MiniLM-L6-v2, executed by ONNX Runtime on a single thread.

Unlike WordLlama, which only sums word vectors, this model reads whole sentences and can tell "reset my password" from
"reset my router". It takes about 2 ms per text, so only a few texts are encoded. Its weights are 8-bit, so the last
digits of a vector may differ between processor types.

Issues group turns by its vectors. The detector reads exchanges with a trained part of it (see `exchange`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Final

import numpy as np

from detector.encoders.embedder import Vectors, encodable, unit_rows
from detector.encoders.exchange import ExchangeReader, session
from detector.encoders.minilm_files import ModelFiles

#: Maximum number of word pieces of a text.
PIECES: Final = 64
#: Number of components of a layer's output for one word piece.
WIDTH: Final = 384


class MiniLm:
    """Encoder whose 384-dimensional vectors are the mean of the model's output over the word pieces of a text.

    It takes 80 MB of memory.
    """

    name = "all-minilm-l6-v2-q"
    dimension = WIDTH

    def __init__(self, files: ModelFiles) -> None:
        """Create the encoder. The model is loaded when it is needed.

        Raises:
            ImportError: The package onnxruntime or tokenizers is missing.
        """
        self._tokenizers: Any = import_module("tokenizers")
        import_module("onnxruntime")
        self._files = files

    @cached_property
    def exchanges(self) -> ExchangeReader:
        """Reader of exchanges for the detector. It uses the word embeddings of this model."""
        return ExchangeReader(self._files)

    @cached_property
    def _session(self) -> Any:
        return session(self._files.model)

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizer = self._tokenizers.Tokenizer.from_file(str(self._files.tokenizer))
        tokenizer.no_padding()
        tokenizer.enable_truncation(PIECES)
        return tokenizer

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the texts, as described for `Embedder.embed`.

        Texts are not batched. The 8-bit scaling would otherwise make a text's vector depend on the other texts in the
        batch.
        """
        out: Vectors = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for row, text in enumerate(texts):
            if text.strip():
                out[row] = self._mean(text)
        return unit_rows(out)

    def _mean(self, text: str) -> Vectors:
        ids = np.array([self._tokenizer.encode(encodable(text)).ids], dtype=np.int64)
        fed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        [hidden] = self._session.run(None, fed)
        mean: Vectors = hidden[0].mean(axis=0)
        return mean
