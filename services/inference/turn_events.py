"""Takes in what people judge of turns, from the ledger of feedback."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from contracts.feedback import FeedbackCreated
from inference.turn_index import Judgement, TurnIndex
from inference.turns import TurnKey, status_of
from servicekit.outcome import STORED, UNCHANGED, Ignored, Outcome
from servicekit.records import Received, Tombstone

NO_VERDICT = Ignored("no_verdict_of_a_person")


class JudgementEvents:
    """The handler of the group `inference_status`: explicit feedback becomes the person's word on a turn.

    The highest revision of a feedback holds, so that records may come again and in any order.
    """

    takes_tombstones = True

    def __init__(self, index: TurnIndex) -> None:
        self._index = index

    async def handle(self, batch: Sequence[Received[FeedbackCreated] | Tombstone]) -> Sequence[Outcome]:
        told = [_forgotten(one) if isinstance(one, Tombstone) else judgement_of(one.event) for one in batch]
        newest: dict[UUID, Judgement] = {}
        gone: set[UUID] = set()
        for one in told:
            if isinstance(one, Judgement):
                held = newest.get(one.feedback_id)
                newest[one.feedback_id] = one if held is None or one.revision > held.revision else held
            elif one is not None:
                newest.pop(one, None)
                gone.add(one)
        if gone:
            await self._index.forget(gone)
        news = await self._index.judge(newest.values())
        return [_outcome(one, newest, news) for one in told]

    async def uncertain(self, batch: Sequence[Received[FeedbackCreated] | Tombstone]) -> None:
        """Nothing to mend: a judgement only ever gives way to a higher revision."""

    async def probe(self) -> None:
        await self._index.ping()


def judgement_of(event: FeedbackCreated) -> Judgement | None:
    """A person's explicit word on a turn; None for every other kind of feedback."""
    if event.origin != "user" or event.feedback_type != "explicit":
        return None
    given = event.reaction is not None and event.change != "cleared"
    return Judgement(
        feedback_id=event.feedback_id,
        turn=TurnKey(event.tenant, event.project, event.conversation_id, event.turn_id),
        user_id=event.user_id,
        status=status_of(event.reaction) if event.reaction is not None and given else None,
        said=event.text if given else None,
        tags=event.tags if given else (),
        correction=event.correction if given else None,
        at=event.occurred_at,
        revision=event.revision,
    )


def _forgotten(one: Tombstone) -> UUID | None:
    try:
        return UUID(one.key)
    except ValueError:
        return None


def _outcome(one: Judgement | UUID | None, newest: dict[UUID, Judgement], news: set[UUID]) -> Outcome:
    if isinstance(one, Judgement):
        return STORED if one.feedback_id in news and newest.get(one.feedback_id) is one else UNCHANGED
    return NO_VERDICT if one is None else STORED
