"""Values of the learned layer's input features. The weights were trained with exactly these values."""

from __future__ import annotations

from math import log1p
from typing import Any

import numpy as np
import pytest

from detector.evidence import Evidence
from detector.features import CLOSED, RELATIONS, WIDTH, matrix, names, relate
from detector.text import SAID, prepare

LONG = "word " * SAID


def evidence(message: str, request: str = "", answer: str = "", **facts: Any) -> Evidence:
    texts = (prepare(message), prepare(request), prepare(answer))
    return Evidence(*texts, (), facts.pop("kinds", frozenset()), frozenset(), **facts)


def related(name: str, *texts: str, **facts: Any) -> float:
    return dict(zip(RELATIONS, relate(evidence(*texts, **facts)), strict=True))[name]


@pytest.mark.parametrize(
    ("name", "texts", "value"),
    [
        ("in_request", ("cheap hotel Rome", "hotel Rome"), 2 / 3),
        ("in_request", ("cheap hotel", "flight Paris"), 0),
        ("in_request", ("is it", "hotel Rome"), 0),  # no word with a topic
        ("in_answer", ("cheap hotel Rome", "", "hotel Roma"), 1 / 3),
        ("fresh", ("cheap hotel Rome tonight", "hotel", "Rome"), 2 / 4),
        ("request_again", ("hotel Rome", "cheap hotel Rome tonight"), 2 / 4),
        ("request_again", ("hotel", ""), 0),
        ("jaccard", ("cheap hotel Rome", "hotel Rome tonight"), 2 / 4),
        ("jaccard", ("", ""), 0),
        ("number_new", ("at 7", "at 8", "at 9"), 1),
        ("number_new", ("at 7", "at 7", "at 9"), 0),
        ("number_new", ("at 7", "at 8", "at 7"), 0),
        ("number_in_answer", ("at 7", "at 8", "at 7"), 1),
        ("number_in_answer", ("at 7", "at 7", "at 8"), 0),
        ("number_in_request", ("at 7", "at 7", "at 8"), 1),
        ("number_in_request", ("at 7", "at 8", "at 7"), 0),
        ("words", ("one two three",), log1p(3) / 4),
        ("few", ("one two three",), 1),
        ("few", ("one two three four",), 0),
        ("length_ratio", ("one two", "one two three four"), 0.25),
        ("length_ratio", ("one two three four five", "one two"), 1),
        ("length_ratio", ("one", ""), 0.5),
        ("asks", ("really? no.",), 1),
        ("asks", ("no.",), 0),
        ("ends_asking", ("really? no.",), 0),
        ("ends_asking", ("no, really?",), 1),
        ("wh", ("which one",), 1),
        ("wh", ("the one which",), 0),
        ("wh", ("?",), 0),
        ("auxiliary", ("could you",), 1),
        ("auxiliary", ("you could",), 0),
        ("sentences", ("One. Two!",), 0.5),
        ("sentences", ("One. Two! Three? Four. Five.",), 1),
        ("exclaims", ("no!",), 1),
        ("exclaims", ("no.",), 0),
        ("answer_asks", ("no", "", "Is that all?"), 1),
        ("answer_asks", ("no", "", '"Is that all?")'), 1),
        ("answer_asks", ("no", "", "Is that all? Fine."), 0),
        ("answer_words", ("no", "", "one two three"), log1p(3) / 5),
        ("answer_code", ("no", "", "SELECT name FROM t"), 1),
        ("answer_code", ("no", "", "First do step 1, then rest"), 1),
        ("answer_code", ("no", "", "Run ```ls``` there"), 1),
        ("answer_code", ("no", "", "Run it there"), 0),
        ("answer_numbers", ("no", "", "at 7"), 1),
        ("answer_numbers", ("at 7", "at 7", "later"), 0),
        ("request_words", ("no", "one two three"), log1p(3) / 4),
        ("no_request", ("no", ""), 1),
        ("no_request", ("no", "hotel"), 0),
        ("starts_lower_i", ("I'm lost",), 1),
        ("starts_lower_i", ("lost am I",), 0),
        ("repeats", ("Rome hotel", "the hotel in Rome"), 1),
        ("repeats", ("Rome hotel cheap", "the hotel in Rome"), 0),
        ("repeats", ("is it", "what is"), 0),
        ("swapped", ("a hotel in Paris tonight", "a hotel in Rome tonight"), 1),
        ("swapped", ("a hotel in Rome tonight", "a hotel in Rome tonight"), 0),
        ("narrowed", ("a cheap hotel in Rome", "a hotel in Rome"), 1),
        ("narrowed", ("a hotel in Rome", "a hotel in Rome"), 0),
        ("narrowed", ("a cheap hotel", "a hotel in Rome"), 0),
        ("narrowed", ("a cheap hotel", ""), 0),
        ("swapped_answered", ("a hotel in Paris tonight", "a hotel in Rome tonight", "Hotel Roma in Rome"), 1),
        ("swapped_answered", ("a hotel in Paris tonight", "a hotel in Rome tonight", "None found"), 0),
        ("swapped_answered", ("hotels under 40", "hotels over 40"), 1),
        ("swapped_answered", ("hotels over 40", "hotels under 40"), 1),
        ("swapped_answered", ("hotels over 40", "hotels over 40"), 0),
        ("swapped_answered", ("hotels over 50", "hotels over 40"), 1),
        ("failed", ("TypeError: x is undefined\nhelp",), 1),
        ("failed", ("x is undefined, help",), 0),
        ("coded", ("see ```x = 1``` there",), 1),
        ("coded", ("see x = 1 there",), 0),
        ("long", (LONG + "end",), 1),
        ("long", (LONG,), 0),
        ("listed", ("milk - eggs",), 1),
        ("listed", ("buy 1. milk",), 1),
        ("listed", ("then 2. eggs",), 1),
        ("listed", ("milk, eggs 3. x",), 0),
    ],
)
def test_relations_of_the_three_texts(name: str, texts: tuple[str, ...], value: float) -> None:
    assert related(name, *texts) == pytest.approx(value)


def test_similarities_are_passed_on() -> None:
    cosines: dict[str, Any] = {"similarity": 0.1, "answer_similarity": 0.2, "request_answer_similarity": 0.3}
    assert relate(evidence("no", **cosines, same_intent=0.4))[:4] == (0.1, 0.2, 0.3, 0.4)


def test_an_edit_is_recognised_by_its_pattern() -> None:
    assert related("imperative", "make it blue", kinds=frozenset({"cue_edit"})) == 1
    assert related("imperative", "make it blue") == 0


def test_a_row_has_its_own_kinds_relations_and_words() -> None:
    both = matrix([evidence("thanks i like the hotel", kinds=frozenset({"cue_edit"})), evidence("no")])
    assert both.shape == (2, WIDTH)
    assert both.dtype == np.float32
    rows = [{name for name, value in zip(names(), row, strict=True) if value} - {*RELATIONS} for row in both]
    assert rows[0] == {"cue_edit", "word:thanks", "word:i", "word:like", "first:thanks", "first:i"}
    assert rows[1] == {"word:no", "first:no"}
    alone = matrix([evidence("no")])
    assert (both[1] == alone[0]).all(), "a row depends on no other"
    assert "cue_edit" in names() and "hotel" not in CLOSED
    assert matrix([]).shape == (0, WIDTH)
