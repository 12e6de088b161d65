"""Chat events as they are built for HTTP and Kafka."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from agent_feedback_kit import Channel
from agent_feedback_kit.events import message

CHANNEL = Channel("acme", "support", "c1")
AT = datetime(2026, 1, 1, tzinfo=UTC)
FILE = {"type": "image", "url": "https://files.example/a1"}


def test_an_event_does_not_show_its_text() -> None:
    event = message(CHANNEL, "m1", "a private word", sender_id="ann", occurred_at=AT)
    assert "private" not in repr(event)
    assert json.loads(event.value)["content"] == "a private word"


def test_attachments_are_copied_and_left_out_if_there_are_none() -> None:
    given = [dict(FILE)]
    event = message(CHANNEL, "m1", "See this.", sender_id="ann", occurred_at=AT, attachments=given)
    given[0]["type"] = "changed"
    assert event.payload["attachments"] == [FILE]
    assert "attachments" not in message(CHANNEL, "m1", "See this.", sender_id="ann", occurred_at=AT).payload
