"""Both clients against services that reject requests, are busy, slow, wrong or down."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from time import monotonic
from typing import Any

import httpx
import pytest

import agent_feedback_kit as kit
from agent_feedback_kit.answers import FilterArguments
from agent_feedback_kit.client.calls import INGEST_BYTES, INGEST_LINES
from agent_feedback_kit.json_text import json_bytes
from tests.support.served import a_page, answering, hanging_up, nonsense, nowhere, silent, trickling
from tests.support.waits import PATIENCE_SECONDS

PLACE: dict[str, Any] = {"tenant": "acme", "project": "support"}
ACCEPTED = {"feedback_id": "f", "ts": "2026-01-01T00:00:00.000000Z"}
Run = Callable[..., Awaitable[Any]]
MIB = 1024 * 1024


async def run_async(url: str, name: str, *args: Any, options: dict[str, Any] | None = None, **given: Any) -> Any:
    async with kit.AsyncClient(url, **PLACE, **(options or {})) as client:
        return await getattr(client, name)(*args, **given)


async def run_sync(url: str, name: str, *args: Any, options: dict[str, Any] | None = None, **given: Any) -> Any:
    def work() -> Any:
        with kit.Client(url, **PLACE, **(options or {})) as client:
            return getattr(client, name)(*args, **given)

    return await asyncio.to_thread(work)


@pytest.fixture(params=[run_async, run_sync], ids=["async", "sync"])
def run(request: pytest.FixtureRequest) -> Run:
    """Call a method of either client."""
    called: Run = request.param
    return called


def answers(*given: httpx.Response, seen: list[httpx.Request]) -> dict[str, Any]:
    """Return client options with the given responses in order; the last one is repeated."""
    left = list(given)

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        answer = left.pop(0) if len(left) > 1 else left[0]
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    quick = kit.Retries(first_wait=0.001, longest_wait=0.002)
    return {"transport": httpx.MockTransport(handle), "token": "secret", "retries": quick}


async def test_ids_are_quoted_and_the_token_is_sent(run: Run) -> None:
    seen: list[httpx.Request] = []
    options = answers(httpx.Response(202, json=ACCEPTED), seen=seen)
    given = await run("http://x/api/", "submit_feedback", "c/1 ?", "t#2", "not_ok", text="né", options=options)
    assert given == ACCEPTED
    [request] = seen
    assert request.url.raw_path == b"/api/conversations/acme/support/c%2F1%20%3F/turns/t%232/feedback"
    assert request.headers["authorization"] == "Bearer secret"
    assert (request.headers["content-type"], request.headers["accept"]) == ("application/json", "application/json")
    assert json.loads(request.content) == {"reaction": "not_ok", "text": "né"}


@pytest.mark.parametrize(
    ("status", "expected", "tries"),
    [
        (400, kit.InvalidRequest, 1),
        (401, kit.Unauthenticated, 1),
        (403, kit.Forbidden, 1),
        (404, kit.NotFound, 1),
        (409, kit.Refused, 1),
        (422, kit.InvalidRequest, 1),
        (429, kit.Busy, 4),
        (500, kit.ServerFault, 1),
        (502, kit.ServerFault, 4),
        (503, kit.Busy, 4),
        (302, kit.UnexpectedAnswer, 1),
    ],
)
async def test_a_refusal_is_an_exception_of_its_own(
    run: Run, status: int, expected: type[kit.AgentFeedbackError], tries: int
) -> None:
    seen: list[httpx.Request] = []
    options = answers(httpx.Response(status, json={"detail": "Because."}), seen=seen)
    with pytest.raises(expected) as caught:
        await run("http://x", "own_feedback", "c", "t", options=options)
    assert type(caught.value) is expected
    assert len(seen) == tries
    assert "secret" not in f"{caught.value!r}"
    if isinstance(caught.value, kit.Refused):
        assert (caught.value.status, caught.value.detail) == (status, "Because.")


async def test_a_busy_service_is_left_alone_for_as_long_as_it_asks(run: Run) -> None:
    busy = httpx.Response(429, json={"detail": "Full."}, headers={"Retry-After": "1"})
    options = answers(busy, httpx.Response(200, json={"status": "ended"}), seen=[])
    began = time.monotonic()
    await run("http://x", "end_session", "thread", "positive", options=options)
    assert time.monotonic() - began >= 0.9


async def test_busy_for_a_while_is_sent_again_unchanged(run: Run) -> None:
    seen: list[httpx.Request] = []
    busy = httpx.Response(429, json={"detail": "Full."}, headers={"Retry-After": "0"})
    options = answers(
        busy, httpx.Response(502, text="<html>"), httpx.Response(200, json={"status": "ended"}), seen=seen
    )
    assert await run("http://x", "end_session", "thread", "positive", options=options) == {"status": "ended"}
    bodies = [json.loads(request.content) for request in seen]
    assert len(bodies) == 3
    assert bodies[0] == bodies[1] == bodies[2]
    assert bodies[0]["idempotency_key"]


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'{"items": 1', b"[" * 100_000, b'{"unrelated": 1}'])
async def test_an_answer_that_is_none(run: Run, body: bytes) -> None:
    options = answers(httpx.Response(200, content=body), seen=[])
    with pytest.raises(kit.UnexpectedAnswer):
        await run("http://x", "detect", "c", "no", options=options)


@pytest.mark.parametrize("part", [{"accepted": "1"}, {"refused": 7}, {"refused": [{}]}, {"refused_total": None}])
async def test_an_answer_of_another_shape_names_the_field_and_not_the_value(run: Run, part: Any) -> None:
    answer = {"accepted": 1, "refused": [], "refused_total": 0} | part
    with pytest.raises(kit.UnexpectedAnswer, match=next(iter(part))) as caught:
        await run("http://x", "ingest", [{"eventId": "e"}], options=answers(httpx.Response(200, json=answer), seen=[]))
    assert "'1'" not in str(caught.value)


async def test_half_a_character_is_sent_as_a_replacement(run: Run) -> None:
    """A text truncated within an emoji ends in a lone surrogate, which JSON parsers reject."""
    seen: list[httpx.Request] = []
    answer = httpx.Response(200, json={"feedback_id": "f", "ts": "2026-01-01T00:00:00Z"})
    await run(
        "http://x", "submit_feedback", "c\ud83d", "t", "ok", text="cut \ud83d", options=answers(answer, seen=seen)
    )
    assert json.loads(seen[0].content)["text"] == "cut \N{REPLACEMENT CHARACTER}"
    assert "/c%EF%BF%BD/" in str(seen[0].url)
    event = kit.events.message(kit.Channel("a", "b", "c\ud83d"), "m", "cut \ud83d", sender_id="\udcff")
    assert json.loads(event.value)["content"] == "cut \N{REPLACEMENT CHARACTER}"
    assert event.key.decode() == "a/b/c\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("server", [silent, trickling, nonsense, a_page, hanging_up])
async def test_a_service_that_is_slow_or_wrong_ends_within_the_timeout(run: Run, server: Any) -> None:
    async with answering(server) as url:
        began = monotonic()
        with pytest.raises((kit.Unreachable, kit.UnexpectedAnswer)) as caught:
            await run(url, "detect", "c", "no", options={"timeout": 0.4, "token": "secret"})
        assert monotonic() - began < PATIENCE_SECONDS
        assert "secret" not in str(caught.value)


async def test_a_service_that_is_gone(run: Run) -> None:
    with pytest.raises(kit.Unreachable):
        await run(nowhere(), "submit_feedback", "c", "t", "ok", options={"timeout": 1.0})


async def test_events_are_sent_in_parts_and_lines_counted_over_all(run: Run) -> None:
    seen: list[httpx.Request] = []
    refused = {"line": 2, "reason": "future", "detail": "occurredAt"}
    answer = httpx.Response(200, json={"accepted": 1, "refused": [refused], "refused_total": 1})
    events = [{"eventId": str(number)} for number in range(INGEST_LINES + 5)]
    given = await run("http://x", "ingest", events, options=answers(answer, seen=seen))
    assert [request.content.count(b"\n") + 1 for request in seen] == [INGEST_LINES, 5]
    assert given["accepted"] == 2
    assert [one["line"] for one in given["refused"]] == [2, INGEST_LINES + 2]
    assert given["refused_total"] == 2
    assert (await run("http://x", "ingest", [], options=answers(answer, seen=seen)))["accepted"] == 0


@pytest.mark.parametrize(("more", "sizes"), [(0, [INGEST_BYTES]), (1, [INGEST_BYTES // 2, INGEST_BYTES // 2])])
async def test_a_request_has_four_mebibytes_at_most(run: Run, more: int, sizes: list[int]) -> None:
    seen: list[httpx.Request] = []
    frame = len(json_bytes({"eventId": "1", "content": ""}))
    lengths = (INGEST_BYTES // 2 - frame, INGEST_BYTES // 2 - frame - 1 + more)
    events = [{"eventId": str(number), "content": "x" * length} for number, length in enumerate(lengths)]
    answer = httpx.Response(200, json={"accepted": 1, "refused": [], "refused_total": 0})
    await run("http://x", "ingest", events, options=answers(answer, seen=seen))
    assert [len(request.content) for request in seen] == sizes
    assert INGEST_BYTES == 4 * 1024 * 1024


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Body of spaces with a JSON object at its end. Tells if it was closed."""

    def __init__(self, size: int) -> None:
        self._parts = [b" " * (size % MIB or MIB), *[b" " * MIB] * ((size - 1) // MIB)]
        self._parts[-1] = self._parts[-1][:-2] + b"{}"
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part

    def close(self) -> None:
        self.is_closed = True

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(("size", "why"), [(64 * MIB, "not one of this API"), (64 * MIB + 1, "larger than 67108864")])
async def test_a_response_has_64_mebibytes_at_most_and_is_closed(run: Run, size: int, why: str) -> None:
    body = Body(size)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=body))
    with pytest.raises(kit.UnexpectedAnswer, match=why):
        await run("http://x", "own_feedback", "c", "t", options={"transport": transport})
    assert body.is_closed


