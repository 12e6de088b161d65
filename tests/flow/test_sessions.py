"""Ends of sessions over HTTP: stored and announced ratings, responses, and failures of single parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import asyncpg
import pytest
import pytest_asyncio
from aiokafka.errors import KafkaTimeoutError

from agent_feedback_kit.sessions.record import SessionFeedbackRecord, opaque
from contracts.feedback import FeedbackSessionCreated
from contracts.topics import SESSION_CREATED
from feedback.parts import SCHEMA
from feedback.sessions import announce_ratings
from feedback.sessions_postgres import PostgresSessions
from servicekit.db.pools import open_pool
from servicekit.log.records import Message, Producer, Written
from servicekit.service import ServiceContext
from tests.support.logs import RecordingLog
from tests.support.running_stack import RunningStack, exchange, running_stack
from tests.support.waits import PATIENCE_SECONDS

ENDED = (200, {"status": "ended"})


async def end(stack: RunningStack, thread: str, token: str = "ann", **sent: Any) -> tuple[int, Any]:
    async with stack.client(token) as http:
        answer = await http.post(f"/api/threads/{thread}/end", **sent)
    return answer.status_code, answer.json()


async def rows(stack: RunningStack, thread: str) -> list[dict[str, Any]]:
    connection = await asyncpg.connect(stack.database_url)
    try:
        found = await connection.fetch(
            "select * from feedback.session_feedback where session_id_opaque = $1", opaque(thread)
        )
        return [dict(row) for row in found]
    finally:
        await connection.close()


class Tap:
    """Producer that keeps the acknowledged session events, or rejects them while `failing`."""

    def __init__(self) -> None:
        self.failing = False
        self.events: list[FeedbackSessionCreated] = []

    def adapt(self, around: ServiceContext) -> ServiceContext:
        return replace(around, wrap_producer=lambda producer: Tapped(around.wrap_producer(producer), self))

    def announced(self, thread: str) -> list[FeedbackSessionCreated]:
        return [event for event in self.events if event.session_id_opaque == opaque(thread)]


@dataclass(frozen=True)
class Tapped:
    inner: Producer
    tap: Tap

    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        sessions = [message.value or b"" for message in messages if message.topic == SESSION_CREATED.name]
        if sessions and self.tap.failing:
            raise KafkaTimeoutError
        written = await self.inner.send(messages)
        self.tap.events += map(FeedbackSessionCreated.model_validate_json, sessions)
        return written


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def tap() -> Tap:
    return Tap()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str, tap: Tap) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url, tap.adapt) as running:
        yield running


async def marked(stack: RunningStack, thread: str) -> dict[str, Any]:
    """Return the thread's only rating, once it is marked as announced."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            [row] = await rows(stack, thread)
            if row["announced"]:
                return row
            await asyncio.sleep(0.05)


async def test_a_rating_is_kept_counted_and_announced_once(stack: RunningStack, tap: Tap) -> None:
    await stack.publish(*exchange("c-rated", "t1"), *exchange("c-rated", "t2"))
    await stack.quiet()
    assert await end(stack, "c-rated", json={"feedback": "positive"}) == ENDED
    row = await marked(stack, "c-rated")
    assert (row["tenant"], row["label"], row["turn_count_at_end"], row["source"], row["user_id_or_null"]) == (
        "acme",
        "positive",
        2,
        "api_end",
        "ann",
    )
    [event] = tap.announced("c-rated")
    assert (event.tenant, event.id, event.label, event.turn_count_at_end) == ("acme", row["id"], "positive", 2)
    async with stack.client("ann") as http:
        status = await http.get("/api/memory/status", params={"thread_id": "c-rated"})
    assert status.json() == {"thread_id": "c-rated", "session_feedback_count": 1}


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"content": b"null", "headers": {"content-type": "application/json"}},
        {"json": {"feedback": None}},
        {"json": {}},
        {"content": b"  ", "headers": {"content-type": "application/json"}},
    ],
)
async def test_an_end_without_a_rating_keeps_nothing(stack: RunningStack, sent: dict[str, Any]) -> None:
    assert await end(stack, "c-unrated", **sent) == ENDED
    assert await rows(stack, "c-unrated") == []


@pytest.mark.parametrize(
    "sent",
    [
        {"json": {"feedback": "great"}},
        {"json": {"feedback": 1}},
        {"json": {"feedback": "positive", "text": "private words"}},
        {"json": ["positive"]},
        {"content": b'{"feedback"', "headers": {"content-type": "application/json"}},
    ],
)
async def test_what_is_no_label_is_refused_without_repeating_it(stack: RunningStack, sent: dict[str, Any]) -> None:
    status, answer = await end(stack, "c-wrong", **sent)
    assert status == 422
    assert "great" not in str(answer) and "private" not in str(answer)
    assert await rows(stack, "c-wrong") == []


