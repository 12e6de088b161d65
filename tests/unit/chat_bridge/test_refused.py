"""Rejected events are listed by event id, field and rule, whatever their bytes are."""

from __future__ import annotations

import json

import pytest

from chat_bridge.refused import EventRefusal, refusal_of_line, refusal_of_record
from servicekit.log.outcome import Outcome

MESSAGE = "chat.message.ingested"
WHOLE = {"tenant": "acme", "project": "support", "eventId": "e-1"}


def refusal(
    value: object, topic: str = MESSAGE, reason: str = "invalid_event", detail: str = ""
) -> EventRefusal | None:
    raw = json.dumps(value).encode() if not isinstance(value, bytes) else value
    return refusal_of_record(topic, raw, Outcome.dead_lettered(reason, detail))


def test_a_record_names_its_project() -> None:
    found = refusal(WHOLE, detail="attachments.3.type: field required")
    assert found == EventRefusal("acme", "support", MESSAGE, "e-1", "attachments[].type", "field required")
    assert refusal(WHOLE, reason="future", detail="in words") == EventRefusal(
        "acme", "support", MESSAGE, "e-1", "", "future"
    )


@pytest.mark.parametrize(
    "value",
    [b"{", b"[]", b"\xff", b"[" * 5_000, WHOLE | {"tenant": 7}, WHOLE | {"project": "a/b"}, WHOLE | {"tenant": ""}],
)
def test_a_record_of_nobody_is_told_to_nobody(value: object) -> None:
    assert refusal(value) is None


def test_a_record_of_another_topic_is_not_told() -> None:
    assert refusal(WHOLE, "feedback.erasure.requested") is None


@pytest.mark.parametrize(
    ("event_id", "told"),
    [
        ("e-1", "e-1"),
        (17, "17"),
        ("x" * 256, "x" * 256),
        ("x" * 257, ""),
        ("a\nb", ""),
        ("a\n", ""),
        (True, ""),
        (None, ""),
        ({"a": 1}, ""),
        ("", ""),
    ],
)
def test_only_an_event_id_that_is_one_is_told(event_id: object, told: str) -> None:
    line = json.dumps({"topic": MESSAGE, "eventId": event_id}).encode()
    assert refusal_of_line("acme", "support", line, "invalid_event", "content: field required").event_id == told


@pytest.mark.parametrize(("digits", "told"), [(256, "7" * 256), (257, ""), (5_000, "")])
def test_a_number_without_end_is_no_event_id(digits: int, told: str) -> None:
    line = b'{"topic": "chat.message.ingested", "eventId": %s}' % (b"7" * digits)
    found = refusal_of_line("acme", "support", line, "invalid_event", "eventId: too long")
    assert (found.event_id, found.field, found.rule) == (told, "eventId", "too long")


@pytest.mark.parametrize(
    ("reason", "detail", "field", "rule"),
    [
        ("invalid_event", "content: field required", "content", "field required"),
        ("invalid_event", "a.10.b.2: x: y", "a[].b[]", "x: y"),
        ("invalid_event", "in words", "in words", "invalid_event"),
        ("invalid_event", "", "", "invalid_event"),
        ("other_tenant", "tenant: in words", "", "other_tenant"),
    ],
)
def test_a_rule_without_words_is_told_by_its_name(reason: str, detail: str, field: str, rule: str) -> None:
    by_line = refusal_of_line("acme", "support", json.dumps(WHOLE | {"topic": MESSAGE}).encode(), reason, detail)
    by_record = refusal(WHOLE, reason=reason, detail=detail)
    assert by_line == by_record == EventRefusal("acme", "support", MESSAGE, "e-1", field, rule)


@pytest.mark.parametrize("name", ["tenant", "project"])
def test_a_name_has_at_most_64_characters(name: str) -> None:
    assert refusal(WHOLE | {name: "a" * 64}) is not None
    assert refusal(WHOLE | {name: "a" * 65}) is None


@pytest.mark.parametrize("topic", ["feedback.created", "my secret", 7, None])
def test_a_topic_that_is_none_of_ours_is_not_told(topic: object) -> None:
    found = refusal_of_line("acme", "support", json.dumps({"topic": topic}).encode(), "unknown_topic", "in words")
    assert found == EventRefusal("acme", "support", "", "", "", "unknown_topic")
