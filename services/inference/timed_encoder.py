"""Encoder wrappers that measure the duration of each call as the stage `encoder`."""

from __future__ import annotations

from collections.abc import Sequence

from detector.encoders.embedder import Embedder, SentenceEncoder, Vectors
from servicekit import stage


class TimedEmbedder:
    """Embedder that delegates to another embedder and measures the time."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name = inner.name
        self.dimension = inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the embeddings of the texts as an array of shape (len(texts), dimension)."""
        with stage("encoder"):
            return self._inner.embed(texts)


class TimedEncoder(TimedEmbedder):
    """Sentence encoder that delegates to another encoder and measures the time, also of its early layers."""

    def __init__(self, inner: SentenceEncoder) -> None:
        super().__init__(inner)
        self.early = TimedEmbedder(inner.early) if inner.early else None
