"""Handler of people's reactions to turns, which arrive on the topic `feedback.created`."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from contracts.feedback import FeedbackCreated, FeedbackErased
from contracts.message_fields import TurnKey
from inference.turns.model import UserReaction
from inference.turns.rules import STATUS_OF
from inference.turns.store import TurnIndex
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received

NO_REACTION = Outcome.ignored("no_reaction_of_a_person")


class UserReactionHandler(Handler, tombstones=True):
    """Handler of the consumer group `inference_status`, which stores explicit feedback and emojis on turns.

    Such feedback determines the status of a turn. Only the highest revision of a feedback record counts, so records may
    arrive repeatedly and in any order. If an erased revision is read after the tombstone in another partition, the copy
    of the tombstone in its own partition deletes it.
    """

    def __init__(self, index: TurnIndex) -> None:
        self._index = index

    async def handle(self, batch: Sequence[Received[FeedbackCreated | FeedbackErased]]) -> Sequence[Outcome]:
        erased: dict[UUID, int] = {}
        newest: dict[UUID, UserReaction] = {}
        for event in (received.event for received in batch):
            if isinstance(event, FeedbackErased):
                erased[event.feedback_id] = max(event.revision, erased.get(event.feedback_id, 0))
            elif (reaction := reaction_of(event)) is not None:
                current = newest.get(reaction.feedback_id, reaction)
                newest[reaction.feedback_id] = max(current, reaction, key=lambda reaction: reaction.revision)
        counted = [reaction for id_, reaction in newest.items() if reaction.revision > erased.get(id_, -1)]
        written = await self._index.take_reactions(counted, erased)

        def outcome(event: FeedbackCreated | FeedbackErased) -> Outcome:
            if isinstance(event, FeedbackErased) or event.feedback_id in written:
                return Outcome.STORED
            return Outcome.UNCHANGED if event.feedback_id in newest else NO_REACTION

        return [outcome(received.event) for received in batch]


def reaction_of(event: FeedbackCreated) -> UserReaction | None:
    """Return the explicit feedback, emoji or review in `event`, or None if it is another kind of feedback."""
    if event.origin == "machine" or event.feedback_type not in ("explicit", "reaction"):
        return None
    reaction = event.reaction if event.change != "cleared" else None
    return UserReaction(
        feedback_id=event.feedback_id,
        turn=TurnKey(event.tenant, event.project, event.conversation_id, event.turn_id),
        user_id=event.user_id,
        explicit=event.feedback_type == "explicit" and event.origin == "user",
        reviewer=event.origin == "reviewer",
        status=None if reaction is None else STATUS_OF[reaction],
        text=event.text if reaction else None,
        tags=event.tags if reaction else (),
        correction=event.correction if reaction else None,
        at=event.occurred_at,
        revision=event.revision,
    )
