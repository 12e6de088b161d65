"""Selection of the reviews that overrule the machine's verdicts. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from uuid import UUID

from feedback.effective import TurnReaction, effective
from feedback.model import Record
from feedback.registry import TurnKey

ReviewOfTurn = Mapping[TurnKey, UUID]
"""Feedback id of the effective review of each turn."""


def reviews_that_count(records: Iterable[Record]) -> ReviewOfTurn:
    """Return the feedback id of the effective review of each reviewed turn."""
    reviews = [_reaction_of(record) for record in records if record.is_live_review]
    return {TurnKey(*review.turn): review.feedback_id for review in effective(reviews)}


def review_over(record: Record, reviews: ReviewOfTurn) -> UUID | None:
    """Return the feedback id of the review that overrules a record, or None.

    Only a machine's verdict can be overruled, and only if it is not retracted.
    """
    return reviews.get(record.turn) if record.is_verdict and record.current_entry.present else None


def overrule(record: Record, reviews: ReviewOfTurn) -> Record:
    """Return the record with `overruled_by` set to the review that overrules it.

    Returns the same object if nothing changes.
    """
    review = review_over(record, reviews)
    return record if record.overruled_by == review else replace(record, overruled_by=review)


def _reaction_of(review: Record) -> TurnReaction:
    shown = review.current_entry
    return TurnReaction(
        review.feedback_id,
        review.turn,
        review.key.user_id,
        "reviewer",
        review.feedback_type,
        shown.payload.reaction,
        shown.stamp.occurred_at,
    )
