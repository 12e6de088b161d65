"""Readings of the learned layer's probabilities, and the thresholds at which they override a rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from detector.evidence import Evidence
from detector.learned import Opinion
from detector.rules import (
    ALWAYS,
    BY_DOUBT,
    BY_REJECTION,
    CONTRADICTED,
    NEVER,
    REFUSED,
    UNLESS_REJECTED,
    UNLESS_UNSURE,
    Override,
)
from detector.text import prepare
from detector.vocabulary import COMPLAINT

STEP = 1 / 1024


def opinion(**shares: float) -> Opinion:
    names = ("explicit", "rephrased", "abandonment", "approval", "follow_up", "none")
    return Opinion(tuple(shares.get(name, 0.0) for name in names), ())


def seen(*kinds: str) -> Evidence:
    text = prepare("no")
    return Evidence(text, text, text, (), frozenset(kinds), frozenset())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shares", "feedback", "gate", "kind"),
    [
        ({"explicit": 0.5, "none": 0.25, "approval": 0.25}, "rejected", "not_ok", "explicit"),
        (
            {"explicit": 0.125, "rephrased": 0.25, "abandonment": 0.1875, "none": 0.4375},
            "rejected",
            "not_ok",
            "rephrased",
        ),
        ({"abandonment": 0.75, "follow_up": 0.25}, "rejected", "not_ok", "abandonment"),
        ({"approval": 0.5, "follow_up": 0.25, "none": 0.25}, "accepted", "ok", None),
        ({"approval": 0.25, "follow_up": 0.375, "none": 0.375}, "accepted", "neutral", None),
        ({"follow_up": 1.0}, "accepted", "neutral", None),
        ({"none": 0.5, "explicit": 0.375, "approval": 0.125}, "neutral", "neutral", None),
        ({"none": 0.4375, "explicit": 0.3125, "approval": 0.25}, "neutral", "neutral", None),
    ],
)
def test_the_most_probable_reading_counts(shares: dict[str, float], feedback: str, gate: str, kind: str | None) -> None:
    held = opinion(**shares)
    assert (held.feedback, held.gate) == (feedback, gate)
    if kind is not None:
        assert held.correction_type == kind
    assert held.rejected == sum(shares.get(name, 0) for name in ("explicit", "rephrased", "abandonment"))
    assert held.accepted == sum(shares.get(name, 0) for name in ("approval", "follow_up"))
    assert [held.of(one) for one in ("rejected", "accepted", "neutral")] == [held.rejected, held.accepted, held.neutral]


@pytest.mark.parametrize(
    ("shares", "confidence"),
    [
        ({"explicit": 0.5, "none": 0.5}, 0.7),
        ({"explicit": 0.25, "rephrased": 0.5, "none": 0.25}, 0.85),
        ({"approval": 0.75, "follow_up": 0.25}, 0.7),
        ({"approval": 0.875, "none": 0.125}, 0.85),
        ({"approval": 0.25, "follow_up": 0.375, "none": 0.375}, 0.625),
        ({"none": 0.75, "explicit": 0.25}, 0.75),
    ],
)
def test_the_threshold_of_a_kind_is_the_common_one_on_the_scale(shares: dict[str, float], confidence: float) -> None:
    assert replace(opinion(**shares), announce=(0.5, 0.75)).confidence == pytest.approx(confidence)


def test_without_a_rejection_its_share_is_no_feedback() -> None:
    left = opinion(explicit=0.5, rephrased=0.125, approval=0.125, follow_up=0.125, none=0.125).without_rejection()
    assert left.probabilities == (0.0, 0.0, 0.0, 0.125, 0.125, 0.75)


def doubted(rejected: float) -> Opinion:
    return opinion(explicit=rejected, none=1 - rejected)


@pytest.mark.parametrize(
    ("override", "held", "overrides"),
    [
        (NEVER, doubted(0.0), False),
        (NEVER, doubted(1.0), False),
        (ALWAYS, doubted(0.0), True),
        (ALWAYS, doubted(1.0), True),
        (BY_DOUBT, doubted(CONTRADICTED - STEP), True),
        (BY_DOUBT, doubted(CONTRADICTED), False),
        (BY_REJECTION, doubted(REFUSED), True),
        (BY_REJECTION, doubted(REFUSED - STEP), False),
        (UNLESS_UNSURE, opinion(none=0.75, approval=0.25), False),
        (UNLESS_UNSURE, opinion(approval=0.75, none=0.25), True),
        (UNLESS_UNSURE, doubted(ANNOUNCEMENT_THRESHOLD), True),
        (UNLESS_UNSURE, doubted(ANNOUNCEMENT_THRESHOLD - STEP), False),
        (UNLESS_REJECTED, opinion(approval=0.75, none=0.25), True),
        (UNLESS_REJECTED, doubted(1.0), False),
    ],
)
def test_an_override_begins_at_its_threshold(override: Override, held: Opinion, overrides: bool) -> None:
    assert override.overrides(held, seen()) is overrides


@pytest.mark.parametrize("kind", sorted(COMPLAINT))
def test_a_rejection_with_a_complaint_overrides(kind: str) -> None:
    assert UNLESS_REJECTED.overrides(doubted(1.0), seen(kind))
