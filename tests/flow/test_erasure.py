"""An erasure over the services' routes: who may ask, what is refused afterwards, and what is accepted again."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from contracts.instants import DAY, format_instant
from servicekit.clock import SystemClock
from tests.support.erasures import columns_holding, erased
from tests.support.running_stack import RunningStack, exchange, message, running_stack

NDJSON = {"content-type": "application/x-ndjson"}


async def test_a_session_rating_stays_without_its_name(stack: RunningStack) -> None:
    async def ended(thread: str, token: str) -> None:
        async with stack.client(token) as http:
            body = {"feedback": "positive", "idempotency_key": "key"}
            answer = await http.post(f"/api/threads/{thread}/end", json=body)
            assert answer.status_code == 200

    await ended("e-rated", "chat")
    await ended("e-other", "runtime")
    await erased(stack, "chat-service")
    await ended("e-later", "chat")
    await stack.quiet()
    rows = await stack.rows("select * from feedback.session_feedback order by recorded_at desc limit 3")
    assert [row["user_id_or_null"] for row in rows] == ["chat-service", "ann", None]
    assert [row["idempotency_key"] is None for row in rows] == [False, True, True]


async def test_a_judgement_right_after_an_erasure_is_refused_and_not_dropped(stack: RunningStack) -> None:
    """The refusal does not wait for the consumer that carries out the erasure."""
    await stack.publish(*exchange("e-again", "t1"))
    await stack.quiet()
    judged = "/conversations/acme/support/e-again/turns/t1/feedback"
    async with stack.client() as http:
        assert (await http.post(judged, json={"reaction": "ok", "user_id": "kim"})).status_code == 202
        assert (await http.delete("/tenants/acme/users/kim")).status_code == 202
        answer = await http.post(judged, json={"reaction": "ok", "user_id": "kim"})
        assert (answer.status_code, "was erased" in answer.text) == (409, True)
        assert 290 < int(answer.headers["retry-after"]) <= 300
        review = await http.post(f"{judged.removesuffix('feedback')}reviews", json={"reaction": "ok"})
        assert review.status_code == 202, "others are not affected"


async def test_an_erased_persons_chat_events_are_refused_over_http(stack: RunningStack) -> None:
    events = [*exchange("e-lines", "t1"), message("m9", "e-lines", senderId="lou", content="Hello.")]
    body = "\n".join(json.dumps({"topic": "chat.message.ingested", **event}) for event in events)
    async with stack.client() as http:
        first = (await http.post("/ingest/acme/support/events", content=body, headers=NDJSON)).json()
        assert (first["accepted"], first["refused"]) == (len(events), [])
        await erased(stack, "lou")
        again = (await http.post("/ingest/acme/support/events", content=body, headers=NDJSON)).json()
        assert [(line["line"], line["reason"]) for line in again["refused"]] == [(len(events), "erased")]
        listed = (await http.get("/conversations/acme/support/refused")).json()["items"]
        assert [item["reason"] for item in listed if item["event_id"] == events[-1]["eventId"]] == ["erased"]


async def test_what_an_erased_person_says_later_is_taken_in_again(postgres_url: str) -> None:
    in_a_year = SystemClock().now() + 365 * DAY
    async with running_stack(postgres_url, lambda around: replace(around, reference_time=in_a_year)) as stack:
        await erased(stack, "fay")
        said = {"senderId": "fay", "content": "fay is back", "occurredAt": format_instant(in_a_year)}
        await stack.publish(message("e-later", "e-later", **said))
        await stack.quiet()
        assert "reporting.messages.content" in await columns_holding(stack.database_url, "fay is back")


@pytest.mark.parametrize("token", ["ann", "chat", "gus"])
async def test_only_an_admin_of_the_whole_tenant_may_erase(stack: RunningStack, token: str) -> None:
    async with stack.client(token) as http:
        assert (await http.delete("/tenants/acme/users/ann")).status_code == 403
        assert (await http.get("/tenants/acme/erasures/any")).status_code == 403
    async with stack.client() as http:
        assert (await http.get("/tenants/acme/erasures/any")).status_code == 404
