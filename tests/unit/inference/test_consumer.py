"""Announcements of the handler while another process works on the same conversation."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from contracts.chat import DELETED
from contracts.feedback import FeedbackInferredReceived
from detector.detector import Detector
from inference.handlers import ConversationHandler, indexed
from inference.store import Place, Placed
from inference.store_memory import MemoryConversationStore
from inference.turns.facts import facts_of
from proofs.simulation.stub_turns import StubTurns
from tests.support.feedback_events import RecordingProducer
from tests.support.reporting_events import batch, message

QUESTION = message("q1", content="When does it open?", at=0)
ANSWER = message("a1", content="It opens at nine.", agent="bot", at=5)
REJECTION = message("q2", content="No, that is wrong.", turn="t2", at=60)
EDITED = message("q2", content="And when does it close?", turn="t2", at=70)


class Interrupted(MemoryConversationStore):
    """Store that lets another handler work once, after the messages to judge have been read."""

    other: ConversationHandler | None = None

    async def around(self, places: Collection[Place], reach: int) -> Sequence[Sequence[Placed]]:
        found = await super().around(places, reach)
        other, self.other = self.other, None
        if other is not None:
            await other.handle(batch(EDITED))
        return found


@pytest.mark.parametrize("edited", [False, True])
async def test_what_changed_during_a_look_is_looked_at_again(rules: Detector, edited: bool) -> None:
    """The edit's own judgement finds nothing announced, so only the first judgement can notice that its verdict is
    outdated."""
    store, log = Interrupted(), RecordingProducer()
    first, second = (ConversationHandler(store, StubTurns(), log, rules) for _ in range(2))
    await first.handle(batch(QUESTION, ANSWER))
    store.other = second if edited else None
    await first.handle(batch(REJECTION))
    events = [FeedbackInferredReceived.model_validate_json(one.value or b"") for one in log.sent]
    last = max(events, key=lambda one: one.evaluation)
    assert (last.turn_id, last.reaction) == ("t1", None if edited else "not_ok")


@pytest.mark.parametrize("writer", [{}, {"agent": "bot"}], ids=["a person", "an agent"])
def test_words_that_were_taken_back_are_neither_judged_nor_searched(writer: dict[str, str]) -> None:
    event = message("q2", content=DELETED, at=70, **writer)
    assert indexed(event).message.text == ""
    assert facts_of(event).texts == []
