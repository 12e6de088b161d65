"""Select the reactions that count on a turn. Pure.

SQL has the same rule in the `effective` views of reporting, inference and the reference consumer, and the order of
`rank` in the fragment `best_first` of reporting's statements. A test compares all of them with this module.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple
from uuid import UUID

from contracts.base import NO_VERDICTS, FeedbackType, Origin, Reaction
from contracts.feedback import FeedbackCreated
from contracts.sources import REVIEW

TurnId = tuple[str, str, str, str]
"""Ids of a turn: tenant, project, conversation and turn."""


class TurnReaction(NamedTuple):
    """A feedback record at its highest revision. `reaction` is None if the record is cleared.

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
        """Key of records that compete. Of the records with the same key, only one counts.

        All records of one person on a turn compete, and all reviews of a turn. A record of the machine has a key of its
        own, so it always counts unless it is cleared.
        """
        if self.origin == "machine":
            return self.feedback_id
        return self.turn if self.origin == "reviewer" else (self.turn, self.user_id)

    @property
    def is_candidate(self) -> bool:
        """True if the record competes (see `competes_in`): it has a reaction, or is a person's explicit feedback.

        Retracted explicit feedback still competes, so that the person's earlier reactions on the turn do not count.
        Removed emoji and retracted reviews do not compete, so that an earlier reaction counts again.
        """
        return self.reaction is not None or (self.origin == "user" and self.feedback_type == "explicit")

    @property
    def place(self) -> tuple[int, UUID]:
        """Sort key by time, then by feedback id."""
        return self.occurred_at, self.feedback_id

    @property
    def rank(self) -> tuple[bool, int, UUID]:
        """Sort key of competing records. The record with the greatest key counts.

        Candidates have greater keys than other records. Ties are broken by time, then by feedback id.
        """
        return self.is_candidate, *self.place


def reaction_to_turn(event: FeedbackCreated) -> TurnReaction | None:
    """Return the record that `event` announces; None if it is not a verdict.

    Release 0.1.0 announced reviews with the origin `user`, so reviews are recognised by their source.
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
    """Return the reactions that count, in no particular order. `reactions` has at most one item per feedback id."""
    first: dict[Hashable, TurnReaction] = {}
    for one in reactions:
        held = first.get(one.competes_in)
        if held is None or one.rank > held.rank:
            first[one.competes_in] = one
    return [one for one in first.values() if one.reaction is not None]


def status_of_turns(reactions: Iterable[TurnReaction]) -> dict[TurnId, TurnReaction]:
    """Return, by turn, the reaction that determines the status of the turn.

    It is the latest effective reaction of a person, otherwise the review. A turn with neither is missing.
    """
    chosen: dict[TurnId, TurnReaction] = {}
    people_last = sorted(effective(reactions), key=lambda one: (one.origin == "user", one.place))
    for one in people_last:
        if one.origin != "machine":
            chosen[one.turn] = one
    return chosen