async def test_an_event_without_an_id_is_not_sent(run: Run) -> None:
    seen: list[httpx.Request] = []
    with pytest.raises(ValueError, match="eventId"):
        await run("http://x", "ingest", [{"messageId": "m"}], options=answers(httpx.Response(200), seen=seen))
    assert seen == []


FILTERS: FilterArguments = {"min_confidence": 0.8, "origin": "user", "attributes": {"language": "de"}}


async def rows_async(url: str, options: dict[str, Any]) -> list[Any]:
    async with kit.AsyncClient(url, **PLACE, **options) as client:
        return [row async for row in client.export("kto", records=True, **FILTERS)]


async def rows_sync(url: str, options: dict[str, Any]) -> list[Any]:
    def work() -> list[Any]:
        with kit.Client(url, **PLACE, **options) as client:
            return list(client.export("kto", records=True, **FILTERS))

    return await asyncio.to_thread(work)


@pytest.mark.parametrize("rows", [rows_async, rows_sync])
async def test_an_export_is_rows_and_a_cut_off_one_is_an_error(rows: Any) -> None:
    seen: list[httpx.Request] = []
    assert await rows("http://x", answers(httpx.Response(200, text='{"a": 1}\n{"a": 2}\n'), seen=seen)) == [
        {"a": 1},
        {"a": 2},
    ]
    assert seen[0].url.path == "/conversations/acme/support/exports/kto"
    assert dict(seen[0].url.params) == {
        "min_confidence": "0.8",
        "origin": "user",
        "attributes.language": "de",
        "records": "true",
    }
    with pytest.raises(kit.UnexpectedAnswer):
        await rows("http://x", answers(httpx.Response(200, text='{"a": 1}\n{"a":'), seen=seen))
    with pytest.raises(kit.Forbidden):
        await rows("http://x", answers(httpx.Response(403, json={"detail": "No."}), seen=seen))
    with pytest.raises(kit.Unreachable):
        await rows(nowhere(), {"timeout": 1.0})


