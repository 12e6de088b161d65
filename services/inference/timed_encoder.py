"""Sentence encoder that measures its calls as the stage `encoder`."""

from __future__ import annotations

from collections.abc import Sequence

from detector.encoders.embedder import Embedder, SentenceEncoder, Vectors
from servicekit import stage


class TimedEmbedder:
    """Embedder that returns `inner`'s vectors."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name = inner.name
        self.dimension = inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        with stage("encoder"):
            return self._inner.embed(texts)


class TimedEncoder(TimedEmbedder):
    """Sentence encoder that returns `inner`'s vectors, with `inner`'s early layers if it has them."""

    def __init__(self, inner: SentenceEncoder) -> None:
        super().__init__(inner)
        self.early = TimedEmbedder(inner.early) if inner.early else None
