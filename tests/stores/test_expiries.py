"""Every time limit of the documents, with one row on each side of its boundary.

Retentions are those of `.env.example`, boundaries to the microsecond (feedback revisions: the millisecond).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest
import pytest_asyncio
from pydantic import ValidationError

import chat_bridge.service
import feedback.service
import inference.service
import reporting.service
from chat_bridge.parking import Parking
from chat_bridge.settings import ChatBridgeSettings
from chat_bridge.store import MessageStore
from feedback.settings import FeedbackSettings
from inference.settings import InferenceSettings
from reporting.settings import ReportingSettings
from servicekit.db.retention import BATCH, Expiry, Retention
from servicekit.log.delivery import GroupOutcomes
from tests.support.databases import empty_schema
from tests.support.filled_rows import insert
from tests.support.hand_clock import FixedClock
from tests.support.logs import RecordingLog, example

DAY = 86_400_000_000
NOW = 1_893_456_000_000_000
"""1 January 2030, microseconds."""
SERVICES: Mapping[str, Callable[[], Sequence[Expiry]]] = {
    "chat_bridge": lambda: chat_bridge.service.PROGRAM.expiries(ChatBridgeSettings()),
    "feedback": lambda: [
        *feedback.service.PROGRAM.expiries(FeedbackSettings()),
        feedback.service.STUBS.expiry(FeedbackSettings()),
    ],
    "inference": lambda: inference.service.PROGRAM.expiries(InferenceSettings()),
    "reporting": lambda: reporting.service.PROGRAM.expiries(ReportingSettings(message_days=40, feedback_days=50)),
}


@dataclass(frozen=True)
class Limit:
    """Table whose rows expire `days` after `column`, in the column's unit; `also` has further values of the rows."""

    service: str
    table: str
    column: str
    days: int
    unit: str = "timestamp"
    also: Mapping[str, Any] = field(default_factory=dict)

    def value(self, moment: int) -> Any:
        """Return `moment` (microseconds) in the column's type."""
        match self.unit:
            case "timestamp":
                return datetime.fromtimestamp(moment / 1_000_000, UTC)
            case "milliseconds":
                return moment // 1_000
            case _:
                return moment

    @property
    def step(self) -> int:
        """Return the column's resolution in microseconds."""
        return 1_000 if self.unit == "milliseconds" else 1


