"""Bounds of the field types for events from chat services."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from contracts.base import ID_LIMIT
from contracts.extras import install_command
from contracts.inbound import PART_LIMIT, OptionalId, OptionalPartId, PartId, ProducerId, ProducerInstant
from contracts.instants import LAST, Instant, format_instant, parse_instant, parse_loose_instant
from contracts.topics import BY_NAME
from docgen.asyncapi import examples_of

TIMES: TypeAdapter[int] = TypeAdapter(ProducerInstant)


EARLIEST_MS = 100_000_000_000


LAST_MS = LAST // 1_000


@pytest.mark.parametrize(
    ("milliseconds", "microseconds"),
    [
        (EARLIEST_MS, EARLIEST_MS * 1_000),
        (EARLIEST_MS + 0.5, EARLIEST_MS * 1_000 + 500),
        (1_772_357_400_000.0016, 1_772_357_400_000_002),
        (LAST_MS, LAST_MS * 1_000),
    ],
)
def test_a_number_is_read_as_epoch_milliseconds(milliseconds: float, microseconds: int) -> None:
    assert TIMES.validate_json(json.dumps(milliseconds)) == microseconds


@pytest.mark.parametrize("value", [EARLIEST_MS - 1, LAST_MS + 1, 0, -1, float("nan"), float("inf"), True, None, []])
def test_what_cannot_be_epoch_milliseconds_is_refused(value: object) -> None:
    with pytest.raises(ValidationError, match="a time must be RFC 3339 with an offset, or a number of epoch millisec"):
        TIMES.validate_json(json.dumps(value))


@pytest.mark.parametrize(
    ("kind", "limit"),
    [(ProducerId, ID_LIMIT), (OptionalId, ID_LIMIT), (PartId, PART_LIMIT), (OptionalPartId, PART_LIMIT)],
)
@pytest.mark.parametrize("spelling", [str, int])
def test_an_id_has_up_to_its_limit_of_characters_or_digits(kind: Any, limit: int, spelling: type) -> None:
    ids: TypeAdapter[Any] = TypeAdapter(kind)
    for digits in (1, limit):
        assert ids.validate_python(spelling("7" * digits)) == "7" * digits
    with pytest.raises(ValidationError) as refused:
        ids.validate_python(spelling("7" * (limit + 1)))
    [error] = refused.value.errors()
    told = f"must be an integer, or a text of 1 to {limit} characters without control characters"
    assert (error["type"], error["msg"]) == ("spelling", told)


@pytest.mark.parametrize("kind", [ProducerId, OptionalId, PartId, OptionalPartId])
def test_true_is_no_id(kind: Any) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_python(True)


# Times in events: RFC 3339 with an offset, from 1970 to the end of 9999 in UTC.

ADAPTER = TypeAdapter(Instant)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59.999999-00:01"])
def test_a_time_that_ends_after_the_year_9999_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="after the year 9999"):
        parse_instant(text)


def test_the_last_moment_comes_back_as_it_went() -> None:
    assert format_instant(parse_instant("9999-12-31T23:59:59.999999Z")) == "9999-12-31T23:59:59.999999Z"


def test_the_first_moment_comes_back_and_the_one_before_is_refused() -> None:
    assert format_instant(parse_instant("1970-01-01T01:00:00+01:00")) == "1970-01-01T00:00:00.000000Z"
    with pytest.raises(ValueError, match="before 1970"):
        parse_instant("1970-01-01T00:59:59.999999+01:00")


@given(st.integers(0, 253_402_300_799_999_999))
def test_microseconds_and_text_are_those_of_the_datetime(since: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=since)
    text = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}Z"
    assert (format_instant(since), parse_instant(text)) == (text, since)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-01-31 12:00:00.5Z", "2026-01-31T12:00:00.500000Z"),
        ("2026-01-31t12:00z", "2026-01-31T12:00:00.000000Z"),
        ("2026-01-31T12:00:00 Z", "2026-01-31T12:00:00.000000Z"),
        ("2026-01-31 12:00:00 +01:30", "2026-01-31T10:30:00.000000Z"),
        ("2026-01-31 12:00 -0130", "2026-01-31T13:30:00.000000Z"),
        ("2026-01-31 12:00:00.1234567Z", "2026-01-31T12:00:00.123456Z"),
        ("2026-01-31  12:00Z", None),
        ("2026-01-31 12:00  Z", None),
        ("2026-01-31 12:00", None),
        ("2026-01-31 12Z", None),
        ("2026-01-31", None),
        ("31.01.2026 12:00Z", None),
        ("1969-12-31 23:59Z", None),
        ("2026-02-30 12:00Z", None),
    ],
)
def test_the_spellings_of_chat_services(text: str, same: str | None) -> None:
    if same is None:
        with pytest.raises(ValueError):  # each of the rules has its own sentence
            parse_loose_instant(text)
    else:
        assert format_instant(parse_loose_instant(text)) == same


@pytest.mark.parametrize(
    ("value", "is_time"), [(0, True), (LAST, True), (-1, False), (LAST + 1, False), (True, False), (1.0, False)]
)
def test_a_number_of_microseconds_is_a_time_in_python_alone(value: int, is_time: bool) -> None:
    if is_time:
        assert ADAPTER.validate_python(value) == value
    else:
        with pytest.raises(ValidationError):
            ADAPTER.validate_python(value)
    with pytest.raises(ValidationError):
        ADAPTER.validate_json(str(value).lower())


# Commands that install extras, in the kinds of environment in which their texts are read.


def test_an_environment_of_pip_gets_the_extra_added(tmp_path: Path) -> None:
    assert install_command("tracing", tmp_path) == "pip install '.[tracing]' (in the checkout)"


def test_a_tool_of_uv_keeps_the_extras_that_it_has(tmp_path: Path) -> None:
    (tmp_path / "uv-receipt.toml").touch()
    usual = 'uv tool install ".[standalone,issues,encoder]" (in the checkout)'
    assert install_command("issues", tmp_path) == usual
    assert install_command("tracing", tmp_path) == usual.replace("encoder", "encoder,tracing")


# Spellings of chat services: every reader gets the same event as for the usual spelling.

MESSAGE, REPLY, REACTION = "chat.message.ingested", "chat.message.reply.ingested", "chat.message.reaction.ingested"


USUAL: Mapping[tuple[str, str], Mapping[str, Any]] = {
    (MESSAGE, "agent_by_sender"): {"agentId": "trip-planner"},
    (MESSAGE, "time_with_space"): {"occurredAt": "2026-03-01T09:30:00Z"},
    (MESSAGE, "time_in_milliseconds"): {"occurredAt": "2026-03-01T09:30:00Z"},
    (MESSAGE, "numeric_ids"): {
        "eventId": "36",
        "messageId": "36",
        "conversationId": "9007199254740993",
        "turnId": None,
        "senderId": "42",
    },
}
"""By topic and example: the fields in the models' own spelling."""


