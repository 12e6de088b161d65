"""Choice of the reactions that count on a turn. Pure.

The views `effective` of reporting and inference, and of the reference consumer, state the same rule in SQL, and
`best_first` in reporting's statements the order of `rank`. A test compares all of them with this module.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple
from uuid import UUID

from contracts.base import NO_VERDICTS, FeedbackType, Origin, Reaction
from contracts.feedback import FeedbackCreated
from contracts.sources import REVIEW

TurnId = tuple[str, str, str, str]
"""Tenant, project, conversation and turn."""


class TurnReaction(NamedTuple):
    """Feedback record as announced at its highest revision; `reaction` is None if it is cleared.

    `occurred_at` is in microseconds.
    """

    feedback_id: UUID
    turn: TurnId
    user_id: str
    origin: Origin
    feedback_type: FeedbackType
    reaction: Reaction | None
    occurred_at: int

    @property
    def competes_in(self) -> Hashable:
        """Identifies the records of which one counts: a person's on a turn, or a turn's reviews.

        A machine's record competes with no other.
        """
        if self.origin == "machine":
            return self.feedback_id
        return self.turn if self.origin == "reviewer" else (self.turn, self.user_id)

    @property
    def is_candidate(self) -> bool:
        """True if the record has a reaction, or is a person's explicit feedback.

        A person who retracts explicit feedback has no reaction any more. A removed emoji or a retracted review makes
        the one before it count.
        """
        return self.reaction is not None or (self.origin == "user" and self.feedback_type == "explicit")

    @property
    def place(self) -> tuple[int, UUID]:
        """Sort key by time, then by feedback id."""
        return self.occurred_at, self.feedback_id

    @property
    def rank(self) -> tuple[bool, int, UUID]:
        """Sort key of competing records: the greatest stands. It is the newest candidate, if there is one."""
        return self.is_candidate, *self.place


def reaction_to_turn(event: FeedbackCreated) -> TurnReaction | None:
    """Return the record that `event` announces; None if it is no verdict.

    Reviews that 0.1.0 announced have the origin `user`.
    """
    if event.feedback_type in NO_VERDICTS:
        return None
    return TurnReaction(
        event.feedback_id,
        (event.tenant, event.project, event.conversation_id, event.turn_id),
        event.user_id,
        "reviewer" if event.source == REVIEW else event.origin,
        event.feedback_type,
        event.reaction,
        event.occurred_at,
    )


def effective(reactions: Iterable[TurnReaction]) -> list[TurnReaction]:
    """Return the reactions that count, at most one per feedback id given, in no particular order."""
    first: dict[Hashable, TurnReaction] = {}
    for one in reactions:
        held = first.get(one.competes_in)
        if held is None or one.rank > held.rank:
            first[one.competes_in] = one
    return [one for one in first.values() if one.reaction is not None]


def status_of_turns(reactions: Iterable[TurnReaction]) -> dict[TurnId, TurnReaction]:
    """Return the reaction that gives each turn its status: the latest effective one of a person, else its review."""
    chosen: dict[TurnId, TurnReaction] = {}
    people_last = sorted(effective(reactions), key=lambda one: (one.origin == "user", one.place))
    for one in people_last:
        if one.origin != "machine":
            chosen[one.turn] = one
    return chosen
