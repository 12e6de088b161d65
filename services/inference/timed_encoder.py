"""Wrappers of encoders that record the duration of each call as the stage `encoder`."""

from __future__ import annotations

from collections.abc import Sequence

from detector.encoders.embedder import Embedder, SentenceEncoder, Vectors
from servicekit import stage


class TimedEmbedder:
    """Embedder that returns the vectors of `inner` and measures the time."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name = inner.name
        self.dimension = inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors that `inner` computes for the texts, shape (len(texts), dimension)."""
        with stage("encoder"):
            return self._inner.embed(texts)


class TimedEncoder(TimedEmbedder):
    """Sentence encoder that returns the vectors of `inner` and measures the time, also for its early layers."""

    def __init__(self, inner: SentenceEncoder) -> None:
        super().__init__(inner)
        self.early = TimedEmbedder(inner.early) if inner.early else None
