"""Invalid records of every kind, and broken headers of valid records. No I/O."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Event = dict[str, Any]
Headers = Sequence[tuple[str, bytes | None]]
HOUR = 3_600_000_000


def spoil(event: Event, rng: random.Random) -> bytes | None:
    """Return `event` spoilt in one of the ways of `SPOIL`; None is a record without value."""
    return SPOIL[rng.choice(tuple(SPOIL))](event)


def _text(event: Event, **changed: Any) -> bytes:
    return json.dumps({**event, **changed}, ensure_ascii=False).encode()


def _without(event: Event, name: str) -> bytes:
    return json.dumps({k: v for k, v in event.items() if k != name}, ensure_ascii=False).encode()


def _first_id(event: Event) -> str:
    return "messageId" if "messageId" in event else "turnId"


def _utf8(event: Event) -> bytes:
    return _text(event, spoilt="@@").replace(b"@@", b"\xff\xfe\x80")


SPOIL: Mapping[str, Callable[[Event], bytes | None]] = {
    "no_value": lambda event: None,
    "empty": lambda event: b"",
    "not_json": lambda event: b"\x00\x01 not json",
    "cut_off": lambda event: _text(event)[:-20],
    "two_objects": lambda event: _text(event) + _text(event),
    "invalid_utf8": _utf8,
    "nul_in_id": lambda event: _text(event, conversationId="a\x00b"),
    "control_in_id": lambda event: _text(event, eventId="a\nb"),
    "too_large": lambda event: _text(event, padding="x" * 1_100_000),
    "too_deep": lambda event: _text(event, deep=0).replace(b'"deep": 0', b'"deep": ' + b"[" * 9_000 + b"]" * 9_000),
    "future": lambda event: _text(event, occurredAt="2099-01-01T00:00:00Z"),
    "before_1970": lambda event: _text(event, occurredAt="1960-01-01T00:00:00Z"),
    "no_offset": lambda event: _text(event, occurredAt="2026-11-20T12:00:00"),
    "no_event_id": lambda event: _without(event, "eventId"),
    "no_id": lambda event: _without(event, _first_id(event)),
    "wrong_type": lambda event: _text(event, conversationId=["c"]),
    "bad_tenant": lambda event: _text(event, tenant="a/b"),
    "long_id": lambda event: _text(event, conversationId="x" * 257),
    "version_2": lambda event: _text(event, version=2),
    "negative_sequence": lambda event: _text(event, sequence=-5),
    "a_list": lambda event: b"[1, 2, 3]",
    "a_string": lambda event: b'"feedback"',
    "tenant_twice": lambda event: _text(event)[:-1] + b', "tenant": "other"}',
    "nul_in_text": lambda event: _text(event, **{_text_field(event): "a\x00b"}),
}


def _text_field(event: Event) -> str:
    return next(name for name in ("content", "emoji", "text") if name in event)


BROKEN_HEADERS: tuple[Headers, ...] = (
    [("traceparent", b"\xff\xfe\x00")],
    [("traceparent", None)],
    [("cause", b"not a place")],
    [("cause", b"\xc3\x28")],
    [("cause", None)],
    [("", b"")],
    [("x" * 300, b"y" * 8_000)],
    [("ключ", "значение".encode())],
    [("a", b"1"), ("a", b"2"), ("a", None)],
    [("content-type", b"\x80application/json"), ("correlation_id", b"\x00\xff"), ("message_id", b"\xfe")],
)
"""Headers as foreign producers may send them; they do not make the record invalid."""
