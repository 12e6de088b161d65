"""all-MiniLM-L6-v2, a small sentence encoder, run by ONNX Runtime on one thread.

It reads a sentence as a whole where WordLlama adds words up, so that "reset my password" and "reset my router" part. It
takes about a millisecond a text, so it is asked about few. Its weights have eight bits: another kind of processor may
give other last digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from detector.encoders.embedder import Vectors, encodable, unit_rows
from detector.encoders.minilm_files import ModelFiles

#: Word pieces of a text that are read; a request that is longer has said what it wants.
PIECES: Final = 64


class MiniLm:
    """384-dimensional vectors: the mean over a text's word pieces. Takes 80 MB."""

    name = "all-minilm-l6-v2-q"
    dimension = 384

    def __init__(self, files: ModelFiles) -> None:
        """Raises ImportError where the packages onnxruntime and tokenizers are missing."""
        onnx: Any = import_module("onnxruntime")
        tokenizers: Any = import_module("tokenizers")
        options = onnx.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # it would keep the memory of the longest text for good
        self._session: Any = onnx.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(files.tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(PIECES)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`.

        One text a run: the model scales its eight bits by what is in the run, so a text would read differently in
        other company.
        """
        out: Vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            if text.strip():
                out[row] = self._read(text)
        return unit_rows(out)

    def _read(self, text: str) -> Vectors:
        """Shape (dimension,)."""
        ids = np.array([self._tokenizer.encode(encodable(text)).ids], dtype=np.int64)
        fed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        [hidden] = self._session.run(None, fed)
        mean: Vectors = hidden[0].mean(axis=0)
        return mean
