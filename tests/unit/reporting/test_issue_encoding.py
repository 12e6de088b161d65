"""The cache of encoded texts: equal texts are encoded once, and the oldest are dropped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from detector.encoders.embedder import Vectors
from reporting.issues.encoding import CachingEncoder


class LengthEncoder:
    """Encoder of texts by their length, which records its calls."""

    name = "length"
    dimension = 1

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        return np.array([[len(text)] for text in texts], dtype=np.float32).reshape(len(texts), 1)


def test_equal_texts_are_encoded_once_and_in_order() -> None:
    inner = LengthEncoder()
    encoder = CachingEncoder(inner)
    assert encoder.embed(["a", "bb", "a"]).tolist() == [[1], [2], [1]]
    assert encoder.embed(["bb", "ccc"]).tolist() == [[2], [3]]
    assert inner.calls == [["a", "bb"], ["ccc"]]
    assert encoder.embed([]).shape == (0, 1)


def test_the_least_recently_used_vector_is_dropped() -> None:
    inner = LengthEncoder()
    encoder = CachingEncoder(inner, limit=2)
    for texts in (["a", "bb"], ["a"], ["ccc"], ["a"], ["bb"]):
        encoder.embed(texts)
    assert inner.calls == [["a", "bb"], ["ccc"], ["bb"]]


def test_a_lone_surrogate_is_a_text_like_any_other() -> None:
    assert CachingEncoder(LengthEncoder()).embed(["\ud800"]).tolist() == [[1]]
