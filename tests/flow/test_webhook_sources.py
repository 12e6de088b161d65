"""Webhooks of platforms with maps, with their signatures, and all services in one process."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.support.platforms import ENVIRONMENT
from tests.support.platforms import TEAMS_KEY as KEY
from tests.support.running_stack import RunningStack, running_stack

BOT = "28:f5d48856-5b42-41a0-8c3a-c5f944b679b0"


@asynccontextmanager
async def stack_with_maps(database_url: str) -> AsyncIterator[RunningStack]:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in ENVIRONMENT.items():
            environment.setenv(name, value)
        async with running_stack(database_url) as running:
            yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with stack_with_maps(postgres_url) as running:
        yield running


async def send(
    stack: RunningStack, payload: Any, *, key: str = KEY, at: float | None = None, source: str = "teams"
) -> httpx.Response:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    stamp = str(int(time.time() if at is None else at))
    signed = hmac.new(base64.b64decode(key), f"msg_1.{stamp}.".encode() + body, hashlib.sha256).digest()
    headers = {"webhook-id": "msg_1", "webhook-timestamp": stamp, "content-type": "application/json"}
    headers["webhook-signature"] = f"v1,{base64.b64encode(signed).decode()}"
    async with stack.client(None) as http:
        return await http.post(f"/sources/webhooks/{source}", content=body, headers=headers)


def activity(kind: str, number: int, who: str = "29:ann", **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "id": str(number),
        "timestamp": f"2024-01-01T10:00:{number:02}Z",
        "channelId": "msteams",
        "from": {"id": who},
        "conversation": {"id": "19:general@thread.tacv2", "conversationType": "channel"},
        **more,
    }


async def test_a_channel_becomes_feedback_however_often_it_is_sent(stack: RunningStack) -> None:
    happened = [
        activity("message", 1, text="When do you open?"),
        activity("message", 2, BOT, text="At <b>nine</b>."),
        activity("messageReaction", 3, replyToId="2", reactionsAdded=[{"type": "angry"}]),
        activity("messageReaction", 4, "29:bob", replyToId="2", reactionsAdded=[{"type": "heart"}]),
        activity("messageReaction", 5, "29:bob", replyToId="2", reactionsRemoved=[{"type": "heart"}]),
        activity("message", 6, text="No, that's wrong.", replyToId="2"),
    ]
    for payload in [*happened, *reversed(happened)]:
        answer = await send(stack, payload)
        assert (answer.status_code, answer.json()["outcome"]) == (200, "published")
    await stack.quiet()
    place = "/conversations/acme/support/teams%2F19:general@thread.tacv2"
    async with stack.client() as http:
        found = await http.post(f"{place}/turns-with-feedbacks", json={"turn_ids": None, "days": 3650})
        own = await http.get(f"{place}/turns/2/feedback", params={"user_id": "29:ann"})
    assert (own.json()["reaction"], own.json()["emoji"]) == ("not_ok", "😠")
    [turn] = found.json()["turns"]
    assert sorted((one["origin"], one["reaction"]) for one in turn["feedbacks"]) == [
        ("machine", "not_ok"),
        ("user", "not_ok"),
    ]
    assert turn["assistant"]["text"] == "At nine."


async def test_what_is_not_signed_or_old_or_nobodys_is_refused(stack: RunningStack) -> None:
    payload = activity("message", 9, text="private words")
    assert (await send(stack, payload, key=base64.b64encode(b"guessed").decode())).status_code == 401
    assert (await send(stack, payload, at=time.time() - 3600)).status_code == 401
    assert (await send(stack, payload, source="intercom")).status_code == 401
    assert (await send(stack, payload, source="nobody")).status_code == 404
    async with stack.client(None) as http:
        assert (await http.post("/sources/webhooks/teams", json=payload)).status_code == 401


@pytest.mark.parametrize(
    ("payload", "status", "outcome"),
    [
        (activity("typing", 10), 200, "ignored"),
        (activity("message", 11, text="  "), 200, "ignored"),
        (activity("message", 12, text="hi", timestamp="soon"), 200, "refused"),
        (activity("message", 13, text="hi", timestamp="2999-01-01T00:00:00Z"), 200, "refused"),
        (activity("message", 14, text="hi", replyToId="14"), 200, "refused"),
        (activity("message", 15, "x" * 257, text="hi"), 200, "refused"),
        ({}, 200, "ignored"),
        (b"[]", 422, None),
        (b"{", 422, None),
        (b'{"type": "message", "text": "\\ud800"}', 422, None),
    ],
)
async def test_what_is_no_event_harms_nothing(stack: RunningStack, payload: Any, status: int, outcome: Any) -> None:
    answer = await send(stack, payload)
    assert answer.status_code == status
    assert answer.json().get("outcome") == outcome


async def test_one_of_several_that_cannot_be_taken_leaves_the_others(stack: RunningStack) -> None:
    mixed = [{"type": "like"}, {"type": "x" * 101}]
    answer = await send(stack, activity("messageReaction", 16, "29:carl", replyToId="no answer", reactionsAdded=mixed))
    assert answer.json()["outcome"] == "published"


async def test_a_log_without_room_is_tried_again_by_the_platform(postgres_url: str) -> None:
    async with stack_with_maps(postgres_url) as stack:
        stack.backpressure.close()
        assert (await send(stack, activity("message", 30, text="hi"))).status_code == 429
