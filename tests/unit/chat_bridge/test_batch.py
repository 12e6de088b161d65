"""Outcomes of the messages of a batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from chat_bridge.model import batched, latest_versions, message_outcomes
from contracts.chat import ChatMessageIngested
from contracts.topics import BY_NAME
from servicekit.log.outcome import Outcome
from servicekit.log.records import Coordinates, RawRecord, Received
from tests.support.logs import example

TOPIC, REPLY = "chat.message.ingested", "chat.message.reply.ingested"
STORED, UNCHANGED = Outcome.STORED, Outcome.UNCHANGED


def read(number: int, content: str) -> Received[ChatMessageIngested]:
    """Return the numbered version of a message, as read from the log."""
    changes = {"eventId": f"e{number}", "occurredAt": f"2026-11-20T09:0{number}:00Z", "content": content}
    event = ChatMessageIngested.model_validate_json(example(TOPIC, "agent", **changes))
    return Received(event, RawRecord(Coordinates(TOPIC, 0, number), None, b"{}", (), event.occurred_at))


def a_persons(topic: str, number: int) -> Received[Any]:
    """Return a person's reply, from its message event or its reply event; both say the same."""
    about = {"originalMessageId": "m1"} if topic == REPLY else {}
    said = {"messageId": "m2", "conversationId": "c1", "senderId": "ann", "senderType": "human", "content": "Sure?"}
    place = {"tenant": "acme", "project": "support", "eventId": f"e{number}", "version": 1}
    value = json.dumps(place | said | about | {"occurredAt": f"2026-11-20T09:0{number}:00Z"}).encode()
    event = BY_NAME[topic].event.model_validate_json(value)
    return Received(event, RawRecord(Coordinates(topic, 0, number), None, value, (), event.occurred_at))


@pytest.mark.parametrize(
    ("is_changed", "contents", "outcomes"),
    [
        (True, ["At nine."], [STORED]),
        (False, ["At nine."], [UNCHANGED]),
        (True, ["At nine.", "At nine."], [STORED, UNCHANGED]),
        (True, ["At nine.", "At ten."], [STORED, STORED]),
        (False, ["At nine.", "At ten."], [UNCHANGED, UNCHANGED]),
    ],
)
def test_a_message_is_stored_if_it_changes_the_index(
    is_changed: bool, contents: Sequence[str], outcomes: Sequence[Outcome]
) -> None:
    events = [batched(read(number, content)) for number, content in enumerate(contents)]
    changed = [message.key for message in latest_versions(events) if is_changed]
    assert [*message_outcomes(events, changed).values()] == outcomes


def test_an_earlier_version_that_comes_later_changes_nothing() -> None:
    versions = [read(2, "At nine."), read(1, "At ten."), read(3, "At nine."), read(4, "At ten.")]
    events = [batched(version) for version in versions]
    [latest] = latest_versions(events)
    assert latest.content == "At ten."
    assert [*message_outcomes(events, [latest.key]).values()] == [STORED, UNCHANGED, UNCHANGED, STORED]


@pytest.mark.parametrize(
    ("topics", "outcomes"),
    [
        ([REPLY, TOPIC], [None, STORED]),
        ([REPLY, TOPIC, TOPIC], [None, STORED, UNCHANGED]),
        ([TOPIC, REPLY], [STORED, None]),
        ([TOPIC, REPLY, TOPIC], [STORED, None, UNCHANGED]),
    ],
)
def test_a_messages_own_event_after_a_reply_event_is_news(
    topics: Sequence[str], outcomes: Sequence[Outcome | None]
) -> None:
    events = [batched(a_persons(topic, number)) for number, topic in enumerate(topics)]
    found = message_outcomes(events, [message.key for message in latest_versions(events)])
    assert [found.get(event) for event in events] == outcomes
