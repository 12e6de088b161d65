"""The learned layers: their files match the code, their outputs are probabilities, their data are reproducible."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detector import features
from detector.detector import Detector
from detector.encoders.embedder import Vectors, WordLlamaEmbedder, summed, unit_rows
from detector.encoders.minilm import EarlyLayers
from detector.intent import IntentModel
from detector.learned import CLASSES, SENTENCE_WEIGHTS, WEIGHTS, Layer, assemble, probabilities
from training import make
from training.grammar import load, load_questions
from training.pairs import pairs
from training.train import Evened


def test_the_committed_weights_fit_the_code() -> None:
    layer = Layer.load()
    assert layer.weights.shape == (features.WIDTH + 2 * 256, len(CLASSES))
    assert all(0.5 <= point < 1 for point in layer.announce)
    second = Layer.load(SENTENCE_WEIGHTS)
    assert second.weights.shape == (features.WIDTH + EarlyLayers.dimension + 256, len(CLASSES))
    assert second.embedder == EarlyLayers.name
    assert len(features.names()) == features.WIDTH == len(set(features.names()))


def test_weights_for_evened_vectors_read_them_as_they_come() -> None:
    rng = np.random.default_rng(1)
    known: Any = rng.random((9, features.WIDTH))  # with more digits than the product's vectors
    answers: Any = rng.random((9, 256))
    messages: Any = rng.normal(5, [1.0, 0.001, 3.0], (9, 3))
    weights, bias = rng.random((features.WIDTH + 3 + 256, len(CLASSES))), rng.random(len(CLASSES))
    evened = Evened.of(messages)
    folded, moved = evened.folded(weights, bias)
    wanted = assemble(known, evened(messages), answers) @ weights + bias
    assert np.allclose(assemble(known, messages, answers) @ folded + moved, wanted)
    assert np.allclose(evened(messages).std(axis=0), evened(messages).std())


def test_an_opinions_reasons_are_the_features_that_contribute_most() -> None:
    contributions = {0: 2.0, 5: 8.0, 7: 4.0, 9: 1.0, 11: 0.05}
    weights = np.zeros((features.WIDTH + 2 + 2, len(CLASSES)))
    for number, contribution in contributions.items():
        weights[number, 3] = contribution
    layer = Layer("e", weights, np.zeros(len(CLASSES)), 1.0, (0.7, 0.7), answer_dimension=2)
    known = np.zeros((2, features.WIDTH), dtype=np.float32)
    known[0, list(contributions)] = 1
    known[1, 11] = 1
    nothing = np.zeros((2, 2), dtype=np.float32)
    many, none = layer.opinions(known, nothing, nothing)
    names = features.names()
    assert many.reasons == tuple(f"learned.{names[number]}" for number in (5, 7, 0))
    assert (many.gate, none.reasons) == ("ok", ())


def test_the_vectors_of_message_and_answer_are_reasons_of_their_own() -> None:
    weights = np.zeros((features.WIDTH + 3 + 2, len(CLASSES)))
    weights[features.WIDTH :, 3] = 1.0
    layer = Layer("e", weights, np.zeros(len(CLASSES)), 1.0, (0.7, 0.7), answer_dimension=2)
    messages = np.array([[0.2, 0.2, 0.2], [0, 0, 0], [0.2, 0.2, 0.2], [0, 0, 0.06]], dtype=np.float32)
    answers = np.array([[0, 0], [0.3, 0.1], [0.4, 0.4], [0, 0]], dtype=np.float32)
    found = layer.opinions(np.zeros((4, features.WIDTH), dtype=np.float32), messages, answers)
    message, answer = "learned.the words of the message", "learned.the words of the answer"
    assert [one.reasons for one in found] == [(message,), (answer,), (answer, message), (message,)]


def test_weights_of_other_features_are_refused(tmp_path: Path) -> None:
    stored = json.loads(WEIGHTS.read_text())
    stored["features"][0] = "something_else"
    other = tmp_path / "other.json"
    other.write_text(json.dumps(stored))
    with pytest.raises(ValueError, match="make train"):
        Layer.load(other)


def test_a_layer_is_refused_with_the_vectors_of_another_embedder() -> None:
    class Other:
        name = "other"
        dimension = 3

        def embed(self, texts: Sequence[str]) -> Vectors:
            raise NotImplementedError

    with pytest.raises(ValueError, match="taught with"):
        Detector(Other(), Layer.load())


def test_probabilities_sum_to_one_however_large_the_scores() -> None:
    shares = probabilities(np.array([[1e5, 0.0, -1e5], [0.0, 0.0, 0.0]]), 1.3)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.isfinite(shares).all()


def test_vectors_have_length_one_or_zero() -> None:
    vectors = WordLlamaEmbedder().embed(["", "🙂", "hello there", "x" * 5000, "你好", "hello there"])
    lengths = np.linalg.norm(vectors, axis=1)
    assert lengths[:2].tolist() == [0.0, 0.0]
    assert np.allclose(lengths[2:], 1, atol=1e-5)
    assert (vectors[2] == vectors[5]).all()
    assert not np.isnan(unit_rows(np.array([[np.nan, 1.0]], dtype=np.float32))).any()


def test_sums_of_rows() -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(4, 3)
    rows = [[1], [], [0, 2, 3], [3, 3]]
    assert np.array_equal(summed(matrix, rows), np.array([matrix[r].sum(axis=0) if r else [0, 0, 0] for r in rows]))


def test_words_are_forgotten_when_there_are_too_many_and_come_back_the_same() -> None:
    embedder = WordLlamaEmbedder()
    before = embedder.embed(["green tea"])
    embedder.words._limit = 8
    embedder.embed(["one two three four five six seven"])
    assert (embedder.embed(["green tea"]) == before).all()


def test_same_intent_is_more_than_shared_words(detector: Detector) -> None:
    asked = "what is the cheapest flight to Oslo"
    reworded, other = "lowest priced plane ticket to Oslo please", "what is the tallest tower in Oslo"
    assert len(set(asked.split()) & set(other.split())) > len(set(asked.split()) & set(reworded.split()))
    assert detector.same_intent(asked, reworded) > detector.same_intent(asked, other)
    assert 0 <= detector.same_intent("", "anything") < 0.5
    assert IntentModel.load().weights.shape == (4,)


def test_the_maker_makes_the_committed_rows(tmp_path: Path) -> None:
    domains = load()
    make.write(tmp_path / "exchanges", list(make.rows(domains, random.Random(make.SEED))))
    make.write(tmp_path / "pairs", list(pairs(domains, load_questions(), random.Random(make.SEED + 1))))
    assert (tmp_path / "exchanges").read_bytes() == (make.DATA / "exchanges.jsonl").read_bytes()
    assert (tmp_path / "pairs").read_bytes() == (make.DATA / "pairs.jsonl").read_bytes()


def test_the_rows_are_filled_in_and_labelled() -> None:
    labels = set()
    for line in (make.DATA / "exchanges.jsonl").read_text().splitlines():
        row = json.loads(line)
        labels.add((row["label"], row["kind"], row["gate"]))
        assert not set("{}|") & set(row["message"] + row["request"]), row
    assert labels == {
        ("rejected", "explicit", "not_ok"),
        ("rejected", "rephrased", "not_ok"),
        ("rejected", "abandonment", "not_ok"),
        ("accepted", "thanks", "ok"),
        ("accepted", "continuation", "ok"),
        ("accepted", "continuation", "neutral"),
        ("neutral", "none", "neutral"),
    }
