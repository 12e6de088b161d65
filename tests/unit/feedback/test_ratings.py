"""Meaning of ratings, and the bodies that the intake accepts and refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from contracts.feedback import FeedbackExplicitReceived
from feedback.model import Change, Key
from feedback.ratings import RatingScale, meaning_of
from feedback.reward import change_of
from feedback.settings import FeedbackSettings
from feedback.submission import Judgement
from feedback.submission_body import given
from servicekit import RequestRefused
from tests.support.feedback_events import explicit

POLITE = RatingScale(worst=6, best=1)
SCALES = {"helpful": RatingScale(worst=1, best=5), "correct": RatingScale(worst=0, best=1), "polite": POLITE}
POINTS = "a number of points from 2 to 100, or the name of"
OWN = f"The scale must be {POINTS} one of the project's scales: correct, helpful, polite."


HOSTILE: list[Any] = [True, "4", 4.5, -1, 101, 10**30, float("nan"), float("inf"), [4], {}]


def judged(body: dict[str, Any], scales: Any = SCALES) -> Judgement:
    return given(json.dumps(body).encode()).judgement("ann", scales)


@pytest.mark.parametrize(
    ("worst", "best", "meanings"),
    [
        (1, 2, [(1, "not_ok", -1), (2, "ok", 1)]),
        (1, 3, [(1, "not_ok", -1), (2, "neutral", 0), (3, "ok", 1)]),
        (1, 4, [(2, "not_ok", -1 / 3), (3, "ok", 1 / 3)]),
        (1, 5, [(1, "not_ok", -1), (2, "not_ok", -0.5), (3, "neutral", 0), (4, "ok", 0.5), (5, "ok", 1)]),
        (1, 10, [(4, "not_ok", -1 / 3), (5, "neutral", 0), (6, "neutral", 0), (7, "ok", 1 / 3)]),
        (6, 1, [(6, "not_ok", -1), (5, "not_ok", -0.6), (4, "neutral", 0), (3, "neutral", 0), (2, "ok", 0.6)]),
        (0, 8, [(3, "not_ok", -0.25), (4, "neutral", 0), (5, "ok", 0.25)]),
        (0, 1, [(0, "not_ok", -1), (1, "ok", 1)]),
    ],
)
def test_a_rating_means_its_position_on_the_scale(
    worst: int, best: int, meanings: list[tuple[int, str, float]]
) -> None:
    assert [(rating, *meaning_of(rating, worst, best)) for rating, _, _ in meanings] == meanings


@pytest.mark.parametrize(("rating", "worst", "best"), [(0, 1, 5), (6, 1, 5), (0, 6, 1), (7, 6, 1), (3, 3, 3)])
def test_a_rating_off_its_scale_means_nothing(rating: int, worst: int, best: int) -> None:
    with pytest.raises(ValueError, match="on its scale"):
        meaning_of(rating, worst, best)


def test_a_rating_of_the_answer_is_a_judgement() -> None:
    said = judged({"rating": 4, "scale": 5, "text": "Nearly.", "tags": ["incomplete"]})
    assert (said.reaction, said.rating, said.scale, said.source) == ("ok", (4, 1, 5), None, "api")
    assert (said.text, said.tags) == ("Nearly.", ("incomplete",))


def test_a_rating_on_an_own_scale_stands_alone() -> None:
    said = judged({"rating": 5, "scale": "polite"})
    assert (said.reaction, said.rating, said.scale, said.source) == ("not_ok", (5, 6, 1), "polite", "rating")


@pytest.mark.parametrize(("scale", "name"), [(5, None), ("polite", "polite"), (None, None)])
def test_null_retracts(scale: object, name: str | None) -> None:
    said = judged({"rating": None, "scale": scale})
    assert (said.reaction, said.rating, said.scale) == (None, None, name)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"rating": 6, "scale": 5}, "The rating must be a whole number from 1 to 5."),
        ({"rating": 0, "scale": 5}, "The rating must be a whole number from 1 to 5."),
        ({"rating": 7, "scale": "polite"}, "The rating must be a whole number from 1 to 6."),
        ({"rating": 2, "scale": "correct"}, "The rating must be a whole number from 0 to 1."),
        *(
            ({"rating": rating, "scale": 5}, "The rating must be a whole number from 0 to 100, or null.")
            for rating in HOSTILE
        ),
        *(
            (
                {"rating": 4, "scale": scale},
                "The scale must be a number of points from 2 to 100, or the name of a scale of the project.",
            )
            for scale in (True, 1, 0, -5, 101, 10**30, 4.5, "Polite", "", "a:b", "x" * 33, float("nan"), [5])
        ),
        ({"rating": 4}, OWN),
        ({"rating": 4, "scale": None}, OWN),
        ({"rating": 4, "scale": "fast"}, OWN),
        ({"rating": None, "scale": "fast"}, OWN),
        ({"scale": 5}, "A scale needs a rating."),
        ({"reaction": "ok", "scale": 5}, "A scale needs a rating."),
        ({"reaction": "ok", "rating": 4, "scale": 5}, "Send a reaction or a rating, not both."),
        ({"reaction": None, "rating": None}, "Send a reaction or a rating, not both."),
        ({}, "The reaction must be ok, not_ok, neutral or null."),
        (
            {"rating": 2, "scale": "polite", "tags": ["rude"]},
            "A rating on one of the project's own scales takes a text, no tags or correction.",
        ),
    ],
)
def test_a_refused_rating_gets_one_sentence(body: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        judged(body)
    assert (refused.value.status, str(refused.value)) == (400, sentence)


def test_a_project_without_scales_says_so() -> None:
    with pytest.raises(RequestRefused, match=r"the name of a scale \(this project has none\)"):
        judged({"rating": 4, "scale": "polite"}, {})


def rated(**fields: Any) -> Any:
    return explicit("not_ok", rating=2, worst_rating=1, best_rating=5, **fields)


def test_a_rating_of_the_answer_shares_the_record_of_the_thumb() -> None:
    rating, thumb = change_of(rated()), change_of(explicit("ok"))
    assert isinstance(rating, Change) and isinstance(thumb, Change)
    assert rating.key == thumb.key
    assert (rating.feedback_type, rating.entry.payload.reaction, rating.entry.payload.value) == (
        "explicit",
        "not_ok",
        -0.5,
    )


def test_a_rating_on_an_own_scale_has_a_reward_and_no_reaction() -> None:
    change = change_of(rated(scale="polite"))
    assert isinstance(change, Change)
    assert change.key == Key("acme", "support", "c1", "rating", "ann", "", "t1:polite")
    payload = change.entry.payload
    assert (change.feedback_type, payload.reaction, payload.value, payload.scale) == ("rating", None, -0.5, "polite")


@pytest.mark.parametrize(
    "ends", [{"worstRating": 3, "bestRating": 5}, {"worstRating": 5, "bestRating": 3}, {"bestRating": 5}, {}]
)
def test_an_event_with_a_rating_off_its_scale_is_refused(ends: dict[str, int]) -> None:
    event = json.loads(explicit("ok").model_dump_json(by_alias=True))
    with pytest.raises(ValidationError, match="on the scale"):
        FeedbackExplicitReceived.from_wire(json.dumps({**event, "worstRating": None, **ends, "rating": 2}).encode())


def test_a_project_changes_the_scales() -> None:
    scales: dict[str, Any] = {"helpful": {"worst": 1, "best": 5}, "correct": {"worst": 0, "best": 1}}
    changes: dict[str, Any] = {"polite": {"worst": 6, "best": 1}, "correct": None}
    settings = FeedbackSettings(scales=scales, scales_of={"acme/support": changes})
    assert settings.scales_in("acme", "support") == {"helpful": SCALES["helpful"], "polite": POLITE}
    assert set(settings.scales_in("acme", "sales")) == {"helpful", "correct"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"scales": {"polite": {"worst": 1, "best": 1}}},
        {"scales": {"polite": {"worst": 1, "best": 101}}},
        {"scales": {"polite": {"worst": True, "best": 5}}},
        {"scales": {"5": {"worst": 1, "best": 5}}},
        {"scales_of": {"acme": {"polite": None}}},
    ],
)
def test_wrong_scales_stop_the_start(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FeedbackSettings(**wrong)
