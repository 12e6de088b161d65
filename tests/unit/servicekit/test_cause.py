"""Cause of a derived record: read from our own header, never from a client's."""

from __future__ import annotations

import pytest

from contracts.chat import ChatMessageIngested
from contracts.headers import CAUSE, TRACEPARENT
from contracts.topics import CHAT_TOPICS
from servicekit.log.dead_letters import dead_letter
from servicekit.log.records import RawRecord, Received, cause_of
from tests.support.logs import example, raw

CLAIMED = "chat.message.ingested:0:1"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def record(topic: str) -> RawRecord:
    return raw(topic, b"{}", 7, 3, [(CAUSE, CLAIMED.encode()), (TRACEPARENT, TRACE.encode())])


@pytest.mark.parametrize("topic", [topic.name for topic in CHAT_TOPICS])
def test_a_cause_that_a_chat_service_claims_is_not_believed(topic: str) -> None:
    own = f"{topic}:3:7"
    assert cause_of(record(topic)) == own
    event = ChatMessageIngested.model_validate_json(example("chat.message.ingested", "least"))
    assert Received(event, record(topic)).derived_headers == [(CAUSE, own.encode()), (TRACEPARENT, TRACE.encode())]
    letter = dead_letter(record(topic), service="chat_bridge", reason="x", error_class="permanent")
    assert CAUSE not in dict(letter.headers)


def test_a_cause_that_we_wrote_is_handed_on() -> None:
    derived = record("feedback.reply.received")
    assert cause_of(derived) == CLAIMED
    letter = dead_letter(derived, service="feedback", reason="x", error_class="permanent")
    assert dict(letter.headers)[CAUSE] == CLAIMED.encode()


def test_a_derived_record_without_a_cause_is_its_own() -> None:
    assert cause_of(raw("feedback.reply.received", b"{}", 7, 3)) == "feedback.reply.received:3:7"