async def test_the_caller_names_where_the_rating_was_given(stack: RunningStack) -> None:
    for source in ("cli_end", "cli_exit"):
        assert await end(stack, f"c-{source}", json={"feedback": "positive", "source": source}) == ENDED
        assert [row["source"] for row in await rows(stack, f"c-{source}")] == [source]
    assert (await end(stack, "c-elsewhere", json={"feedback": "positive", "source": "web"}))[0] == 422


async def test_a_second_end_replaces_the_first_label(stack: RunningStack, tap: Tap) -> None:
    thread = "c-changed-mind"
    await stack.publish(*exchange(thread, "t1"))
    await stack.quiet()
    assert await end(stack, thread, json={"feedback": "positive"}) == ENDED
    await marked(stack, thread)
    assert await end(stack, thread, json={"feedback": "negative"}) == ENDED
    row = await marked(stack, thread)
    events = tap.announced(thread)
    assert [(event.id, event.label) for event in events] == [(row["id"], "positive"), (row["id"], "negative")]
    assert events[0].event_id != events[1].event_id, "consumers skip an event id that they have read"
    await stack.quiet()
    [reported] = await stack.rows(f"select label from reporting.sessions where id = '{row['id']}'")
    assert reported["label"] == "negative"
    assert (await rows(stack, thread))[0]["label"] == "negative"


async def test_the_ends_of_a_resumed_session_are_two_ratings(stack: RunningStack) -> None:
    """A retry within a minute is the same end, even if more of its turns are known by then."""
    thread = "c-resumed"
    await stack.publish(*exchange(thread, "t1"))
    await stack.quiet()
    assert await end(stack, thread, json={"feedback": "positive"}) == ENDED
    await stack.publish(*exchange(thread, "t2"))
    await stack.quiet()
    assert await end(stack, thread, json={"feedback": "positive"}) == ENDED
    assert [row["turn_count_at_end"] for row in await rows(stack, thread)] == [2]
    two_minutes_later = (
        "update feedback.session_feedback set recorded_at = recorded_at - interval '2 minutes' "
        f"where session_id_opaque = '{opaque(thread)}' returning 1"
    )
    await stack.rows(two_minutes_later)
    assert await end(stack, thread, json={"feedback": "negative"}) == ENDED
    assert [row["label"] for row in await rows(stack, thread)] == ["negative"], "no new turns: the same end"
    await stack.rows(two_minutes_later)
    await stack.publish(*exchange(thread, "t3"))
    await stack.quiet()
    assert await end(stack, thread, json={"feedback": "positive"}) == ENDED
    assert sorted((row["turn_count_at_end"], row["label"]) for row in await rows(stack, thread)) == [
        (2, "negative"), (3, "positive"),
    ]  # fmt: skip


async def test_incognito_reaches_no_table_and_no_topic(
    stack: RunningStack, tap: Tap, capfd: pytest.CaptureFixture[str]
) -> None:
    body = {"feedback": "negative", "memory_mode": "incognito"}
    assert await end(stack, "c-canary", json=body) == ENDED
    assert await end(stack, "c-kept", json={"feedback": "negative"}) == ENDED
    await marked(stack, "c-kept")
    assert len(tap.announced("c-kept")) == 1
    async with stack.client("acme") as http:
        status = await http.get("/api/memory/status", params={"thread_id": "c-canary"})
    assert status.json()["session_feedback_count"] == 1
    assert await rows(stack, "c-canary") == []
    assert tap.announced("c-canary") == []
    said = capfd.readouterr()
    assert "c-canary" not in said.out + said.err and opaque("c-canary") not in said.out + said.err


async def test_a_rating_that_the_log_did_not_take_is_announced_by_a_later_sweep(stack: RunningStack, tap: Tap) -> None:
    tap.failing = True
    assert await end(stack, "c-later", json={"feedback": "positive"}) == ENDED
    [row] = await rows(stack, "c-later")
    assert not row["announced"]
    tap.failing = False
    assert (await marked(stack, "c-later"))["id"] == row["id"]
    assert [event.id for event in tap.announced("c-later")] == [row["id"]]


async def test_a_crash_before_the_mark_announces_again_under_the_same_id(own_database: str) -> None:
    async with await open_pool(own_database, "feedback", SCHEMA) as pool:
        ratings = PostgresSessions(pool)
        for number in range(3):
            record = SessionFeedbackRecord(opaque(f"t{number}"), "positive", number, "api_end")
            await ratings.arecord(record, tenant="acme")

        class Dies(PostgresSessions):
            async def mark(self, _: Any) -> None:
                raise OSError("the process ends here")

        log = RecordingLog()
        with pytest.raises(OSError, match="ends here"):
            await announce_ratings(Dies(pool), log)
        for _ in range(2):
            await announce_ratings(ratings, log)
        ids = [event["eventId"] for event in log.values(SESSION_CREATED.name)]
        assert len(ids) == 6
        assert ids[:3] == ids[3:]
        assert len(set(ids)) == 3
        assert await ratings.unannounced(10) == []
