"""An erased person's texts are in no table of any service, do not return, and every service confirms."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from contracts.instants import DAY, format_instant
from servicekit.clock import SystemClock
from tests.support.databases import SCHEMA_FILES
from tests.support.erasures import erased
from tests.support.running_stack import RunningStack, exchange, message, running_stack

SECRET = "zanzibar-landlord-7431"
NDJSON = {"content-type": "application/x-ndjson"}


def reply(conversation: str, original: str, **fields: Any) -> dict[str, Any]:
    return {
        "topic": "chat.message.reply.ingested",
        "eventId": str(uuid4()),
        "occurredAt": "2026-01-01T10:02:00Z",
        "tenant": "acme",
        "project": "support",
        "messageId": f"{conversation}-reply",
        "originalMessageId": original,
        "conversationId": conversation,
        "senderId": "eve",
        "senderType": "human",
        "content": f"No, that is wrong: {SECRET}",
        **fields,
    }


async def tables_with(stack: RunningStack, text: str) -> list[str]:
    """Return the tables of all services with `text` in any column."""
    connection = await asyncpg.connect(stack.database_url)
    try:
        tables = await connection.fetch(
            "select table_schema, table_name from information_schema.tables "
            "where table_type = 'BASE TABLE' and table_schema = any($1::text[])",
            list(SCHEMA_FILES),
        )
        found = []
        for schema, name in tables:
            held = await connection.fetchval(
                f"select exists (select from {schema}.{name} t, lateral (select row_to_json(t)::text) as row (json) "
                "where strpos(json, $1) > 0 or strpos(json, encode(convert_to($1, 'UTF8'), 'hex')) > 0)",
                text,
            )
            if held:
                found.append(f"{schema}.{name}")
        return found
    finally:
        await connection.close()


def everything_eve_says(conversation: str) -> list[dict[str, Any]]:
    return [
        message(f"{conversation}-q", conversation, turn="t1", senderId="eve", content=f"Where is {SECRET}?"),
        message(f"{conversation}-a", conversation, turn="t1", agent="bot"),
        message(
            f"{conversation}-no",
            conversation,
            turn="t2",
            senderId="eve",
            occurredAt="2026-01-01T10:01:00Z",
            content=f"No, that's wrong, I asked for {SECRET}.",
        ),
        reply(conversation, f"{conversation}-a"),
        reply(conversation, "never-published", messageId=f"{conversation}-parked"),
    ]


async def judged(stack: RunningStack, conversation: str) -> None:
    body = {"reaction": "not_ok", "text": SECRET, "correction": SECRET, "tags": [SECRET], "user_id": "eve"}
    async with stack.client() as http:
        answer = await http.post(f"/conversations/acme/support/{conversation}/turns/t1/feedback", json=body)
    assert answer.status_code == 202, answer.text


async def test_no_table_holds_text_of_an_erased_person(stack: RunningStack) -> None:
    said = everything_eve_says("e-all")
    await stack.publish(*said)
    await judged(stack, "e-all")
    await stack.quiet()
    held = await tables_with(stack, SECRET)
    assert {"inference.messages", "reporting.messages", "feedback.feedback", "reporting.feedbacks"} <= set(held)

    status = await erased(stack, "eve")
    await stack.quiet()
    assert await tables_with(stack, SECRET) == []
    assert {receipt["service"] for receipt in status["receipts"]} == set(SCHEMA_FILES)
    assert all(receipt["removed"] > 0 for receipt in status["receipts"])

    await stack.publish(*said)  # a replay of the very same events
    await stack.quiet()
    assert await tables_with(stack, SECRET) == []


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


async def test_what_others_said_stays(stack: RunningStack) -> None:
    await stack.publish(
        *exchange("e-others", "t1"),
        message("e-bob", "e-others", turn="t1", senderId="bob", content="bob says hello"),
        message("e-dan", "e-others", turn="t1", senderId="dan", content="dan says farewell"),
    )
    await stack.quiet()
    await erased(stack, "bob")
    await stack.quiet()
    assert await tables_with(stack, "bob says hello") == []
    assert {"inference.messages", "reporting.messages"} <= set(await tables_with(stack, "dan says farewell"))


async def test_a_person_of_another_tenant_stays(stack: RunningStack) -> None:
    await stack.publish(message("e-globex", "e-globex", tenant="globex", senderId="zoe", content="zoe of globex"))
    await stack.quiet()
    await erased(stack, "zoe")
    await stack.quiet()
    assert "reporting.messages" in await tables_with(stack, "zoe of globex")


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
        assert [item["rule"] for item in listed if item["event_id"] == events[-1]["eventId"]] == ["erased"]


async def test_what_an_erased_person_says_later_is_taken_in_again(postgres_url: str) -> None:
    in_a_year = SystemClock().now() + 365 * DAY
    async with running_stack(postgres_url, lambda around: replace(around, judge_at=in_a_year)) as stack:
        await erased(stack, "fay")
        said = {"senderId": "fay", "content": "fay is back", "occurredAt": format_instant(in_a_year)}
        await stack.publish(message("e-later", "e-later", **said))
        await stack.quiet()
        assert "reporting.messages" in await tables_with(stack, "fay is back")


@pytest.mark.parametrize("token", ["ann", "chat", "gus"])
async def test_only_an_admin_of_the_whole_tenant_may_erase(stack: RunningStack, token: str) -> None:
    async with stack.client(token) as http:
        assert (await http.delete("/tenants/acme/users/ann")).status_code == 403
        assert (await http.get("/tenants/acme/erasures/any")).status_code == 403
    async with stack.client() as http:
        assert (await http.get("/tenants/acme/erasures/any")).status_code == 404
