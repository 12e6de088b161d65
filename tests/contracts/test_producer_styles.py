"""Spellings of chat services: every reader gets the same event as for the usual spelling."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from contracts.topics import BY_NAME
from docgen.asyncapi import examples_of
from docgen.events_page import STYLES, events_page

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


def test_the_page_shows_every_style() -> None:
    page = events_page()
    assert all(f"| {style.title} | `{{" in page for style in STYLES)
