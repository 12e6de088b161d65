"""Rule for the effective reactions on a turn, i.e. those that are not replaced by another one and count in reports.

The views `effective` in reporting, inference and the reference consumer implement the rule in SQL. The SQL fragment
`best_first` in reporting uses the same sort key as `rank`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple
from uuid import UUID

from contracts.base import NO_VERDICTS, FeedbackType, Origin, Reaction
from contracts.feedback import FeedbackCreated

TurnId = tuple[str, str, str, str]
"""Ids of a turn: tenant, project, conversation and turn."""


class TurnReaction(NamedTuple):
    """A feedback record on a turn, at its highest revision.

    Attributes:
        reaction: The reaction, or None if the record is cleared.
        occurred_at: The time of the feedback in microseconds.
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
        """Key shared by all records that compete with each other. Only one record with a given key counts.

        All records of the same person on a turn compete, and so do all reviews of a turn. A machine's verdict has its
        own key, so it counts unless it is cleared.
        """
        if self.origin == "machine":
            return self.feedback_id
        return self.turn if self.origin == "reviewer" else (self.turn, self.user_id)

    @property
    def is_candidate(self) -> bool:
        """True if the record is a candidate, i.e. may be the one that counts among competing records.

        All records with a reaction are candidates. So is explicit feedback that was retracted, because a retraction
        must not revive the person's earlier reactions. Removed emoji and retracted reviews are not candidates, so an
        earlier reaction counts again.
        """
        return self.reaction is not None or (self.origin == "user" and self.feedback_type == "explicit")

    @property
    def order(self) -> tuple[int, UUID]:
        """Sort key by time and feedback id."""
        return self.occurred_at, self.feedback_id

    @property
    def rank(self) -> tuple[bool, int, UUID]:
        """Sort key for competing records. The record with the greatest key counts.

        Candidates rank above other records. Otherwise, records are ordered by time, then by feedback id.
        """
        return self.is_candidate, *self.order


def reaction_to_turn(event: FeedbackCreated) -> TurnReaction | None:
    """Return the reaction in a `feedback.created` event, or None if its feedback is not a verdict."""
    if event.feedback_type in NO_VERDICTS:
        return None
    return TurnReaction(
        event.feedback_id,
        (event.tenant, event.project, event.conversation_id, event.turn_id),
        event.user_id,
        event.origin,
        event.feedback_type,
        event.reaction,
        event.occurred_at,
    )


def effective(reactions: Iterable[TurnReaction]) -> list[TurnReaction]:
    """Return the effective reactions, in no particular order. Each feedback id must occur at most once."""
    first: dict[Hashable, TurnReaction] = {}
    for reaction in reactions:
        current = first.get(reaction.competes_in)
        if current is None or reaction.rank > current.rank:
            first[reaction.competes_in] = reaction
    return [reaction for reaction in first.values() if reaction.reaction is not None]


def status_of_turns(reactions: Iterable[TurnReaction]) -> dict[TurnId, TurnReaction]:
    """Return the reaction that determines the status of each turn, keyed by turn.

    This is the latest effective reaction of a person or, if there is none, the latest review. Machine verdicts do not
    determine the status, so turns with nothing else are omitted.
    """
    chosen: dict[TurnId, TurnReaction] = {}
    people_last = sorted(effective(reactions), key=lambda reaction: (reaction.origin == "user", reaction.order))
    for reaction in people_last:
        if reaction.origin != "machine":
            chosen[reaction.turn] = reaction
    return chosen
