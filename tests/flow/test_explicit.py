"""Explicit feedback over HTTP, from the request to the report."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest_asyncio

from contracts.ids import feedback_id
from contracts.instants import parse_instant
from servicekit.clock import SystemClock
from tests.support.issuer import Issuer, accepting, issuer
from tests.support.running_stack import RunningStack, exchange, message, reaction, running_stack

BASE = "/conversations/acme/support"


def path_of(conversation: str, turn: str) -> str:
    return f"{BASE}/{conversation}/turns/{turn}/feedback"


async def post(stack: RunningStack, conversation: str, turn: str, body: Any, token: str = "ann") -> Any:
    async with stack.client(token) as http:
        return await http.post(path_of(conversation, turn), json=body)


async def own(stack: RunningStack, conversation: str, turn: str, token: str = "ann") -> Any:
    await stack.quiet()
    async with stack.client(token) as http:
        answer = await http.get(path_of(conversation, turn))
    assert answer.status_code == 200
    return answer.json()


async def counts(stack: RunningStack, conversation: str) -> dict[str, int]:
    await stack.quiet()
    async with stack.client() as http:
        body = {"start": "2020-01-01T00:00:00Z", "end": "2100-01-01T00:00:00Z", "include_turns": True}
        answer = await http.post(f"{BASE}/feedback/conversations-in-period", json=body)
    found = [item for item in answer.json()["items"] if item["conversation_id"] == conversation]
    return dict(found[0]["feedback_counts"]) if found else {}


async def test_a_judgement_is_stored_and_reported(stack: RunningStack) -> None:
    await stack.publish(*exchange("c-new", "t1", agentVersion="v7"))
    given = {"reaction": "not_ok", "text": "Wrong hour.", "tags": ["wrong", "wrong"], "correction": "At ten."}
    answer = await post(stack, "c-new", "t1", given)
    assert answer.status_code == 202, answer.text
    expected = feedback_id("acme", "support", "c-new", source="api", user_id="ann", agent_id="", source_id="t1")
    assert answer.json()["feedback_id"] == str(expected)
    held = await own(stack, "c-new", "t1")
    assert (held["reaction"], held["text"], held["tags"], held["correction"]) == (
        "not_ok",
        "Wrong hour.",
        ["wrong"],
        "At ten.",
    )
    assert await counts(stack, "c-new") == {
        "total": 1,
        "user": 1,
        "machine": 0,
        "reviewer": 0,
        "ok": 0,
        "not_ok": 1,
        "neutral": 0,
    }


async def test_turns_and_the_lack_of_them(stack: RunningStack) -> None:
    alone = message("answer-alone", "c-turns", agent="bot")
    asked = message("asked", "c-turns", turn="t-asked")
    await stack.publish(alone, asked)
    assert (await post(stack, "c-turns", "answer-alone", {"reaction": "ok"})).status_code == 202
    assert (await post(stack, "c-turns", "t-asked", {"reaction": "ok"})).status_code == 404
    await stack.publish(message("answered", "c-turns", turn="t-asked", agent="bot"))
    assert (await post(stack, "c-turns", "t-asked", {"reaction": "ok"})).status_code == 202
    assert (await post(stack, "c-turns", "nowhere", {"reaction": "ok"})).status_code == 404
    assert (await post(stack, "c-elsewhere", "t-asked", {"reaction": "ok"})).status_code == 404


async def test_an_answer_just_published_is_waited_for(stack: RunningStack) -> None:
    for number in range(5):
        await stack.publish(*exchange("c-fresh", f"t{number}"))
        assert (await post(stack, "c-fresh", f"t{number}", {"reaction": "ok"})).status_code == 202


async def test_a_body_is_checked_before_anything_is_published(stack: RunningStack) -> None:
    await stack.publish(*exchange("c-bad", "t1"))
    await stack.quiet()
    before = stack.stack.produced["feedback.explicit.received"]
    cases: list[tuple[int, Any]] = [
        (400, {"reaction": "great"}),
        (400, {}),
        (422, []),
        (422, {"reaction": "ok", "text": "nul \x00"}),
        (422, {"reaction": "ok", "text": "x" * 10_001}),
        (422, {"reaction": "ok", "tags": ["x"] * 21}),
        (422, {"reaction": "ok", "ts": "yesterday"}),
        (422, {"reaction": "ok", "ts": "1969-12-31T23:59:59Z"}),
        (422, {"reaction": "ok", "userId": "ann"}),
    ]
    for status, body in cases:
        answer = await post(stack, "c-bad", "t1", body)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json"), (body, answer.text)
    raw: list[tuple[int, bytes, str]] = [
        (422, b"{", "application/json"),
        (422, b'{"reaction":"ok","text":"\\ud800"}', "application/json"),
        (422, b'{"reaction":"ok","text":"\xff"}', "application/json"),
        (413, b'{"reaction":"ok","text":"' + b"x" * 70_000 + b'"}', "application/json"),
        (415, b"reaction=ok", "application/x-www-form-urlencoded"),
        (202, b'{"reaction":"ok"}', "application/json; charset=utf-8"),
    ]
    async with stack.client("ann") as http:
        for status, content, media_type in raw:
            answer = await http.post(path_of("c-bad", "t1"), content=content, headers={"Content-Type": media_type})
            assert answer.status_code == status, (content[:50], answer.text)
        assert (await http.post(path_of("c-bad", "t1"), content=b'{"reaction":"ok"}')).status_code == 415
        chunked = http.build_request(
            "POST", path_of("c-bad", "t1"), content=_chunks(), headers={"Content-Type": "application/json"}
        )
        assert (await http.send(chunked)).status_code == 413
        wrong_path = await http.post(f"{BASE}/c%00/turns/t1/feedback", json={"reaction": "ok"})
        assert wrong_path.status_code == 422
    assert stack.stack.produced["feedback.explicit.received"] == before + 1


async def _chunks() -> Any:
    for _ in range(3):
        yield b" " * 40_000


# The whole application with an issuer's tokens, and for another site's pages.

PATH = "/conversations/acme/support/c-jwt/turns/t1/feedback"


SITE = "https://shop.example"


@pytest_asyncio.fixture
async def source() -> AsyncIterator[Issuer]:
    async with issuer() as running:
        running.add("rsa")
        yield running


def client(stack: RunningStack, source: Issuer) -> httpx.AsyncClient:
    authenticator = accepting(source)
    transport = httpx.ASGITransport(stack.app(authenticator, [SITE], seconds=60))
    return httpx.AsyncClient(transport=transport, base_url="http://stack")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_only_named_sites_may_call_and_never_with_cookies(stack: RunningStack, source: Issuer) -> None:
    ask = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    async with client(stack, source) as http:
        allowed = await http.options(PATH, headers={**ask, "Origin": SITE})
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] == SITE
        assert "access-control-allow-credentials" not in allowed.headers
        denied = await http.options(PATH, headers={**ask, "Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in denied.headers
        answer = await http.get(PATH, headers={**bearer(source.token("rsa")), "Origin": SITE})
        assert answer.headers["access-control-allow-origin"] == SITE
    async with stack.client(None) as http:
        closed = await http.options(PATH, headers={**ask, "Origin": SITE})
        assert closed.status_code == 405
        assert "access-control-allow-origin" not in closed.headers


# Explicit feedback on a run that judges old files as of the day they were written.


async def test_what_is_said_now_counts_for_the_day_of_the_files(postgres_url: str) -> None:
    day = "2026-01-05T00:00:00.000000Z"
    assert SystemClock().now() > parse_instant(day)
    path = "/conversations/acme/support/c1/turns/t1/feedback"
    async with (
        running_stack(postgres_url, lambda around: replace(around, reference_time=parse_instant(day))) as running,
        running.client("ann") as http,
    ):
        await running.publish(*exchange("c1", "t1"))
        for reaction in ("ok", None, "not_ok", "neutral", "ok"):
            answer = await http.post(path, json={"reaction": reaction})
            assert (answer.status_code, answer.json()["ts"]) == (202, day)
            await running.quiet()
            assert (await http.get(path)).json()["reaction"] == reaction
        assert not [one for one in running.seen if one.outcome.kind == "dead_lettered"]


async def test_siblings_are_both_judged_and_a_thumb_is_the_last_answers(stack: RunningStack) -> None:
    """Another question comes in between, in a thread of its own; the first answer gets an emoji, the turn a thumb."""
    times = [f"2026-01-01T10:00:{second:02}Z" for second in range(6)]
    await stack.publish(
        message("q1", "c-again", turn="t1", occurredAt=times[0]),
        message("a1", "c-again", turn="t1", agent="bot", occurredAt=times[1]),
        message("q2", "c-again", occurredAt=times[2], threadId="q0", senderId="bob", content="And the zoo?"),
        message("a2", "c-again", turn="t1", agent="bot", occurredAt=times[3], agentVersion="v2"),
        message("a3", "c-again", agent="bot", occurredAt=times[4], threadId="q0", replyToMessageId="q0"),
        reaction("a1", "c-again", user="bob", occurredAt=times[5]),
    )
    for turn in ("t1", "a3"):
        assert (await post(stack, "c-again", turn, {"reaction": "ok"})).status_code == 202
    await stack.quiet()
    rows = await stack.rows(
        "select agent_message_id, question_message_id, thread_id, agent_version, value from reporting.feedbacks "
        "where conversation_id = 'c-again' order by 1"
    )
    assert [tuple(row) for row in rows] == [
        ("a1", "q1", None, None, -0.6),
        ("a2", "q1", None, "v2", 1.0),
        ("a3", "q2", "q0", None, 1.0),
    ]
