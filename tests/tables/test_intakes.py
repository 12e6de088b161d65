"""Every way in over HTTP while the log is full and while it is gone: nothing is answered as taken that is not."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from running_stack import RunningStack, exchange, message, running_stack

SLACK = "slack-signing-secret"
TEAMS = base64.b64encode(b"a key of twenty-four byte").decode()
SETTINGS = {
    "CHAT_BRIDGE_LOG_SECONDS": "1",
    "FEEDBACK_LOG_SECONDS": "1",
    "CHAT_BRIDGE_SLACK_SIGNING_SECRET": SLACK,
    "CHAT_BRIDGE_WEBHOOK_MAPS": str(Path(__file__).parents[2] / "examples" / "webhooks"),
    "ZENDESK_SIGNING_SECRET": "zen",
    "INTERCOM_CLIENT_SECRET": "inter",
    "TEAMS_RELAY_SECRET": TEAMS,
}
JSON = {"content-type": "application/json"}
TURN = "/conversations/acme/support/c1/turns/t1"


def ingested() -> dict[str, Any]:
    body = "".join(json.dumps(event) + "\n" for event in exchange("c2", "t2"))
    return {
        "method": "POST",
        "url": "/ingest/acme/support/events",
        "content": body,
        "headers": {"content-type": "application/x-ndjson"},
    }


def of_slack() -> dict[str, Any]:
    event = {"type": "message", "user": "U1", "text": "hi", "ts": "1700000200.000000", "channel": "C1"}
    body = json.dumps({"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event})
    stamp = str(int(time.time()))
    signature = hmac.new(SLACK.encode(), f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
    signed = {"x-slack-request-timestamp": stamp, "x-slack-signature": f"v0={signature}"}
    return {"method": "POST", "url": "/sources/slack/events", "content": body, "headers": JSON | signed}


def of_teams() -> dict[str, Any]:
    event = {
        "type": "message",
        "id": "30",
        "text": "hi",
        "timestamp": "2024-01-01T10:00:30Z",
        "channelId": "msteams",
        "from": {"id": "29:ann"},
        "conversation": {"id": "19:general@thread.tacv2"},
    }
    body, stamp = json.dumps(event), str(int(time.time()))
    digest = hmac.new(base64.b64decode(TEAMS), f"msg_1.{stamp}.{body}".encode(), hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    signed = {"webhook-id": "msg_1", "webhook-timestamp": stamp, "webhook-signature": signature}
    return {"method": "POST", "url": "/sources/webhooks/teams", "content": body, "headers": JSON | signed}


def requests_of(verdict: str) -> Mapping[str, dict[str, Any]]:
    """A request of every intake by its name; `verdict` is a feedback id to review."""
    return {
        "chat events": ingested(),
        "Slack": of_slack(),
        "a mapped webhook": of_teams(),
        "a judgement": {"method": "POST", "url": TURN + "/feedback", "json": {"reaction": "ok"}},
        "a review": {"method": "POST", "url": TURN + "/reviews", "json": {"verdict": verdict, "reaction": "ok"}},
        "an erasure": {"method": "DELETE", "url": "/tenants/acme/users/bob"},
    }


TAKEN = {
    "chat events": 200,
    "Slack": 200,
    "a mapped webhook": 200,
    "a judgement": 202,
    "a review": 202,
    "an erasure": 202,
}
RATING = {"method": "POST", "url": "/api/threads/c1/end", "json": {"feedback": "positive"}}
"""The end of a session is answered 200 in any case (docs/http.md)."""


async def answers_to(http: httpx.AsyncClient, verdict: str) -> dict[str, httpx.Response]:
    return {name: await http.request(**request) for name, request in requests_of(verdict).items()}


async def verdict_on_a_turn(stack: RunningStack) -> str:
    await stack.publish(
        *exchange("c1", "t1"),
        message("q2", "c1", content="No, that is wrong.", occurredAt="2026-01-01T10:01:00Z"),
    )
    await stack.quiet()
    [row] = await stack.rows("select feedback_id from reporting.effective where origin = 'machine'")
    return str(row["feedback_id"])


async def test_nothing_is_answered_as_taken_that_the_log_did_not_take(
    own_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    async with running_stack(own_database) as stack, stack.client() as http:
        verdict = await verdict_on_a_turn(stack)
        taken = await answers_to(http, verdict)
        assert {name: answer.status_code for name, answer in taken.items()} == TAKEN
        assert [taken[name].json()["outcome"] for name in ("Slack", "a mapped webhook")] == ["published"] * 2
        await stack.quiet()

        stack.broker.stop()
        for name, answer in (await answers_to(http, verdict)).items():
            assert (answer.status_code, answer.headers.get("retry-after")) == (503, "5"), name
            assert answer.json().keys() == {"detail"}, name
        assert (await http.request(**RATING)).status_code == 200

        stack.holdback.close()
        produced = dict(stack.stack.produced)
        for name, answer in (await answers_to(http, verdict)).items():
            assert answer.status_code == 429, name
            assert 1 <= int(answer.headers["retry-after"]) <= 60, name
        assert stack.stack.produced == produced
        assert (await http.request(**RATING)).status_code == 200
