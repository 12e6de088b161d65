"""Every HTTP intake while the log is full or down: no response acknowledges an event that is not in the log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from tests.support.platforms import ENVIRONMENT, PLATFORMS, Platform, as_body
from tests.support.running_stack import RunningStack, exchange, message, running_stack

SETTINGS = ENVIRONMENT | {"CHAT_BRIDGE_LOG_SECONDS": "5", "FEEDBACK_LOG_SECONDS": "5"}
TURN = "/conversations/acme/support/c1/turns/t1"


def ingested() -> dict[str, Any]:
    body = "".join(json.dumps(event) + "\n" for event in exchange("c2", "t2"))
    return {
        "method": "POST",
        "url": "/ingest/acme/support/events",
        "content": body,
        "headers": {"content-type": "application/x-ndjson"},
    }


def sent_by(platform: Platform) -> dict[str, Any]:
    body = as_body(platform.message)
    return {"method": "POST", "url": platform.path, "content": body, "headers": platform.headers(body)}


def requests_of(verdict: str) -> Mapping[str, dict[str, Any]]:
    """Return a request to every intake by its name; `verdict` is a feedback id to review."""
    return {
        "chat events": ingested(),
        **{name: sent_by(platform) for name, platform in PLATFORMS.items()},
        "a judgement": {"method": "POST", "url": TURN + "/feedback", "json": {"reaction": "ok"}},
        "a review": {"method": "POST", "url": TURN + "/reviews", "json": {"verdict": verdict, "reaction": "ok"}},
        "an erasure": {"method": "DELETE", "url": "/tenants/acme/users/bob"},
    }


TAKEN = {
    "chat events": 200,
    **dict.fromkeys(PLATFORMS, 200),
    "discord": 204,
    "a judgement": 202,
    "a review": 202,
    "an erasure": 202,
}
CONTENTS = "select count(*) from reporting.messages where content = 'private words'"
RATING: dict[str, Any] = {"method": "POST", "url": "/api/threads/c1/end", "json": {"feedback": "positive"}}
"""The end of a session always gets 200 (docs/http.md)."""


async def answers_to(http: httpx.AsyncClient, verdict: str) -> dict[str, httpx.Response]:
    requests = requests_of(verdict)
    answers = await asyncio.gather(*(http.request(**request) for request in requests.values()))
    return dict(zip(requests, answers, strict=True))


async def verdict_on_a_turn(stack: RunningStack) -> str:
    await stack.publish(
        *exchange("c1", "t1"),
        message("q2", "c1", content="No, that is wrong.", occurredAt="2026-01-01T10:01:00Z"),
    )
    await stack.quiet()
    [row] = await stack.rows("select feedback_id from reporting.effective where origin = 'machine'")
    return str(row["feedback_id"])


async def test_nothing_is_answered_as_taken_that_the_log_did_not_take(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    async with running_stack(postgres_url) as stack, stack.client() as http:
        verdict = await verdict_on_a_turn(stack)
        taken = await answers_to(http, verdict)
        assert {name: answer.status_code for name, answer in taken.items()} == TAKEN
        await stack.quiet()
        assert (await stack.rows(CONTENTS))[0]["count"] == len(PLATFORMS)

        stack.broker.stop()
        for name, answer in (await answers_to(http, verdict)).items():
            assert (answer.status_code, answer.headers.get("retry-after")) == (503, "5"), name
            assert answer.json().keys() == {"detail"}, name
        assert (await http.request(**RATING)).status_code == 200

        stack.backpressure.close()
        produced = dict(stack.stack.produced)
        for name, answer in (await answers_to(http, verdict)).items():
            assert answer.status_code == 429, name
            assert 1 <= int(answer.headers["retry-after"]) <= 60, name
        assert stack.stack.produced == produced
        assert (await http.request(**RATING)).status_code == 200
