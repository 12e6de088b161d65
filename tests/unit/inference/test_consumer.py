"""Announcements of the handler while another process works on the same conversation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pytest

from contracts.base import TEXT_LIMIT
from contracts.chat import DELETED
from contracts.feedback import FeedbackInferredReceived
from contracts.provenance import NO_PROVENANCE
from detector.detector import Detector
from inference.handlers import ConversationHandler, indexed
from inference.store import Place, Placed
from inference.turns.facts import facts_of
from proofs.simulation.stub_turns import StubTurns
from tests.support.feedback_events import RecordingProducer
from tests.support.inference_memory import MemoryConversationStore
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
async def test_what_changed_during_a_look_is_looked_at_again(detector: Detector, edited: bool) -> None:
    """The edit's own judgement finds nothing announced, so only the first judgement can notice that its verdict is
    outdated."""
    store, log = Interrupted(), RecordingProducer()
    first, second = (ConversationHandler(store, StubTurns(), log, detector) for _ in range(2))
    await first.handle(batch(QUESTION, ANSWER))
    store.other = second if edited else None
    await first.handle(batch(REJECTION))
    events = [FeedbackInferredReceived.model_validate_json(one.value or b"") for one in log.sent]
    last = max(events, key=lambda one: one.evaluation)
    assert (last.turn_id, last.reaction) == ("t1", None if edited else "not_ok")


async def test_a_verdict_names_the_question_behind_its_answer_whatever_else_was_said(detector: Detector) -> None:
    """In a batch with messages that judge nothing, and with another conversation that has the same ids."""
    said = [
        QUESTION,
        ANSWER,
        message("q2", content="And when does it close?", turn="t2", at=10),
        message("a2", content="It closes at six.", agent="bot", turn="t2", at=15),
        message("q3", content="No, that is wrong.", turn="t3", at=60),
    ]
    elsewhere = [one.model_copy(update={"conversation_id": "c2"}) for one in (QUESTION, ANSWER, REJECTION)]
    log = RecordingProducer()
    await ConversationHandler(MemoryConversationStore(), StubTurns(), log, detector).handle(batch(*said, *elsewhere))
    events = [FeedbackInferredReceived.model_validate_json(one.value or b"") for one in log.sent]
    rejections = {
        (one.conversation_id, one.detected_in_message_id): (one.turn_id, one.question_message_id)
        for one in events
        if one.verdict == "rejected"
    }
    assert rejections == {("c1", "q3"): ("t2", "q2"), ("c2", "q2"): ("t1", "q1")}


@pytest.mark.parametrize("writer", [{}, {"agent": "bot"}], ids=["a person", "an agent"])
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_text_is_kept_up_to_its_limit(writer: dict[str, Any], over: int) -> None:
    event = message("q2", content="x" * (TEXT_LIMIT + over), **writer)
    kept = min(TEXT_LIMIT + over, TEXT_LIMIT)
    assert len(indexed(event).message.text) == kept
    assert [len(text) for text in facts_of(event).texts] == [kept]


def test_the_index_knows_a_persons_role_and_how_an_agents_answer_was_made() -> None:
    fields: dict[str, Any] = {"user_type": "paid", "track_id": "track-1", "turn": None}
    asked, answered = indexed(message("q2", **fields)), indexed(message("a2", agent="bot", **fields))
    assert (asked.user_type, asked.provenance, asked.message.agent_id) == ("paid", NO_PROVENANCE, None)
    assert (answered.user_type, answered.provenance.track_id, answered.message.agent_id) == (None, "track-1", "bot")
    assert [one.message.turn_id for one in (asked, answered)] == ["q2", "a2"], "a turn of its own"


@pytest.mark.parametrize(("thread", "known"), [(None, None), ("q2", None), ("q1", "q1")])
def test_a_message_that_begins_a_thread_is_in_the_channel(thread: str | None, known: str | None) -> None:
    assert indexed(message("q2", thread_id=thread)).message.thread_id == known


@pytest.mark.parametrize("writer", [{}, {"agent": "bot"}], ids=["a person", "an agent"])
def test_words_that_were_taken_back_are_neither_judged_nor_searched(writer: dict[str, str]) -> None:
    event = message("q2", content=DELETED, at=70, **writer)
    assert indexed(event).message.text == ""
    assert facts_of(event).texts == []