async def first_row_async(options: dict[str, Any]) -> Any:
    async with kit.AsyncClient("http://x", **PLACE, **options) as client:
        return await anext(aiter(client.export("kto")))


async def first_row_sync(options: dict[str, Any]) -> Any:
    with kit.Client("http://x", **PLACE, **options) as client:
        return next(iter(client.export("kto")))


class EndlessRows(httpx.AsyncByteStream, httpx.SyncByteStream):
    """Body of an export that never ends."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b'{"a": 1}\n'

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield b'{"a": 1}\n'


@pytest.mark.timeout(180)
@pytest.mark.parametrize("first_row", [first_row_async, first_row_sync])
async def test_rows_of_an_export_come_before_its_end(first_row: Any) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=EndlessRows()))
    assert await first_row({"transport": transport}) == {"a": 1}


@pytest.mark.parametrize(
    "url", ["", "feedback.example", "ftp://x", "http://u:p@x", "http://x?q=1", "http://x#f", "http://"]
)
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="the URL must be like"):
        kit.Client(url, **PLACE)


@pytest.mark.parametrize("timeout", [0, -1.0])
def test_a_timeout_is_above_zero(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout must be above 0 seconds"):
        kit.Client("http://x", **PLACE, timeout=timeout)


def test_neither_client_shows_its_token() -> None:
    with kit.Client("http://x", token="secret", **PLACE) as client:
        assert "secret" not in repr(vars(client))
    assert "timeout" not in kit.Client.submit_feedback.__doc__.lower()  # type: ignore[union-attr]
    assert kit.AsyncClient.detect.__doc__ == kit.Client.detect.__doc__


async def test_a_token_may_be_a_function(run: Run) -> None:
    tokens = iter(["first", "second"])
    seen: list[httpx.Request] = []
    options = answers(httpx.Response(503), httpx.Response(202, json=ACCEPTED), seen=seen)
    await run("http://x", "clear_feedback", "c", "t", options=options | {"token": lambda: next(tokens)})
    assert [request.headers["authorization"] for request in seen] == ["Bearer first", "Bearer second"]