RATING = {"tenant": "acme", "label": "skip", "session_id_opaque": "0" * 64, "source": "api_end"}
LIMITS = [
    Limit("chat_bridge", "messages", "stored_at", 180),
    Limit("chat_bridge", "refused", "refused_at", 7, "microseconds"),
    Limit("feedback", "messages", "stored_at", 730),
    Limit("feedback", "session_feedback", "recorded_at", 180, also=RATING),
    Limit("feedback", "erasure_receipts", "confirmed_at", 730, "microseconds"),
    Limit("feedback", "erasure_requests", "requested_at", 730, "microseconds"),
    Limit("feedback", "feedback", "revision", 30, "milliseconds", {"slots": None}),
    Limit("inference", "messages", "stored_at", 365),
    Limit("inference", "verdicts", "stored_at", 730),
    Limit("inference", "turns", "stored_at", 730),
    Limit("inference", "gate_answers", "settled_at", 30),
    Limit("reporting", "messages", "occurred_at", 40, "microseconds"),
    Limit("reporting", "exchanges", "occurred_at", 40, "microseconds"),
    Limit("reporting", "feedbacks", "occurred_at", 50, "microseconds"),
    Limit("reporting", "issue_turns", "asked_at", 40, "microseconds"),
    Limit("reporting", "sessions", "recorded_at", 50, "microseconds"),
    Limit("reporting", "deliveries", "created_at", 7, "microseconds"),
    Limit("reporting", "alerts", "over_at", 90, "microseconds"),
    Limit("reporting", "access_log", "at", 365, "microseconds", {"action": "exported"}),
    Limit("reporting", "forgotten", "revision", 30, "milliseconds"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def pools(postgres_url: str) -> AsyncIterator[Mapping[str, asyncpg.Pool]]:
    async with AsyncExitStack() as parts:
        found = {
            service: await parts.enter_async_context(empty_schema(postgres_url, service, size=1))
            for service in SERVICES
        }
        yield found


def retention(service: str, pool: asyncpg.Pool) -> Retention:
    return Retention(service, pool, FixedClock(NOW), SERVICES[service]())


def test_every_expiry_has_a_row() -> None:
    known = [(service, one.table) for service, expiries in SERVICES.items() for one in expiries()]
    assert sorted(known) == sorted((limit.service, limit.table) for limit in LIMITS)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: f"{limit.service}.{limit.table}")
async def test_a_row_expires_when_it_is_older_than_its_days(pools: Mapping[str, asyncpg.Pool], limit: Limit) -> None:
    pool = pools[limit.service]
    await pool.execute(f"truncate {limit.table} cascade")
    boundary = NOW - limit.days * DAY
    kept = [limit.value(boundary), limit.value(NOW)]
    for value in [*kept, limit.value(boundary - limit.step), limit.value(boundary - 100 * DAY)]:
        await insert(pool, limit.table, {**limit.also, limit.column: value})
    swept = retention(limit.service, pool)
    assert (await swept.sweep())[limit.table] == 2
    left = await pool.fetch(f"select {limit.column} from {limit.table} order by 1")
    assert [row[0] for row in left] == kept


async def test_feedback_that_was_not_erased_never_expires(pools: Mapping[str, asyncpg.Pool]) -> None:
    pool = pools["feedback"]
    await pool.execute("truncate feedback")
    await insert(pool, "feedback", {"revision": 1, "slots": "{}"})
    assert await retention("feedback", pool).sweep() == {}
    assert await pool.fetchval("select count(*) from feedback") == 1


async def test_reports_keep_messages_feedback_and_sessions_unless_told_otherwise(
    pools: Mapping[str, asyncpg.Pool],
) -> None:
    pool = pools["reporting"]
    await pool.execute("truncate messages, feedbacks, sessions, deliveries, forgotten cascade")
    for table in ("messages", "feedbacks"):
        await insert(pool, table, {"occurred_at": 1})
    await insert(pool, "sessions", {"recorded_at": 1})
    swept = Retention("reporting", pool, FixedClock(NOW), reporting.service.PROGRAM.expiries(ReportingSettings()))
    assert await swept.sweep() == {}


@pytest.mark.parametrize("table", ["messages", "verdicts", "turns"])
async def test_an_old_row_of_a_conversation_stays_while_another_message_is_younger(
    pools: Mapping[str, asyncpg.Pool], table: str
) -> None:
    """The conversation is compared by all three parts of its key."""
    pool = pools["inference"]
    await pool.execute("truncate messages, verdicts, turns cascade")
    days = {"messages": 365, "verdicts": 730, "turns": 730}[table]
    boundary = NOW - days * DAY
    place = {"tenant": "acme", "project": "support", "conversation_id": "c1"}
    old = datetime.fromtimestamp((boundary - 1) / 1_000_000, UTC)
    young = datetime.fromtimestamp((NOW - 365 * DAY) / 1_000_000, UTC)
    for named in (place, place | {"tenant": "globex"}, place | {"project": "sales"}, place | {"conversation_id": "c2"}):
        await insert(pool, table, {**named, "stored_at": old})
    await insert(pool, "messages", {**place, "stored_at": young})
    assert await retention("inference", pool).sweep() == {table: 3}
    left = await pool.fetch(f"select tenant, project, conversation_id from {table} where stored_at = $1", old)
    assert [dict(row) for row in left] == [place]


async def test_a_parked_event_waits_seven_days_and_is_then_a_dead_letter(pools: Mapping[str, asyncpg.Pool]) -> None:
    pool = pools["chat_bridge"]
    await pool.execute("truncate messages, parked")
    boundary = NOW - 7 * DAY
    value = example("chat.message.reaction.ingested", "added")
    for parked_at in (NOW, boundary, boundary - 1):
        waiting = {
            "topic": "chat.message.reaction.ingested",
            "cause": f"chat.message.reaction.ingested:0:{parked_at}",
            "value": value,
        }
        await insert(pool, "parked", {**waiting, "parked_at": parked_at, "record_key": None, "traceparent": None})
    letters, clock = RecordingLog(), FixedClock(NOW)
    settings = ChatBridgeSettings()
    late = GroupOutcomes("chat_bridge", letters)
    await Parking(MessageStore(pool), letters, clock, int(settings.parked_days * DAY), late).sweep()
    left = await pool.fetch("select parked_at from parked order by 1")
    assert [row["parked_at"] for row in left] == [boundary, NOW]
    assert [message.topic for message in letters.messages] == ["chat.message.reaction.ingested.dlq"]


async def test_a_project_may_keep_messages_for_another_number_of_days(pools: Mapping[str, asyncpg.Pool]) -> None:
    pool = pools["reporting"]
    await pool.execute("truncate messages, exchanges, issue_turns cascade")
    for project in ("short", "whole", "other"):
        for age in (5, 20, 60):
            await insert(pool, "messages", {"tenant": "acme", "project": project, "occurred_at": NOW - age * DAY})
    days = {"acme/short": 10.0, "acme/whole": 0.0, "globex/other": 1.0}
    settings = ReportingSettings(message_days=40, project_message_days=days)
    swept = Retention("reporting", pool, FixedClock(NOW), reporting.service.PROGRAM.expiries(settings))
    assert await swept.sweep() == {"messages": 3}
    left = await pool.fetch("select project, count(*) from messages group by 1 order by 1")
    assert [tuple(row) for row in left] == [("other", 2), ("short", 1), ("whole", 3)]
    for path in ("acme", "acme/a/b", "acme/o'hara"):
        with pytest.raises(ValidationError):
            ReportingSettings(project_message_days={path: 1})


async def test_a_sweep_deletes_more_than_one_batch_and_zero_days_keep_all(postgres_url: str) -> None:
    async with empty_schema(postgres_url, "reporting") as pool:
        await pool.execute(
            "insert into forgotten (feedback_id, revision) select gen_random_uuid(), 1 from generate_series(1, $1)",
            BATCH + 3,
        )
        kept = Retention(
            "reporting", pool, FixedClock(NOW), reporting.service.PROGRAM.expiries(ReportingSettings(tombstone_days=0))
        )
        assert await kept.sweep() == {}
        retention = Retention(
            "reporting", pool, FixedClock(NOW), reporting.service.PROGRAM.expiries(ReportingSettings())
        )
        assert await retention.sweep() == {"forgotten": BATCH + 3}


async def test_a_table_that_fails_keeps_no_other_from_its_turn(postgres_url: str) -> None:
    async with empty_schema(postgres_url, "reporting") as pool:
        await pool.execute("insert into forgotten (feedback_id, revision) values (gen_random_uuid(), 1)")
        broken = Expiry("no_such_table", 1, "true")
        retention = Retention(
            "reporting", pool, FixedClock(NOW), [broken, *reporting.service.PROGRAM.expiries(ReportingSettings())]
        )
        with pytest.raises(asyncpg.UndefinedTableError):
            await retention.sweep()
        assert await pool.fetchval("select count(*) from forgotten") == 0
