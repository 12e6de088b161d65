"""Handler of people's reactions to turns, which arrive on the topic `feedback.created`."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from contracts.feedback import FeedbackCreated, FeedbackErased
from inference.turns.rules import TurnKey, status_of
from inference.turns.store import TurnIndex, UserReaction
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received

NO_REACTION = Outcome.ignored("no_reaction_of_a_person")


class UserReactionHandler(Handler, tombstones=True):
    """Handler of the consumer group `inference_status`, which stores explicit feedback and emojis on turns.

    They determine the status of the turns. Only the highest revision of a feedback record counts, so records may arrive
    repeatedly and in any order. An erased revision that is read after a tombstone from another partition is deleted by
    the copy of the tombstone in its own partition.
    """

    def __init__(self, index: TurnIndex) -> None:
        self._index = index

    async def handle(self, batch: Sequence[Received[FeedbackCreated | FeedbackErased]]) -> Sequence[Outcome]:
        events = [one.event for one in batch]
        found = [one if isinstance(one, FeedbackErased) else reaction_of(one) for one in events]
        newest: dict[UUID, UserReaction] = {}
        gone: dict[UUID, int] = {}
        for one in found:
            if isinstance(one, UserReaction):
                held = newest.get(one.feedback_id)
                newest[one.feedback_id] = one if held is None or one.revision > held.revision else held
            elif one is not None:
                gone[one.feedback_id] = max(one.revision, gone.get(one.feedback_id, 0))
        newest = {id_: one for id_, one in newest.items() if one.revision > gone.get(id_, -1)}
        if gone:
            await self._index.forget(gone)
        news = await self._index.take_reactions(newest.values())
        return [_outcome(one, newest, news) for one in found]


def reaction_of(event: FeedbackCreated) -> UserReaction | None:
    """Return the explicit feedback, emoji or review in `event`, or None if it is another kind of feedback."""
    if event.origin == "machine" or event.feedback_type not in ("explicit", "reaction"):
        return None
    given = event.reaction if event.change != "cleared" else None
    return UserReaction(
        feedback_id=event.feedback_id,
        turn=TurnKey(event.tenant, event.project, event.conversation_id, event.turn_id),
        user_id=event.user_id,
        explicit=event.feedback_type == "explicit" and event.origin == "user",
        reviewer=event.origin == "reviewer",
        status=None if given is None else status_of(given),
        said=event.text if given else None,
        tags=event.tags if given else (),
        correction=event.correction if given else None,
        at=event.occurred_at,
        revision=event.revision,
    )


def _outcome(one: UserReaction | FeedbackErased | None, newest: dict[UUID, UserReaction], news: set[UUID]) -> Outcome:
    if isinstance(one, UserReaction):
        return Outcome.STORED if one.feedback_id in news and newest.get(one.feedback_id) is one else Outcome.UNCHANGED
    return NO_REACTION if one is None else Outcome.STORED
