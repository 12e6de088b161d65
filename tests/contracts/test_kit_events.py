"""The kit has a parameter for every field of our chat events that a chat service can send."""

from __future__ import annotations

from typing import Any

import pytest

from agent_feedback_kit import Channel, events
from contracts.topics import BY_NAME

CHANNEL = Channel("acme", "support", "channel-4")
BUILT = {
    "chat.message.ingested": events.message(CHANNEL, "m-2", "Nine.", sender_id="bot", agent_id="bot", thread_id="m-1"),
    "chat.message.reply.ingested": events.reply(CHANNEL, "m-3", "m-1", "And?", sender_id="ann", thread_id="m-1"),
    "chat.message.reaction.ingested": events.reaction(CHANNEL, "m-2", "👍", user_id="ann", thread_id="m-1"),
}


@pytest.mark.parametrize("topic", BUILT)
def test_a_built_event_reads_as_the_contract_says(topic: str) -> None:
    built = BUILT[topic]
    event: Any = BY_NAME[topic].event.model_validate_json(built.value, by_alias=True, by_name=False)
    assert event.thread_id == "m-1"
    assert built.key.decode() == BY_NAME[topic].key(event)
