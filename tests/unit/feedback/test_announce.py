"""Announcements of a record, byte by byte."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from contracts.base import Envelope
from contracts.feedback import (
    FeedbackExplicitReceived,
    FeedbackInferredReceived,
    FeedbackReactionReceived,
    FeedbackReplyReceived,
)
from contracts.ids import partition_of
from contracts.topics import FEEDBACK_CREATED
from feedback.model import Change, Record, merge, revise
from feedback.reward import change_of
from feedback.writer import announcement, message_of, tombstone_of
from tests.support.feedback_events import explicit, key, reaction, record

LOGGED = 1_790_000_000_123_456


def stored(*events: object) -> Record:
    found: Record | None = None
    for n, event in enumerate(events):
        change = change_of(event)
        assert isinstance(change, Change)
        found = revise(merge(found, change), LOGGED + n * 1_000)
    assert found is not None
    return found


def announced(record: Record) -> dict[str, object]:
    value: dict[str, object] = json.loads(message_of(record).value or b"")
    return value


def test_a_created_feedback_is_announced_with_everything_it_says() -> None:
    found = stored(explicit("not_ok", at=2, text="wrong é", tags=("slow",), correction="Paris", sequence=7))
    id_ = "50731f38-42a6-59de-92bf-e3eb2e8eb684"
    assert announced(found) == {
        "eventId": "867cf761-9670-5241-98fa-ee6c4a038ec7",
        "occurredAt": "2026-09-21T14:13:22.000000Z",
        "sequence": 7,
        "tenant": "acme",
        "version": 1,
        "project": "support",
        "feedbackId": id_,
        "change": "created",
        "revision": 1_790_000_000_123,
        "recordedAt": "2026-09-21T14:13:20.123000Z",
        "conversationId": "c1",
        "turnId": "t1",
        "agentMessageId": None,
        "agentId": "agent-a",
        "userId": "ann",
        "userType": "human",
        "origin": "user",
        "feedbackType": "explicit",
        "source": "api",
        "sourceId": "t1",
        "reaction": "not_ok",
        "value": -1.0,
        "confidence": 1.0,
        "rating": None,
        "worstRating": None,
        "bestRating": None,
        "text": "wrong é",
        "tags": ["slow"],
        "correction": "Paris",
        "emoji": None,
        "correctionType": None,
        "rn": f"ef:acme:support:ann:c1:t1:artifact:{id_}",
        "trackId": None,
        "bundleId": None,
        "agentVersion": None,
        "model": None,
        "traceId": None,
        "intent": None,
        "strategy": None,
        "attributes": None,
        "causationId": "x1",
        "questionMessageId": None,
        "threadId": None,
        "reviews": None,
        "overruledBy": None,
        "overruledReaction": None,
        "detector": None,
        "decidedBy": None,
        "trainingAllowed": True,
    }


def test_a_change_is_announced_as_updated_under_another_event_id() -> None:
    one = stored(reaction("👍"))
    two = stored(reaction("👍"), reaction("❤️", at=1, event="r2"))
    assert (announced(one)["change"], announced(two)["change"]) == ("created", "updated")
    assert announced(one)["feedbackId"] == announced(two)["feedbackId"]
    assert announced(one)["eventId"] != announced(two)["eventId"]
    assert (announced(two)["emoji"], announced(two)["value"], announced(two)["sequence"]) == ("❤", 0.8, None)


def test_a_cleared_feedback_shows_nothing_of_what_it_said() -> None:
    event = announced(stored(explicit("ok", text="a", tags=("b",)), explicit(None, at=5, event="x2", text="c")))
    shown = {name: event[name] for name in ("reaction", "value", "text", "tags", "correction", "emoji")}
    assert shown == {"reaction": None, "value": None, "text": None, "tags": [], "correction": None, "emoji": None}
    assert (event["change"], event["occurredAt"]) == ("cleared", "2026-09-21T14:13:25.000000Z")


def test_one_born_cleared_is_announced_as_cleared() -> None:
    assert announced(stored(reaction("👍", "removed")))["change"] == "cleared"


def test_the_same_record_is_announced_alike_however_often_and_from_wherever() -> None:
    found = stored(reaction("👍"), reaction("❤️", at=1, event="r2"))
    elsewhere = replace(found, slots=dict(reversed([*found.slots.items()])))
    assert message_of(found) == message_of(found) == message_of(elsewhere)


def test_an_announcement_lies_on_its_conversations_partition_under_its_feedbacks_id() -> None:
    found = stored(explicit())
    message = message_of(found, [("cause", b"chat:0:1")])
    assert (message.topic, message.key, message.headers) == (
        "feedback.created",
        str(found.feedback_id),
        [("cause", b"chat:0:1")],
    )
    assert [message.partition_among(count) for count in (6, 24)] == [
        partition_of("acme/support/c1", count) for count in (6, 24)
    ]


def test_a_stub_is_announced_by_a_tombstone_in_the_same_place() -> None:
    live = record(slot="", at=0)
    stub = replace(live, slots={})
    headers = [("revision", str(stub.revision).encode())]
    assert message_of(stub) == replace(message_of(live), value=None, headers=headers, in_all_partitions=True)
    assert tombstone_of(key(), stub.revision) == message_of(stub)


def test_a_cleared_record_that_still_holds_text_shows_none_of_it() -> None:
    """Rewards drop the text of a retraction. A record that was stored with text must not show it either."""
    held = record(present=False, text="Never mind.", tags=("wrong",), correction="Paris", correction_type="explicit")
    event = announcement(held)
    assert (event.change, event.text, event.tags, event.correction) == ("cleared", None, (), None)
    assert (event.correction_type, event.value, event.reaction) == (None, None, None)


# Every accepted event can be announced: an event at all limits of its contract fits into `feedback.created`.

RULES = 200
"""More elements than any list without its own limit has."""


TOLD = {"emoji": "👍", "agentId": "a" * 256, "worstRating": 0}
"""Values that depend on others: an emoji with a reward, an agent that is not the person, and two ends of a scale."""


def widest(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the largest value that `schema` allows; of a choice the first value that is not null."""
    if "$ref" in schema:
        return widest(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root)
    if "anyOf" in schema:
        return widest(next(branch for branch in schema["anyOf"] if branch.get("type") != "null"), root)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema.get("type"):
        case "object":
            return {name: widest(child, root) for name, child in schema.get("properties", {}).items()}
        case "array":
            return [widest(schema["items"], root)] * schema.get("maxItems", RULES)
        case "integer" | "number":
            return schema.get("maximum", 1)
        case "boolean":
            return True
        case _ if schema.get("format") == "date-time":
            return "2026-06-01T12:00:00Z"
        case _ if "64}" in schema.get("pattern", ""):
            return "s" * 64
        case _ if "31}" in schema.get("pattern", ""):
            return "s" * 32
    return "i" * schema.get("maxLength", 64)


@pytest.mark.parametrize(
    "model", [FeedbackReplyReceived, FeedbackReactionReceived, FeedbackExplicitReceived, FeedbackInferredReceived]
)
def test_the_widest_event_can_be_announced(model: type[Envelope]) -> None:
    schema = TypeAdapter(model).json_schema(by_alias=True)
    found = {name: value for name, value in TOLD.items() if name in schema["properties"]}
    wide = widest(schema, schema) | found
    event = model.model_validate_json(json.dumps(wide), by_alias=True, by_name=False)
    change = change_of(event)
    assert isinstance(change, Change), change
    value = message_of(revise(merge(None, change), 1_790_000_000_000_000)).value
    assert value is not None
    FEEDBACK_CREATED.event.model_validate_json(value)
