"""Adapter for models of the sentence-transformers package."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from detector.encoders.embedder import Vectors, encodable, unit_rows


class SentenceTransformerEmbedder:
    """Encoder that uses a sentence-transformers model. Missing weights are downloaded."""

    exchanges = None

    def __init__(self, model: str) -> None:
        """Load a model by its name or from a folder.

        Raises:
            ImportError: The package sentence-transformers is missing.
        """
        package: Any = import_module("sentence_transformers")
        self._model: Any = package.SentenceTransformer(model, device="cpu")
        self.name = model
        self.dimension = len(self._model.encode("a", show_progress_bar=False))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the texts, as described for `Embedder.embed`.

        The texts are encoded one at a time, so that a vector does not depend on the other texts.
        """
        out: Vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            if text.strip():
                out[row] = self._model.encode(encodable(text), show_progress_bar=False)
        return unit_rows(out)
