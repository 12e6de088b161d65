"""Adapter for any model of the package sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from detector.encoders.embedder import Vectors, encodable, unit_rows


class SentenceTransformerEmbedder:
    """Encoder for a sentence-transformers model. Weights that are not on this machine are downloaded."""

    early = None

    def __init__(self, model: str) -> None:
        """Load `model`, a name or a folder. Raises ImportError if the package sentence-transformers is missing."""
        package: Any = import_module("sentence_transformers")
        self._model: Any = package.SentenceTransformer(model, device="cpu")
        self.name = model
        self.dimension = len(self._model.encode("a", show_progress_bar=False))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the texts, shape (len(texts), dimension); see `Embedder.embed`.

        Texts are encoded one by one, so that a vector does not depend on other texts.
        """
        out: Vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            if text.strip():
                out[row] = self._model.encode(encodable(text), show_progress_bar=False)
        return unit_rows(out)
