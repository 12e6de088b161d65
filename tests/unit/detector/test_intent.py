"""Measures that compare two requests word by word, computed by hand."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from detector.intent import NAMES, WORDS, Asked, IntentModel, compare, distinct

#: Vectors with lengths 1, 2, 5 and 1. "the" and "is" are too frequent to be content words.
VECTORS = {"hotel": (1, 0), "rome": (0, 2), "oslo": (3, 4), "inn": (0.6, 0.8), "the": (2, 0), "is": (0, 3)}
CONTENT, REST = NAMES.index("content_least"), NAMES.index("rest")


def asked(text: str) -> Asked:
    words = tuple(text.split())
    return Asked(words, np.array([VECTORS[word] for word in words], dtype=np.float32).reshape(-1, 2))


def test_every_measure_of_two_requests_with_a_word_in_common() -> None:
    found_left, found_right = (1 * 1 + 2 * 0.8) / 3, (1 * 1 + 5 * 0.8) / 6  # averages, weighted by the vectors' lengths
    flat_left, flat_right = (1, 2 / sqrt(2)), (1 + 3 / sqrt(5), 4 / sqrt(5))
    flat = (flat_left[0] * flat_right[0] + flat_left[1] * flat_right[1]) / (
        sqrt(flat_left[0] ** 2 + flat_left[1] ** 2) * sqrt(flat_right[0] ** 2 + flat_right[1] ** 2)
    )
    aligned = 2 * found_left * found_right / (found_left + found_right)
    measured = (flat, aligned, found_right, 0.8)
    assert compare(asked("hotel rome"), asked("hotel oslo")) == pytest.approx(measured, abs=1e-6)
    assert compare(asked("hotel oslo"), asked("hotel rome")) == pytest.approx(measured, abs=1e-6)


@pytest.mark.parametrize(
    ("left", "right", "content", "rest"),
    [
        ("hotel rome", "rome hotel", 1, 1),  # the same words
        ("hotel", "hotel rome", 1 / 3, 0.5),  # only one of them has words of its own
        ("hotel rome", "hotel", 1 / 3, 0.5),
        ("the hotel", "is the hotel", 1, 0.5),
        ("the hotel", "the inn", 0.6, 0.6),  # words in common are no rest
        ("the hotel", "the is", 0, 0),  # one of them has no content words
        ("the is", "the hotel", 0, 0),
        ("the", "is", 0, 0),
        ("hotel inn", "rome oslo", 1.6 / 2, (1.6 * 3 + 0.8 * 6) / (sqrt(3.2) * sqrt(45))),  # the rest is a sum
    ],
)
def test_content_words_and_words_of_one_request_alone(left: str, right: str, content: float, rest: float) -> None:
    measured = compare(asked(left), asked(right))
    assert (measured[CONTENT], measured[REST]) == pytest.approx((content, rest), abs=1e-6)


@pytest.mark.parametrize(("left", "right"), [("", "hotel"), ("hotel", ""), ("", "")])
def test_a_request_without_words_is_like_no_other(left: str, right: str) -> None:
    assert compare(asked(left), asked(right)) == (0.0,) * len(NAMES)


def test_the_probability_is_that_of_the_weighted_measures() -> None:
    model = IntentModel(np.array([0.0, 0.0, 2.0, 1.0]), -1.0)
    assert model.same(asked("the hotel"), asked("the inn")) == pytest.approx(1 / (1 + np.exp(-0.8)), abs=1e-6)
    assert model.same(asked("hotel"), asked("hotel")) == round(float(1 / (1 + np.exp(-2.0))), 6)


def test_the_first_sixty_distinct_words_are_compared() -> None:
    assert distinct(("b", "a", "b", "c")) == ("b", "a", "c")
    assert distinct([f"w{number}" for number in range(WORDS + 1)]) == tuple(f"w{number}" for number in range(60))
