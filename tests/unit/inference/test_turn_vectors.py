"""Vectors of the index of turns, and the minimum similarity of similar questions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import training
from detector.detector import Detector
from detector.encoders.embedder import Vectors, WordLlamaEmbedder
from inference.turns.store import SIMILARITY_THRESHOLD
from inference.turns.vectors import DIMENSION, TurnVectors

PAIRS = Path(training.__file__).parent / "pairs.jsonl"


def test_each_text_is_packed_once_in_half_precision(detector: Detector) -> None:
    packed = TurnVectors(detector.embedder).packed(["When does it open?", "At nine.", "When does it open?"])
    assert packed.places == {"When does it open?": 0, "At nine.": 1}
    assert packed.rows.dtype == np.float16
    assert np.linalg.norm(packed.rows.astype(np.float32), axis=1) == pytest.approx([1, 1], abs=1e-3)
    assert TurnVectors(detector.embedder).packed([]).rows.shape == (0, DIMENSION)


def test_the_detectors_memory_gives_the_embedders_vectors(detector: Detector) -> None:
    texts = ["When does it open?", "", "🙂", "When does it open?"]
    assert (detector.embedder.embed(texts) == WordLlamaEmbedder().embed(texts)).all()
    assert detector.embedder.name == WordLlamaEmbedder.name


def test_the_floor_keeps_most_rewordings_and_few_unrelated_questions() -> None:
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    embedder = WordLlamaEmbedder()
    left, right = (embedder.embed([pair[side] for pair in pairs]) for side in "ab")
    same = np.array([pair["same"] for pair in pairs])
    domains = np.array([pair["domain"] for pair in pairs])
    other = np.random.default_rng(1).permutation(len(pairs))
    apart = domains != domains[other]
    assert _share(left[same], right[same]) == pytest.approx(0.75, abs=0.02)
    assert _share(left[apart], right[other][apart]) < 0.04


def _share(left: Vectors, right: Vectors) -> float:
    return float((np.einsum("ij,ij->i", left, right) >= SIMILARITY_THRESHOLD).mean())
