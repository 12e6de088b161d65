"""Messages between services keep their format: golden messages, exported schemas, compatibility."""

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
from contracts.topics import BY_NAME, TOPICS, Topic, consumed_by
from docgen.__main__ import stale
from docgen.asyncapi import asyncapi
from docgen.contract_files import schema_of
from docgen.events_page import STYLES, events_page
from tests.support.compatibility import facts_of, incompatibilities

EXAMPLES = Path(contracts.__file__).parent / "examples"
BASELINE = Path(contracts.__file__).parent / "schemas" / "baseline.json"
STYLED = {(style.topic.name, style.example) for style in STYLES}
"""Examples whose spelling differs from the normalised one: test_producer_styles.py."""
GOLDEN = sorted(EXAMPLES.glob("*/v1/*.json"))


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: f"{file.parts[-3]}/{file.stem}")
def test_golden_messages_are_read_and_written_alike(file: Path) -> None:
    topic = BY_NAME[file.parts[-3]]
    given = json.loads(file.read_text("utf-8"))
    event = topic.event.model_validate_json(file.read_bytes(), by_alias=True, by_name=False)
    again = json.loads(event.model_dump_json(by_alias=True))
    if (topic.name, file.stem) not in STYLED:
        assert _known_part(given, again) == _known_part(again, given)
    assert topic.event.model_validate_json(json.dumps(again)) == event


def _known_part(one: Any, other: Any) -> Any:
    """Reduce `one` at every depth to the names that the other has."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [_known_part(*pair) for pair in zip(one, other, strict=True)]
    if isinstance(one, dict) and isinstance(other, dict):
        return {name: _known_part(value, other[name]) for name, value in one.items() if name in other}
    return one


def test_every_topic_has_golden_messages() -> None:
    assert {file.parts[-3] for file in GOLDEN} == set(BY_NAME)


def test_what_is_exported_from_the_models_is_up_to_date() -> None:
    assert [file.name for file, _ in stale()] == []


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


WRITTEN = r"^[^\x00]*[^\x00\s][^\x00]*$"


def _changed(**properties: Any) -> dict[str, Any]:
    before = {
        "a": {"type": "string", "maxLength": 5},
        "c": {"type": "string", "enum": ["yes", "no"]},
        "d": {"type": "object"},
        "e": {"type": "string", "pattern": WRITTEN},
    }
    return {"type": "object", "required": ["a"], "properties": {**before, **properties}}


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ({"properties": {name: of for name, of in _changed()["properties"].items() if name != "a"}}, "a was removed"),
        (_changed(a={"type": "integer"}), "a no longer accepts ['string']"),
        (_changed(a={"type": "string", "maxLength": 4}), "a: maxLength is tighter"),
        (_changed(a={"type": "string", "maxLength": 5, "enum": ["x"]}), "a no longer accepts all of its choices"),
        ({**_changed(b={"type": "string"}), "required": ["a", "b"]}, "b was added as a required field"),
        (_changed(c={"type": "string", "maxLength": 1}), "c no longer accepts all of its choices"),
        (_changed(c={"type": "string", "enum": ["no"]}), "c no longer accepts all of its choices"),
        (
            _changed(d={"type": "object", "properties": {"x": {}}, "required": ["x"]}),
            "d.x was added as a required field",
        ),
        (_changed(e={"type": "string", "pattern": "^[a-z]$"}), "e: its pattern changed"),
    ],
)
def test_a_breaking_change_is_named(after: dict[str, Any], why: str) -> None:
    assert incompatibilities(facts_of(_changed()), facts_of(after)) == [why]


def test_a_wider_schema_breaks_nobody() -> None:
    wider = _changed(
        a={"anyOf": [{"type": "string", "maxLength": 6}, {"type": "number", "minimum": 1}]},
        b={"type": "string"},
        c={"type": "string", "minLength": 1, "pattern": "^[a-z]+$"},
        e={"type": "string", "pattern": r"^[^\x00]*$"},
        f={"type": "array", "items": {"type": "object", "properties": {"x": {}}, "required": ["x"]}},
    )
    assert incompatibilities(facts_of(_changed()), facts_of(wider)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"eventId": 7.5},
        {"eventId": True},
        {"eventId": None},
        {"eventId": 10**256},
        {"eventId": ""},
        {"eventId": "x" * 257},
        {"messageId": "a\u0000b"},
        {"tenant": "no blanks"},
        {"occurredAt": 1772357400},
        {"occurredAt": 1772357400000000},
        {"occurredAt": True},
        {"occurredAt": float("nan")},
        {"occurredAt": float("inf")},
        {"occurredAt": "1772357400"},
        {"occurredAt": "2026-03-01 09:30:00"},
        {"occurredAt": "2026-03-01T09:30:00"},
        {"occurredAt": "2026-03-01T09Z"},
        {"occurredAt": "2026-03-01  09:30Z"},
        {"occurredAt": "20260301T093000Z"},
        {"occurredAt": "2026-03-01T09:30:00+2500"},
        {"occurredAt": "2026-02-30T09:30:00Z"},
        {"occurredAt": "0001-01-01T00:00:00Z"},
        {"content": None},
        {"attachments": [{"url": "https://example.com/a.png"}]},
        {"userType": "x" * 129},
        {"userType": "a\nb"},
        {"content": "x" * 200_001},
        {"content": "nul \u0000"},
        {"senderType": "Human"},
        {"senderType": "agent", "senderId": ""},
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
        ("2026-03-01 09:30:00Z", "2026-03-01T09:30:00.000000Z"),
        ("2026-03-01T09:30Z", "2026-03-01T09:30:00.000000Z"),
        ("2026-03-01T09:30:00+0000", "2026-03-01T09:30:00.000000Z"),
        ("2026-03-01 11:30 +0200", "2026-03-01T09:30:00.000000Z"),
        (1772357400000, "2026-03-01T09:30:00.000000Z"),
        (1772357400000.5, "2026-03-01T09:30:00.000500Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z"),
    ],
)
def test_times_come_out_in_one_form(written: object, kept: str) -> None:
    sound = json.loads((EXAMPLES / "chat.message.ingested" / "v1" / "least.json").read_text("utf-8"))
    event = BY_NAME["chat.message.ingested"].event.model_validate_json(json.dumps(sound | {"occurredAt": written}))
    assert json.loads(event.model_dump_json(by_alias=True))["occurredAt"] == kept


def test_a_group_reads_what_the_table_says() -> None:
    assert [topic.name for topic in consumed_by("chat_bridge")] == [
        "chat.message.ingested",
        "chat.message.reply.ingested",
        "chat.message.reaction.ingested",
        "post.published",
        "post.commented",
        "post.reacted",
        "feedback.erasure.requested",
    ]
    assert [topic.name for topic in consumed_by("reporting")] == [
        "chat.message.ingested",
        "chat.message.reply.ingested",
        "post.published",
        "post.commented",
        "feedback.erasure.requested",
        "feedback.session.created",
        "feedback.created",
    ]
