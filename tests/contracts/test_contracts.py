"""What services say to each other stays what it was: golden messages, exported schemas, compatibility."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from faststream.specification.asyncapi.v3_0_0.schema import ApplicationSchema
from jsonschema import Draft202012Validator
from pydantic import ValidationError

import contracts
from contracts.asyncapi import asyncapi
from contracts.compatibility import facts_of, incompatibilities
from contracts.events_page import events_page
from contracts.export import schema_of, stale
from contracts.topics import BY_NAME, TOPICS, Topic, consumed_by

EXAMPLES = Path(contracts.__file__).parent / "examples"
BASELINE = Path(contracts.__file__).parent / "schemas" / "baseline.json"
GOLDEN = sorted(EXAMPLES.glob("*/v1/*.json"))


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: f"{file.parts[-3]}/{file.stem}")
def test_golden_messages_are_read_and_written_alike(file: Path) -> None:
    topic = BY_NAME[file.parts[-3]]
    given = json.loads(file.read_text("utf-8"))
    event = topic.event.model_validate_json(file.read_bytes(), by_alias=True, by_name=False)
    again = json.loads(event.model_dump_json(by_alias=True))
    assert _known_part(given, again) == _known_part(again, given)
    assert topic.event.model_validate_json(json.dumps(again)) == event


def _known_part(one: Any, other: Any) -> Any:
    """What of `one` the other has a name for, at every depth."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {name: _known_part(value, other[name]) for name, value in one.items() if name in other}
    return one


def test_every_topic_has_golden_messages() -> None:
    assert {file.parts[-3] for file in GOLDEN} == set(BY_NAME)


def test_what_is_exported_from_the_models_is_up_to_date() -> None:
    assert stale() == []


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_every_field_is_described_in_the_schema(topic: Topic) -> None:
    schema = json.loads(schema_of(topic))
    models = {topic.name: schema, **schema.get("$defs", {})}
    fields = [(name, field, facts) for name, model in models.items() for field, facts in model["properties"].items()]
    assert [f"{name}.{field}" for name, field, facts in fields if not facts.get("description")] == []


def test_the_asyncapi_document_is_sound_and_names_every_topic() -> None:
    document = asyncapi()
    ApplicationSchema.model_validate(document)
    assert set(document["channels"]) == set(BY_NAME)
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document)):
        found: Any = document
        for part in reference.split("/"):
            found = found[part]
    for name, message in document["components"]["messages"].items():
        validator = Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": document["components"]})
        for example in message["examples"]:
            validator.validate(example["payload"])


def test_the_page_of_events_has_every_field_of_every_topic() -> None:
    page = events_page()
    for topic in TOPICS:
        assert f"## `{topic.name}`" in page
        assert all(f"| `{name}` |" in page for name in topic.event.model_json_schema(by_alias=True)["properties"])


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_version_1_takes_every_message_it_took(topic: Topic) -> None:
    baseline = json.loads(BASELINE.read_text("utf-8"))
    now = facts_of(topic.event.model_json_schema(by_alias=True, mode="validation"))
    assert incompatibilities(baseline[topic.name], now) == []


def _changed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "maxLength": 5}, **properties}}


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ({"type": "object", "properties": {}}, "a is gone"),
        (_changed(a={"type": "integer"}), "a no longer takes ['string']"),
        (_changed(a={"type": "string", "maxLength": 4}), "a: maxLength is tighter"),
        (_changed(a={"type": "string", "maxLength": 5, "enum": ["x"]}), "a no longer takes every choice it took"),
        ({**_changed(b={"type": "string"}), "required": ["a", "b"]}, "b is demanded and was not there"),
    ],
)
def test_a_breaking_change_is_named(after: dict[str, Any], why: str) -> None:
    assert incompatibilities(facts_of(_changed()), facts_of(after)) == [why]


def test_a_wider_schema_breaks_nobody() -> None:
    wider = _changed(a={"type": "string", "maxLength": 6}, b={"type": "string"})
    assert incompatibilities(facts_of(_changed()), facts_of(wider)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"eventId": 7},
        {"eventId": ""},
        {"eventId": "x" * 257},
        {"messageId": "a\u0000b"},
        {"tenant": "no blanks"},
        {"occurredAt": 1772357400},
        {"occurredAt": "1772357400"},
        {"occurredAt": "2026-03-01 09:30:00"},
        {"occurredAt": "2026-03-01T09:30:00"},
        {"occurredAt": "2026-02-30T09:30:00Z"},
        {"occurredAt": "0001-01-01T00:00:00Z"},
        {"content": " \n\t"},
        {"content": "x" * 200_001},
        {"content": "nul \u0000"},
        {"senderType": "Human"},
        {"senderType": "agent"},
        {"sequence": -1},
        {"version": 2},
    ],
    ids=lambda change: str(change)[:50],
)
def test_unsound_messages_are_refused(change: dict[str, Any]) -> None:
    sound = json.loads((EXAMPLES / "chat.message.ingested" / "v1" / "least.json").read_text("utf-8"))
    BY_NAME["chat.message.ingested"].event.model_validate_json(json.dumps(sound))
    with pytest.raises(ValidationError):
        BY_NAME["chat.message.ingested"].event.model_validate_json(json.dumps(sound | change), by_name=False)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00.000000Z"),
        ("2026-03-01t09:30:00z", "2026-03-01T09:30:00.000000Z"),
        ("2026-03-01T11:30:00+02:00", "2026-03-01T09:30:00.000000Z"),
        ("2026-03-01T09:30:00.123456789Z", "2026-03-01T09:30:00.123456Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z"),
    ],
)
def test_times_come_out_in_one_form(written: str, kept: str) -> None:
    sound = json.loads((EXAMPLES / "chat.message.ingested" / "v1" / "least.json").read_text("utf-8"))
    event = BY_NAME["chat.message.ingested"].event.model_validate_json(json.dumps(sound | {"occurredAt": written}))
    assert json.loads(event.model_dump_json(by_alias=True))["occurredAt"] == kept


def test_a_group_reads_what_the_table_says() -> None:
    assert [topic.name for topic in consumed_by("chat_bridge")] == [
        "chat.message.ingested",
        "chat.message.reply.ingested",
        "chat.message.reaction.ingested",
        "feedback.erasure.requested",
    ]
    assert [topic.name for topic in consumed_by("reporting")] == [
        "chat.message.ingested",
        "chat.message.reply.ingested",
        "feedback.erasure.requested",
        "feedback.session.created",
        "feedback.created",
    ]