@pytest.mark.parametrize("place", USUAL, ids="/".join)
def test_a_style_reads_as_the_usual_spelling(place: tuple[str, str]) -> None:
    topic, example = place
    said = dict(examples_of(BY_NAME[topic]))[example]
    kind = BY_NAME[topic].event
    styled, usual = (kind.from_wire(json.dumps(one).encode()) for one in (said, said | USUAL[place]))
    assert styled == usual
    assert BY_NAME[topic].key(styled) == BY_NAME[topic].key(usual)


@pytest.mark.parametrize("name", ["turnId", "threadId", "replyToMessageId", "agentId", "trackId", "userType"])
def test_an_empty_optional_id_is_none(name: str) -> None:
    said = dict(examples_of(BY_NAME[MESSAGE]))["least"]
    without, empty = (BY_NAME[MESSAGE].event.from_wire(json.dumps(one).encode()) for one in (said, said | {name: ""}))
    assert empty == without


@pytest.mark.parametrize("content", ["", " ", "\n\u3000\t"])
def test_a_blank_text_is_empty(content: str) -> None:
    said = dict(examples_of(BY_NAME[REPLY]))["sticker"] | {"content": content}
    event: Any = BY_NAME[REPLY].event.from_wire(json.dumps(said).encode())
    assert (event.content, event.attachments[0].type) == ("", "sticker")
