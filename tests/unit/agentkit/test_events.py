"""Chat events as they are built for HTTP and Kafka."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from agent_feedback_kit import Channel, events
from agent_feedback_kit.events import message
from contracts.topics import BY_NAME

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


# The kit has a parameter for every field of our chat events that a chat service can send.

KIT = Channel("acme", "support", "channel-4")


BUILT = {
    "chat.message.ingested": events.message(KIT, "m-2", "Nine.", sender_id="bot", agent_id="bot", thread_id="m-1"),
    "chat.message.reply.ingested": events.reply(KIT, "m-3", "m-1", "And?", sender_id="ann", thread_id="m-1"),
    "chat.message.reaction.ingested": events.reaction(KIT, "m-2", "👍", user_id="ann", thread_id="m-1"),
}


@pytest.mark.parametrize("topic", BUILT)
def test_a_built_event_reads_as_the_contract_says(topic: str) -> None:
    built = BUILT[topic]
    event: Any = BY_NAME[topic].event.model_validate_json(built.value, by_alias=True, by_name=False)
    assert event.thread_id == "m-1"
    assert built.key.decode() == BY_NAME[topic].key(event)


KIT_TIME = datetime(2026, 1, 1, 10, tzinfo=UTC)


COPY: dict[str, Any] = {"messageId": "m-1", "conversationId": "channel-4", "senderId": "bot", "senderType": "agent",
                        "content": "Nine."}  # fmt: skip


IMAGE = {"type": "image", "url": "https://chat.example/1"}


ANSWERED: dict[str, Any] = {
    "sender_id": "bot", "agent_id": "bot-2", "turn_id": "t", "thread_id": "th", "user_type": "paid",
    "reply_to_message_id": "m-0", "attachments": [IMAGE], "intent": "hours", "strategy": "lookup",
    "validation_outcome": "REVISE", "quality_score": 0.5, "track_id": "tr", "bundle_id": "b", "agent_version": "v1",
    "model": "m-9", "trace_id": "tc", "attributes": {"channel": "web"},
}  # fmt: skip


REPLIED: dict[str, Any] = {"sender_id": "bot", "sender_type": "agent", "thread_id": "th", "attachments": [IMAGE],
                           "original": COPY}  # fmt: skip


REACTED: dict[str, Any] = {"user_id": "ann", "user_type": "paid", "action": "removed", "thread_id": "th",
                           "original": COPY}  # fmt: skip


@pytest.mark.parametrize(
    ("built", "fields"),
    [
        (events.message(KIT, "m", "Hi", **ANSWERED), {"message_id": "m", "content": "Hi", "sender_type": "agent",
                                                          **ANSWERED}),
        (events.message(KIT, "m", "", sender_id="ann"), {"message_id": "m", "content": "", "sender_id": "ann",
                                                             "sender_type": "human"}),
        (events.reply(KIT, "m", "o", "Hi", **REPLIED), {"message_id": "m", "original_message_id": "o",
                                                            "content": "Hi", **REPLIED}),
        (events.reply(KIT, "m", "o", "Hi", sender_id="ann"), {"message_id": "m", "original_message_id": "o",
                                                                  "content": "Hi", "sender_id": "ann",
                                                                  "sender_type": "human"}),
        (events.reaction(KIT, "m", "👍", **REACTED), {"message_id": "m", "emoji": "👍", **REACTED}),
        (events.reaction(KIT, "m", "👍", user_id="ann"), {"message_id": "m", "emoji": "👍", "user_id": "ann",
                                                              "user_type": "human", "action": "added"}),
    ],
)  # fmt: skip
def test_an_event_has_each_given_field_and_no_other(built: events.ChatEvent, fields: dict[str, Any]) -> None:
    place = {"topic", "eventId", "occurredAt", "tenant", "project", "conversationId"}
    camel = {"".join([head, *map(str.capitalize, rest)]): name for name in fields for head, *rest in [name.split("_")]}
    said = {camel[name]: value for name, value in built.payload.items() if name not in place}
    assert said == fields
    assert (built.payload["tenant"], built.payload["project"], built.payload["conversationId"]) == (
        "acme",
        "support",
        "channel-4",
    )
    assert built.topic == built.payload["topic"]


def test_a_time_is_in_utc_and_names_the_event_with_what_was_said() -> None:
    def ids(channel: Channel = KIT, name: str = "m", text: str = "Hi", at: datetime = KIT_TIME) -> list[str]:
        made = [
            events.message(channel, name, text, sender_id="ann", occurred_at=at),
            events.reply(channel, name, "o", text, sender_id="ann", occurred_at=at),
            events.reaction(channel, name, text, user_id="ann", occurred_at=at),
        ]
        assert {one.payload["occurredAt"] for one in made} == {at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
        return [one.payload["eventId"] for one in made]

    assert ids() == ids(at=KIT_TIME.astimezone(timezone(timedelta(hours=2))))
    channels = [
        Channel("b", "support", "channel-4"),
        Channel("acme", "b", "channel-4"),
        Channel("acme", "support", "b"),
    ]
    others = [
        ids(),
        *map(ids, channels),
        ids(name="n"),
        ids(text="Ho"),
        ids(at=KIT_TIME + timedelta(microseconds=1)),
    ]
    others.append([events.reply(KIT, "m", "p", "Hi", sender_id="ann", occurred_at=KIT_TIME).payload["eventId"]])
    flat = [one for some in others for one in some]
    assert len({*flat}) == len(flat)


def test_fields_have_their_names_on_the_wire_and_an_unknown_one_is_refused() -> None:
    event = message(CHANNEL, "m1", "At nine.", sender_id="bot", agent_id="bot", reply_to_message_id="q1", turn_id=None)
    assert {"agentId": "bot", "senderType": "agent", "replyToMessageId": "q1"}.items() <= event.payload.items()
    assert "turnId" not in event.payload
    misspelt: dict[str, Any] = {"turnid": "t1"}
    with pytest.raises(TypeError, match="a message has no field turnid"):
        message(CHANNEL, "m1", "At nine.", sender_id="bot", **misspelt)
