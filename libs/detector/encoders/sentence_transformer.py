"""Sentence encoder for any sentence-transformers model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from detector.encoders.embedder import Vectors, encodable, unit_rows


class SentenceTransformerEmbedder:
    """Encoder that needs the package, and either the model's weights or a network to download them."""

    early = None

    def __init__(self, model: str) -> None:
        """Load `model`, a name or a folder. Raises ImportError if the package sentence-transformers is missing."""
        package: Any = import_module("sentence_transformers")
        self._model: Any = package.SentenceTransformer(model, device="cpu")
        self.name = model
        self.dimension = len(self._model.encode("a", show_progress_bar=False))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`. Each text is a run of its own, so that a vector does not depend on other texts."""
        out: Vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            if text.strip():
                out[row] = self._model.encode(encodable(text), show_progress_bar=False)
        return unit_rows(out)
