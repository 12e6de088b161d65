"""Limits of size and number that no other table has, by hand from the documents: one value on each side."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import Request

from agent_feedback_kit.client.validation import first_mismatch
from contracts.headers import CAUSE
from contracts.topics import TOPICS
from servicekit.log.dead_letters import dead_letter
from servicekit.log.records import Received, RefusedBatch, Unreadable, read
from servicekit.web.application import add_routes, application, guarded
from servicekit.web.auth import AccessToken
from servicekit.web.routes import Routes
from tests.support.logs import example, raw

FIRST = "feedback.reply.received"
"""A topic of our own, whose headers are trusted."""


@pytest.mark.parametrize(("size", "is_number"), [(9e299, True), (1e300, False), (-1e300, False), (10**400, False)])
def test_a_number_from_1e300_on_is_none(size: float, is_number: bool) -> None:
    assert (first_mismatch(size, float, "share") is None) == is_number


@pytest.mark.parametrize(("length", "reason"), [(1_048_576, None), (1_048_577, "too_large"), (20, "too_short")])
def test_an_event_has_a_mebibyte_at_most(length: int, reason: str | None) -> None:
    topic = "chat.message.ingested"
    value = example(topic, "least").ljust(length)[:length]
    found = read(raw(topic, value), {one.name: one.event for one in TOPICS})
    assert isinstance(found, Received) if reason is None else isinstance(found, Unreadable) and found.reason == reason


def test_a_record_of_an_unknown_topic_cannot_be_read() -> None:
    found: Received[Any] | Unreadable = read(raw("chat.other", example("chat.message.ingested", "least")), {})
    assert isinstance(found, Unreadable) and found.reason == "unknown_topic"


@pytest.mark.parametrize(
    ("record", "kept"),
    [
        ({"key": b"k" * 1_024}, {"key": "k" * 1_024}),
        ({"key": b"k" * 1_025}, {"key": None}),
        ({"headers": [(CAUSE, b"c" * 512)]}, {CAUSE: "c" * 512}),
        ({"headers": [(CAUSE, b"c" * 513)]}, {CAUSE: None}),
        ({"value": b"v" * 2_491_808}, {"sha256": None, "bytes": None, "value": 2_491_808}),
        ({"value": b"v" * 2_491_809}, {"bytes": "2491809", "value": None}),
        ({"refused": RefusedBatch(3, 9, 0, "", "batch_unreadable")}, {"first-offset": "3", "sha256": None}),
        (
            {"refused": RefusedBatch(3, 9, 7, "d", "batch_too_large")},
            {"first-offset": "3", "sha256": "d", "bytes": "7"},
        ),
        ({}, {"first-offset": None, "count": None, "detail": "x" * 200}),
    ],
    ids=lambda value: "-".join(value),
)
def test_a_dead_letter_fits_into_a_record(record: dict[str, Any], kept: dict[str, Any]) -> None:
    letter = dead_letter(
        raw(FIRST, b"v")._replace(**record), service="s", reason="r", error_class="E", detail="x" * 201, offsets=[3]
    )
    found = {name: value.decode() for name, value in letter.headers}
    said = {**found, "key": letter.key, "value": None if letter.value is None else len(letter.value)}
    assert {name: said.get(name) for name in kept} == kept


@pytest.mark.parametrize(
    ("offsets", "count", "text"),
    [([3], None, None), ([3, 4], "2", "3-4"), ([3, 5, 6, 9], "4", "3,5-6,9")],
)
def test_a_letter_of_joined_records_names_their_offsets(offsets: list[int], count: Any, text: Any) -> None:
    letter = dead_letter(raw(FIRST, b"v"), service="s", reason="r", error_class="E", offsets=offsets)
    found = {name: value.decode() for name, value in letter.headers}
    assert (found.get("count"), found.get("offsets")) == (count, text)


def test_the_offsets_of_a_letter_have_32_768_characters_at_most() -> None:
    many = range(10**9, 10**9 + 40_000, 2)  # ten digits and a comma each
    letter = dead_letter(raw(FIRST, b"v"), service="s", reason="r", error_class="E", offsets=many)
    found = {name: value.decode() for name, value in letter.headers}
    assert found["count"] == "20000"
    assert found["offsets"].split(",") == [str(offset) for offset in many[:2_978]]


@pytest_asyncio.fixture
async def echo() -> AsyncIterator[httpx.AsyncClient]:
    async def ready() -> None:
        return None

    app = application(ready)
    routes = Routes("tests", token=False)
    routes.at("POST", "/any", "no token")(_size)
    routes.at("POST", "/large", "no token", body_limit=100_000)(_size)
    add_routes(app, [routes])
    guard = guarded(app, AccessToken("t" * 16))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url="http://here") as http:
        yield http


async def _size(request: Request) -> int:
    return len(await request.body())


@pytest.mark.parametrize("is_declared", [True, False])
@pytest.mark.parametrize(("path", "limit"), [("/any", 65_536), ("/large", 100_000)])
async def test_a_body_has_64_kibibytes_at_most_unless_its_route_says_otherwise(
    echo: httpx.AsyncClient, path: str, limit: int, is_declared: bool
) -> None:
    async def pieces(size: int) -> AsyncIterator[bytes]:
        yield b"x" * (size - 1)
        yield b"x"

    for size, status in ((limit, 200), (limit + 1, 413)):
        answer = await echo.post(path, content=b"x" * size if is_declared else pieces(size))
        assert answer.status_code == status
        assert answer.json() == (size if status == 200 else {"detail": f"The body is larger than {limit} bytes."})
