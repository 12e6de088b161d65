"""Posts and comments, from the intakes to the reports: any order, erasures, tenants, and chats with the same ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from servicekit.log.records import Message
from standalone.one_process.replay import Routed, route
from tests.support.post_events import Given, commented, discussions, published, reacted, recount
from tests.support.running_stack import RunningStack, message

BASE = "/conversations/acme/support"
LIVE = """
    select tenant, substr(conversation_id, 6) as post, feedback_type, user_id,
        case feedback_type when 'reaction' then agent_message_id end as about, reaction, source
    from reporting.{table} where project = 'support' and conversation_id like 'post:%' and {live}"""


async def ingest(stack: RunningStack, *events: Any, tenant: str = "acme") -> None:
    """Send events over HTTP like a forum without a Kafka client."""
    body = "\n".join(json.dumps(event) for event in events)
    headers = {"Content-Type": "application/x-ndjson"}
    async with stack.client() as http:
        answer = await http.post(f"/ingest/{tenant}/support/events", content=body.encode(), headers=headers)
        while answer.status_code == 503:  # the log is slow: it is safe to send the events again
            answer = await http.post(f"/ingest/{tenant}/support/events", content=body.encode(), headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.json()["refused"] == []


async def publish(stack: RunningStack, *events: Any) -> None:
    """Write events to the log like a forum with a Kafka client."""
    records = [record for event in events if isinstance(record := route(json.dumps(event).encode()), Routed)]
    assert len(records) == len(events)
    await stack.stack.log.send([Message(record.topic, record.key, record.value) for record in records])


async def given(stack: RunningStack, *posts: str) -> set[Given]:
    """Return the live records about posts, in the tables that the reports read."""
    reactions = await stack.rows(LIVE.format(table="feedbacks", live="reaction is not null"))
    replies = await stack.rows(
        "select f.tenant, substr(f.conversation_id, 6) as post, f.user_id, f.source_id from feedback.feedback f "
        "join reporting.feedbacks r using (feedback_id) where r.value is not null and r.feedback_type = 'implicit' "
        "and f.source = 'post'"
    )
    assert {row["source"] for row in reactions} <= {"post"}
    found = {
        Given(row["tenant"], row["post"], row["feedback_type"], row["user_id"], row["about"], row["reaction"])
        for row in reactions
    }
    found |= {Given(row["tenant"], row["post"], "implicit", row["user_id"], row["source_id"], None) for row in replies}
    return {one for one in found if one.post in posts}


async def search(stack: RunningStack, token: str = "all", **body: Any) -> Sequence[Any]:
    span = {"start": "2026-01-01T00:00:00Z", "end": "2026-02-01T00:00:00Z"}
    async with stack.client(token) as http:
        answer = await http.post(f"{BASE}/feedback/search", json=span | body)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


@pytest.mark.parametrize("seed", range(3))
async def test_any_order_gives_the_recount_of_the_input(stack: RunningStack, seed: int) -> None:
    random, posts = Random(seed), [f"{seed}{number}" for number in range(4)]
    said = discussions(random, posts, ("acme", "globex"))
    half = len(said) // 2
    for tenant in ("acme", "globex"):
        await ingest(stack, *(one for one in said[:half] if one["tenant"] == tenant), tenant=tenant)
    await stack.quiet()
    for tenant in ("acme", "globex"):
        await ingest(stack, *(one for one in said[half:] if one["tenant"] == tenant), tenant=tenant)
    await stack.quiet()
    expected = recount(said)
    assert len({one.kind for one in expected}) == 2
    assert await given(stack, *posts) == expected


async def test_a_chat_with_the_ids_of_a_post_is_another_conversation(stack: RunningStack) -> None:
    thumb = {"topic": "chat.message.reaction.ingested", "userId": "ann", "emoji": "👎", "eventId": "chat thumb"}
    same = {"occurredAt": "2026-01-01T10:02:00Z", "tenant": "acme", "project": "support"}
    await ingest(
        stack,
        published("same", content="A post"),
        reacted("same", "👍", 30),
        message("same", "same", agent="bot", content="A message"),
        {**thumb, **same, "conversationId": "same", "messageId": "same"},
    )
    await stack.quiet()
    found = [one for one in await search(stack, user_id="ann") if one["conversation_id"].endswith("same")]
    assert sorted((one["conversation_id"], one["reaction"]) for one in found) == [
        ("post:same", "ok"),
        ("same", "not_ok"),
    ]
    rows = await stack.rows("select source, source_id from feedback.feedback where conversation_id ~ 'same$'")
    assert sorted(map(tuple, rows)) == [("chat", "same"), ("post", "post:same")]


async def test_a_comment_is_not_judged_and_its_post_has_a_transcript(stack: RunningStack) -> None:
    await ingest(
        stack,
        published("judged", content="The museum opens at nine."),
        commented("judged", "1", 60, content="No, that is wrong, it opens at ten."),
        commented("judged", "2", 70, "bob", parentCommentId="1", content="Thanks, that was helpful!"),
    )
    await stack.quiet()
    for table in ("inference.messages", "inference.verdicts"):
        assert not await stack.rows(f"select from {table} where conversation_id = 'post:judged'")
    [reply] = await search(stack, feedback_type="implicit", conversation_id="post:judged")
    assert (reply["source"], reply["user_id"], reply["text"], reply["turn_id"]) == (
        *("post", "ann", "No, that is wrong, it opens at ten.", "post:judged"),
    )
    async with stack.client() as http:
        page = await http.get(
            "/dashboard/conversation", params={"tenant": "acme", "project": "support", "id": "post:judged"}
        )
    assert page.status_code == 200
    assert "The museum opens at nine." in page.text


async def test_an_erasure_covers_comments_and_reactions_that_wait_or_come_late(stack: RunningStack) -> None:
    by_dora = (
        commented("erased", "1", 60, "dora", authorType="human", content="Private words of Dora"),
        reacted("erased", "👎", 61, "dora"),
        commented("later", "1", 60, "dora", authorType="human", content="Private words of Dora"),
        published("doras", 60, "dora", authorType="human", content="Private words of Dora"),
    )
    await ingest(stack, published("erased"), *by_dora)
    await stack.quiet()
    assert len(await search(stack, user_id="dora")) == 2
    waiting = "select from chat_bridge.parked where original_message_id = 'post:later'"
    assert await stack.rows(waiting)
    async with stack.client() as http:
        assert (await http.delete("/tenants/acme/users/dora")).status_code == 202
    await stack.quiet()
    assert not await stack.rows(waiting)
    late = (
        commented("erased", "2", 62, "dora", authorType="human", content="Private words of Dora"),
        published("late", 60, "dora", authorType="human", content="Private words of Dora"),
        reacted("never", "👎", 61, "dora"),
    )
    await publish(stack, *by_dora, *late, published("later"))
    await stack.quiet()
    assert not await search(stack, user_id="dora")
    for table in ("reporting.messages", "reporting.feedbacks", "feedback.feedback", "chat_bridge.parked"):
        rows = await stack.rows(f"select t::text from {table} t")
        assert [row for row in rows if "Private words of Dora" in row["t"]] == [], table
    assert not await stack.rows("select from reporting.messages where sender_id = 'dora'")
    assert not await stack.rows("select from chat_bridge.parked where convert_from(value, 'UTF8') like '%dora%'")
