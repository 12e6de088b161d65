"""Every text field of every inbound event and request: a card number in it is in no table, topic or dead letter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from contracts.chat import ChatMessageIngested, ChatMessageReactionIngested, ChatMessageReplyIngested
from contracts.feedback import FeedbackExplicitReceived
from contracts.posts import PostCommented, PostPublished, PostReacted
from contracts.topics import CHAT_TOPICS, INBOUND_TOPICS, TOPICS
from feedback.api_reviews import GivenReview
from feedback.submission_body import GivenFeedback
from inference.api_bodies import NewMessage
from redaction.redactor import IDENTIFIERS
from servicekit.log.reader import records_of
from servicekit.log.records import Message
from tests.support.erasures import columns_holding
from tests.support.running_stack import RunningStack, message, running_stack

CARD = "4111111111111111"
PROVENANCE = {"intent", "strategy", "attributes"}
TEXTS: Mapping[type[BaseModel], set[str]] = {
    ChatMessageIngested: {"userType", "content", "attachments.type", "attachments.url", *PROVENANCE},
    ChatMessageReplyIngested: {"content", "attachments.type", "attachments.url", "original.content"}
    | {f"original.{name}" for name in PROVENANCE},
    ChatMessageReactionIngested: {"userType", "emoji", "text", "original.content"}
    | {f"original.{name}" for name in PROVENANCE},
    PostPublished: {"userType", "content", "attachments.type", "attachments.url", *PROVENANCE},
    PostCommented: {"userType", "content", "attachments.type", "attachments.url", *PROVENANCE},
    PostReacted: {"userType", "emoji"},
    FeedbackExplicitReceived: {"userType", "text", "tags", "correction", *PROVENANCE},
    GivenFeedback: {"text", "tags", "correction"},
    GivenReview: {"text", "correction"},
    NewMessage: {"text", "previous.content", "previous.question", "previous.strategy", "intent"},
}
"""Text fields that are redacted. Every other text names something."""


def text_fields(model: type[BaseModel], *, by_alias: bool) -> set[str]:
    """Return the paths of the fields that accept any text, except identifiers."""
    schema = model.model_json_schema(by_alias=by_alias)
    return set(_texts(schema, schema.get("$defs", {}), ""))


def _texts(node: Mapping[str, Any], definitions: Mapping[str, Any], path: str) -> Iterator[str]:
    if "$ref" in node:
        node = definitions[node["$ref"].rsplit("/", 1)[-1]]
    if "enum" in node or "const" in node or node.get("format") in ("date-time", "uuid"):
        return
    if node.get("type") == "string" or node.get("additionalProperties") or node.get("patternProperties"):
        yield path
    for choice in (*node.get("anyOf", ()), *([node["items"]] if "items" in node else ())):
        yield from _texts(choice, definitions, path)
    for name, one in node.get("properties", {}).items():
        if name not in IDENTIFIERS:
            yield from _texts(one, definitions, f"{path}.{name}" if path else name)


@pytest.mark.parametrize("model", TEXTS, ids=lambda model: model.__name__)
def test_the_table_has_every_text_field(model: type[BaseModel]) -> None:
    by_alias = model.__module__.startswith("contracts")
    fields = text_fields(model, by_alias=by_alias)
    assert fields == TEXTS[model]


def test_the_table_has_every_inbound_event() -> None:
    assert {topic.event for topic in INBOUND_TOPICS} < TEXTS.keys()


def test_no_id_is_redacted() -> None:
    """Two events with masks for ids would be related wrongly."""
    events = [topic.event for topic in INBOUND_TOPICS] + [FeedbackExplicitReceived]
    names = {field.alias or name for event in events for name, field in event.model_fields.items()}
    assert {name for name in names if name.endswith("Id")} <= IDENTIFIERS


PLACE = {"tenant": "acme", "project": "support", "conversationId": "c1", "occurredAt": "2026-01-01T10:02:00Z"}
ORIGINAL = {"messageId": "a", "conversationId": "c1", "senderId": "bot", "senderType": "agent", "turnId": "t1"}
SAID = f"No, that is wrong: {CARD}"
EVENTS: list[dict[str, Any]] = [
    {
        "topic": "chat.message.ingested", "eventId": "1", "messageId": "m1", "senderId": "ann", "senderType": "human",
        "userType": CARD, "content": SAID, "attachments": [{"type": CARD, "url": f"https://x.example/{CARD}"}],
        "strategy": CARD, "intent": CARD, "attributes": {CARD: CARD, "x": CARD}, "unknown": {"x": [CARD, int(CARD)]},
    },
    {
        "topic": "chat.message.ingested", "eventId": "2", "messageId": "m2", "senderId": "bot", "senderType": "agent",
        "turnId": "t2", "content": SAID, "strategy": CARD, "intent": CARD,
    },
    {
        "topic": "chat.message.reply.ingested", "eventId": "3", "messageId": "m3", "originalMessageId": "a",
        "senderId": "ann", "senderType": "human", "content": SAID, "attachments": [{"type": CARD, "url": CARD}],
        "original": ORIGINAL | {"content": SAID, "intent": CARD, "strategy": CARD, "attributes": {"x": CARD}},
    },
    {
        "topic": "chat.message.reaction.ingested", "eventId": "4", "messageId": "a", "userId": "ann", "emoji": "👎",
        "userType": CARD,
        "original": ORIGINAL | {"content": SAID, "intent": CARD, "strategy": CARD, "attributes": {"x": CARD}},
    },
    {"topic": "chat.message.reaction.ingested", "eventId": "5", "messageId": "a", "userId": "ann", "emoji": CARD},
    {"topic": "chat.message.reaction.ingested", "eventId": "5b", "messageId": "a", "userId": "ann",
     "judgement": "not_ok", "text": SAID},
    {  # parked
        "topic": "chat.message.reply.ingested", "eventId": "6", "messageId": "m6", "originalMessageId": "never",
        "senderId": "ann", "senderType": "human", "content": SAID, "unknown": CARD,
    },
]  # fmt: skip
"""Events with a card number in every text field; identifiers have none."""
PLACED = [one | PLACE | {"occurredAt": f"2026-01-01T10:02:{number:02}Z"} for number, one in enumerate(EVENTS)]
A_TURN = (message("q", "c1", turn="t1"), message("a", "c1", turn="t1", agent="bot"))
BROKEN = (
    json.dumps(EVENTS[0] | PLACE | {"senderType": "nobody"}),
    json.dumps(EVENTS[2] | PLACE | {"content": int(CARD)}),
    json.dumps(EVENTS[0] | PLACE)[:-1],
    f"{SAID} and nothing else, sixty-four bytes of which are no JSON at all",
    '{"tenant": "acme", ' + json.dumps(EVENTS[0] | PLACE)[1:],
)
"""Records that become dead letters."""


async def log_holding(stack: RunningStack, text: str) -> set[str]:
    """Return the topics with `text` in the key, value or a header of any record."""
    topics = [name for topic in TOPICS for name in (topic.name, topic.dead_letters)]
    found = set()
    async for records in records_of(stack.broker.bootstrap, topics):
        found |= {one.topic for one in records if text in repr((one.key, one.value, one.headers))}
    return found


async def test_a_card_number_in_any_text_is_stored_and_published_nowhere(
    postgres_url: str,
) -> None:
    async with running_stack(postgres_url) as stack, stack.client() as http:
        await stack.publish(*A_TURN, *PLACED)
        await stack.stack.log.send([Message("chat.message.ingested", None, one.encode()) for one in BROKEN])
        await stack.quiet()
        turn = "/conversations/acme/support/c1/turns/t1"
        body = {"reaction": "not_ok", "text": SAID, "correction": SAID, "tags": [CARD, f"{CARD}!"], "user_id": "bob"}
        assert (await http.post(f"{turn}/feedback", json=body)).status_code == 202
        await stack.quiet()
        [row] = await stack.rows("select feedback_id from reporting.effective where origin = 'machine' limit 1")
        review = {"verdict": str(row[0]), "reaction": "ok", "text": SAID, "correction": SAID}
        answer = await http.post(f"{turn}/reviews", json=review)
        assert answer.status_code == 202, answer.text
        asked = {"text": SAID, "previous": {"message_id": "a", "content": SAID, "question": SAID, "strategy": CARD}}
        answer = await http.post("/conversations/acme/support/c1/detect", json=asked)
        assert answer.status_code == 200
        assert CARD not in answer.text
        await stack.quiet()
        assert await columns_holding(stack.database_url, CARD) == set()
        assert await columns_holding(stack.database_url, "[card]") > {
            "reporting.messages.content",
            "chat_bridge.parked.value",
        }
        # The chat service wrote its own topics.
        own = {topic.name for topic in CHAT_TOPICS}
        assert await log_holding(stack, CARD) <= own
        assert {"chat.message.ingested.dlq", "feedback.explicit.received"} <= await log_holding(stack, "[card]")


async def test_events_over_http_are_redacted_before_they_are_in_the_log(postgres_url: str) -> None:
    async with running_stack(postgres_url) as stack, stack.client() as http:
        lines = [*A_TURN, *PLACED]
        content = "".join(json.dumps(one) + "\n" for one in lines) + "\n".join(BROKEN)
        headers = {"content-type": "application/x-ndjson"}
        answer = await http.post("/ingest/acme/support/events", content=content, headers=headers)
        assert answer.json()["accepted"] == len(lines), answer.text
        await stack.quiet()
        assert await log_holding(stack, CARD) == set()
        assert await columns_holding(stack.database_url, CARD) == set()
