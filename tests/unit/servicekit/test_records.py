"""Invalid records are refused with a reason that names the field and no content."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from chat_bridge.dead_letter_reasons import REASONS as BRIDGE_REASONS
from contracts.topics import BY_NAME, CHAT_TOPICS, FEEDBACK_CREATED
from servicekit.log.dead_letter_reasons import REASONS as PLATFORM_REASONS
from servicekit.log.dead_letter_reasons import meaning_of
from servicekit.log.records import Received, Unreadable, read
from tests.support.logs import example, raw

NAMES = {"chat.message.ingested": "agent", "chat.message.reply.ingested": "reply"}


MODELS = {topic.name: topic.event for topic in BY_NAME.values()}


NONSENSE = {"of": ["another", "kind"]}


FIELDS = [
    (topic.name, field.alias or name) for topic in CHAT_TOPICS for name, field in topic.event.model_fields.items()
]


def with_field(topic: str, **fields: Any) -> Received[Any] | Unreadable:
    return read(raw(topic, example(topic, NAMES.get(topic, "added"), **fields)), MODELS)


@pytest.mark.parametrize(("topic", "name"), FIELDS)
def test_an_invalid_field_makes_the_event_invalid(topic: str, name: str) -> None:
    refused = with_field(topic, **{name: NONSENSE})
    assert isinstance(refused, Unreadable)
    assert (refused.reason, refused.detail.partition(":")[0].partition(".")[0]) == ("invalid_event", name)


def test_an_unknown_field_is_ignored() -> None:
    assert isinstance(with_field("chat.message.ingested", anything=NONSENSE), Received)


def test_an_error_in_the_senders_own_fields_does_not_repeat_their_names() -> None:
    found = with_field("chat.message.ingested", attributes={"ann's secret": NONSENSE}, turnId=NONSENSE)
    assert isinstance(found, Unreadable)
    assert "secret" not in found.detail


def test_our_own_events_are_read_strictly() -> None:
    created = FEEDBACK_CREATED.name
    assert isinstance(read(raw(created, example(created, "created", reviews=NONSENSE)), MODELS), Unreadable)


REASONS = {**PLATFORM_REASONS, **BRIDGE_REASONS}


def test_a_reason_of_another_release_has_no_meaning() -> None:
    assert meaning_of("no_such_reason", REASONS) == ""
    meaning = meaning_of("future", REASONS)
    assert meaning.startswith("occurredAt is more than five minutes ahead of the log: set the producer's")


PLAIN = example("chat.message.ingested", "agent")
PARSED = json.loads(PLAIN)
WRAPPED = {
    "Schema Registry": (b"\0\0\0\0\7" + PLAIN, "not one JSON value in UTF-8"),
    "Kafka Connect": (json.dumps({"schema": {"type": "struct"}, "payload": PARSED}), "eventId: field required"),
    "Kafka Connect's string": (json.dumps(PLAIN.decode()), "not a JSON object"),
    "CloudEvents": (json.dumps({"specversion": "1.0", "id": "1", "data": PARSED}), "eventId: field required"),
    "Debezium": (json.dumps({"before": None, "after": PARSED, "op": "c"}), "eventId: field required"),
    "a list": (b"[" + PLAIN + b"]", "not a JSON object"),
    "gzip": (gzip.compress(PLAIN), "not one JSON value in UTF-8"),
    "a byte order mark": (b"\xef\xbb\xbf" + PLAIN, "not one JSON value in UTF-8"),
    "UTF-16": (PLAIN.decode().encode("utf-16"), "not one JSON value in UTF-8"),
}


@pytest.mark.parametrize(("value", "detail"), WRAPPED.values(), ids=WRAPPED)
def test_an_event_in_the_envelope_of_another_program_is_refused_with_the_reason(
    value: bytes | str, detail: str
) -> None:
    refused = read(raw("chat.message.ingested", value if isinstance(value, bytes) else value.encode()), MODELS)
    assert isinstance(refused, Unreadable)
    assert refused.detail == detail


@pytest.mark.parametrize("value", [PLAIN + b"\r\n", b" " + PLAIN], ids=["line break", "blank"])
def test_an_event_with_blanks_around_it_is_read(value: bytes) -> None:
    assert isinstance(read(raw("chat.message.ingested", value), MODELS), Received)
