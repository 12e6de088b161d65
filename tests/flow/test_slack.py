"""A Slack workspace over HTTP, with Slack's signatures, and all services in one process."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import pytest_asyncio

from tests.support.running_stack import RunningStack, running_stack

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
PATH = "/sources/slack/events"


@asynccontextmanager
async def stack_with_slack(database_url: str) -> AsyncIterator[RunningStack]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("CHAT_BRIDGE_SLACK_SIGNING_SECRET", SECRET)
        environment.setenv("CHAT_BRIDGE_SLACK_TENANT", "acme")
        environment.setenv("CHAT_BRIDGE_SLACK_PROJECT", "support")
        environment.setenv("CHAT_BRIDGE_SLACK_AGENTS", '{"B0BOT": "helper"}')
        async with running_stack(database_url) as running:
            yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with stack_with_slack(postgres_url) as running:
        yield running


async def send(stack: RunningStack, payload: Any, *, secret: str = SECRET, at: float | None = None) -> httpx.Response:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    stamp = str(int(time.time() if at is None else at))
    signature = "v0=" + hmac.new(secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    headers = {
        "x-slack-request-timestamp": stamp,
        "x-slack-signature": signature,
        "content-type": "application/json",
        "x-slack-retry-num": "1",
    }
    async with stack.client(None) as http:
        return await http.post(PATH, content=body, headers=headers)


def callback(number: int, **event: Any) -> dict[str, Any]:
    return {"type": "event_callback", "team_id": "T1", "event_id": f"Ev{number}", "event": {"channel": "C1"} | event}


async def test_a_channel_becomes_feedback_however_often_slack_sends_it(stack: RunningStack) -> None:
    item = {"type": "message", "channel": "C1", "ts": "1700000005.000000"}
    happened = [
        callback(1, type="message", user="U1", text="When do you open?", ts="1700000000.000000"),
        callback(2, type="message", bot_id="B0BOT", text="At nine.", ts="1700000005.000000"),
        callback(3, type="reaction_added", user="U1", reaction="-1", item=item, event_ts="1700000010.000000"),
        callback(4, type="reaction_added", user="U2", reaction="heart", item=item, event_ts="1700000011.000000"),
        callback(5, type="reaction_removed", user="U2", reaction="heart", item=item, event_ts="1700000012.000000"),
        callback(6, type="message", user="U1", text="No, that's wrong.", ts="1700000020.000000",
                 thread_ts="1700000005.000000"),
    ]  # fmt: skip
    for payload in [*happened, *reversed(happened)]:
        answer = await send(stack, payload)
        assert (answer.status_code, answer.json()["outcome"]) == (200, "published")
    await stack.quiet()
    async with stack.client() as http:
        found = await http.post(
            "/conversations/acme/support/slack%2FT1%2FC1/turns-with-feedbacks", json={"turn_ids": None, "days": 3650}
        )
        own = await http.get(
            "/conversations/acme/support/slack%2FT1%2FC1/turns/1700000005.000000/feedback", params={"user_id": "U1"}
        )
    assert (own.json()["reaction"], own.json()["emoji"]) == ("not_ok", "👎")
    [turn] = found.json()["turns"]
    assert sorted((one["origin"], one["reaction"]) for one in turn["feedbacks"]) == [
        ("machine", "not_ok"),
        ("user", "not_ok"),
    ]
    assert turn["assistant"]["text"] == "At nine."


async def test_a_deleted_thread_reply_gives_no_reward_even_after_others_have_joined(stack: RunningStack) -> None:
    def written(number: int, **message: Any) -> dict[str, Any]:
        return callback(number, type="message", channel="C3", **message)

    thread = {"thread_ts": "1700000100.000000", "parent_user_id": "U1"}
    reply = {"user": "U1", "text": "Thanks, call me at 555.", "ts": "1700000120.000000", **thread}
    for payload in (
        written(31, user="U1", text="When do you open?", ts="1700000100.000000"),
        written(32, bot_id="B0BOT", text="At nine.", ts="1700000105.000000", **thread),
        written(33, **reply),
        written(34, user="U2", text="I go there, too.", ts="1700000130.000000", **thread),
    ):
        await send(stack, payload)
    await stack.quiet()
    replies = (
        "select slots::text from feedback.feedback where feedback_type = 'implicit' and conversation_id = 'slack/T1/C3'"
    )
    assert ["555" in row[0] for row in await stack.rows(replies)] == [True]
    gone = {"subtype": "message_deleted", "deleted_ts": reply["ts"], "previous_message": reply}
    await send(stack, written(35, ts="1700000140.000000", **gone))
    await stack.quiet()
    assert ["555" in row[0] or '"present": true' in row[0] for row in await stack.rows(replies)] == [False]


async def test_slacks_feedback_buttons_are_explicit_feedback_with_the_reason(stack: RunningStack) -> None:
    buttons = {
        "type": "feedback_buttons", "action_id": "rate",
        "positive_button": {"text": {"type": "plain_text", "text": "Good"}, "value": "good"},
        "negative_button": {"text": {"type": "plain_text", "text": "Bad"}, "value": "bad"},
    }  # fmt: skip
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "At nine."}}
    blocks = [section, {"type": "context_actions", "elements": [buttons]}]
    answer = {"type": "message", "bot_id": "B0BOT", "text": "", "blocks": blocks, "ts": "1700000405.000000"}
    await send(stack, callback(40, channel="C2", **answer))
    who = {"user": {"id": "U5", "team_id": "T1"}, "team": {"id": "T1"}}
    click = {"type": "feedback_buttons", "action_id": "rate", "value": "bad", "action_ts": "1700000410.000000"}
    clicked = {"type": "block_actions", "channel": {"id": "C2"}, "message": answer, "actions": [click], **who}
    about = json.dumps({"channel": "C2", "message_ts": answer["ts"], "judgement": "not_ok"})
    reason = {"b": {"a": {"type": "plain_text_input", "value": "Closed on Sunday."}}}
    view = {"hash": "1700000415.x", "private_metadata": about, "state": {"values": reason}}
    for payload in (clicked, {"type": "view_submission", "view": view, **who}):
        response = await send(stack, b"payload=" + quote(json.dumps(payload)).encode())
        assert (response.status_code, response.content) == (200, b"")
    await stack.quiet()
    rows = await stack.rows(
        "select feedback_type, slots::text from feedback.feedback where source_id = '1700000405.000000'"
    )
    [(kind, slots)] = [tuple(row) for row in rows]
    payload = json.loads(slots)[""]["payload"]
    assert (kind, payload["reaction"], payload["value"], payload["text"]) == (
        "explicit", "not_ok", -1.0, "Closed on Sunday.",
    )  # fmt: skip


async def test_the_address_is_set_up_by_a_challenge(stack: RunningStack) -> None:
    answer = await send(stack, {"type": "url_verification", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmd"})
    assert answer.json()["challenge"] == "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmd"
