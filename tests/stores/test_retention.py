"""Rows older than their retention are deleted in every schema; rows that reports or later verdicts need remain."""

from __future__ import annotations

import asyncpg
import pytest

import chat_bridge.service
import feedback.service
import inference.service
import reporting.service
from chat_bridge.settings import ChatBridgeSettings
from feedback.settings import FeedbackSettings
from inference.settings import InferenceSettings
from reporting.settings import ReportingSettings
from servicekit.clock import SystemClock
from servicekit.db.retention import BATCH, Expiry, Retention
from tests.support.databases import empty_schema

reporting_expiries = reporting.service.PROGRAM.expiries
EVERY = {
    "chat_bridge": chat_bridge.service.PROGRAM.expiries(ChatBridgeSettings()),
    "feedback": [
        *feedback.service.PROGRAM.expiries(FeedbackSettings()),
        feedback.service.STUBS.expiry(FeedbackSettings()),
    ],
    "inference": inference.service.PROGRAM.expiries(InferenceSettings()),
    "reporting": reporting_expiries(ReportingSettings(message_days=30, feedback_days=30)),
}


@pytest.mark.parametrize("service", EVERY)
async def test_every_expiry_fits_its_schema_and_an_empty_one_loses_nothing(postgres_url: str, service: str) -> None:
    async with empty_schema(postgres_url, service, size=1) as pool:
        retention = Retention(service, pool, SystemClock(), EVERY[service])
        due = await retention.due()
        assert set(due) == {expiry.table for expiry in EVERY[service]}
        assert set(due.values()) == {0}
        assert await retention.sweep() == {}


async def _stored(pool: asyncpg.Pool, message: str, conversation: str, days_ago: int) -> None:
    await pool.execute(
        "insert into messages (tenant, project, message_id, conversation_id, turn_id, sender_id, role, text, position, "
        "version, stored_at) values ('t', 'p', $1, $2, 't1', 'ann', 'human', 'hi', int8send(0), '', "
        "now() - $3 * interval '1d')",
        message,
        conversation,
        days_ago,
    )


async def test_a_conversation_goes_as_a_whole_once_its_last_message_is_too_old(postgres_url: str) -> None:
    async with empty_schema(postgres_url, "inference") as pool:
        for message, conversation, days_ago in (
            ("old-1", "quiet", 500),
            ("old-2", "quiet", 400),
            ("old-3", "alive", 500),
            ("new", "alive", 1),
        ):
            await _stored(pool, message, conversation, days_ago)
        retention = Retention("inference", pool, SystemClock(), EVERY["inference"])
        assert (await retention.due())["messages"] == 2
        assert await retention.sweep() == {"messages": 2}
        left = await pool.fetch("select message_id from messages order by 1")
        assert [row["message_id"] for row in left] == ["new", "old-3"]


async def test_a_sweep_deletes_more_than_one_batch_and_zero_days_keep_all(postgres_url: str) -> None:
    async with empty_schema(postgres_url, "reporting") as pool:
        await pool.execute(
            "insert into forgotten (feedback_id, revision) select gen_random_uuid(), 1 from generate_series(1, $1)",
            BATCH + 3,
        )
        kept = Retention("reporting", pool, SystemClock(), reporting_expiries(ReportingSettings(tombstone_days=0)))
        assert await kept.sweep() == {}
        retention = Retention("reporting", pool, SystemClock(), reporting_expiries(ReportingSettings()))
        due = await retention.due()
        assert due == {**dict.fromkeys(due, 0), "forgotten": BATCH + 3}
        assert {"deliveries", "access_log"} < due.keys()
        assert await retention.sweep() == {"forgotten": BATCH + 3}


async def test_a_table_that_fails_keeps_no_other_from_its_turn(postgres_url: str) -> None:
    async with empty_schema(postgres_url, "reporting") as pool:
        await pool.execute("insert into forgotten (feedback_id, revision) values (gen_random_uuid(), 1)")
        broken = Expiry("no_such_table", 1, "true")
        retention = Retention("reporting", pool, SystemClock(), [broken, *reporting_expiries(ReportingSettings())])
        with pytest.raises(asyncpg.UndefinedTableError):
            await retention.sweep()
        assert await pool.fetchval("select count(*) from forgotten") == 0


async def test_session_ratings_go_with_the_other_tables_and_are_counted(postgres_url: str) -> None:
    async with empty_schema(postgres_url, "feedback") as pool:
        for days_ago in (1, 179, 181):
            await pool.execute(
                "insert into session_feedback (tenant, id, session_id_opaque, recorded_at, label, turn_count_at_end, "
                "source, schema_version) values ('t', gen_random_uuid(), repeat('0', 64), now() - $1 * interval '1d', "
                "'skip', 0, 'api_end', 1)",
                days_ago,
            )
        retention = Retention("feedback", pool, SystemClock(), EVERY["feedback"])
        assert (await retention.due())["session_feedback"] == 1
        assert await retention.sweep() == {"session_feedback": 1}


def test_the_oldest_moment_kept_is_exact() -> None:
    assert Expiry("t", 1.5, "").oldest_kept(10 * 86_400_000_000) == int(8.5 * 86_400_000_000)
