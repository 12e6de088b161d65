"""Latency of `agent-feedback where` with two million feedback records: each service's part, on generated tables.

python -m benchmarks.where
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import chat_bridge.parts
import feedback.store_choice
import reporting.parts
import reporting.read_models.where
from feedback.store_postgres import PostgresStore
from feedback.where import states_of
from servicekit.db.pools import open_pool
from servicekit.log.journal import JournalReader
from servicekit.web.journal import WhereLookup
from standalone.embedded.postgres import EmbeddedPostgres

RECORDS = 2_000_000
SAMPLES = 200
_ID = "md5('f' || i)::uuid"
_JOURNAL = """
insert into journal (event_id, at, tenant, project, cause, conversation_id, message_id, feedback_id, outcome, reason,
    detail)
select 'e' || i, '{topic}:' || i % 24 || ':' || i, 'acme', 'support', {cause}, 'c' || i / 8, 'm' || i / 2, {feedback},
    'stored', '', ''
from generate_series(1, $1::bigint) i
"""
_STORE = f"""
insert into feedback (feedback_id, tenant, project, conversation_id, source, user_id, agent_id, source_id,
    feedback_type, origin, slots, live, reaction, revision, created_revision)
select {_ID}, 'acme', 'support', 'c' || i / 8, 'chat', 'u' || i % 5000, 'bot', 'm' || i / 2, 'reaction', 'user',
    $2::jsonb, true, 'ok', 5, 5
from generate_series(1, $1::bigint) i
"""
_REPORTS = f"""
insert into feedbacks (feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id,
    user_type, agent_id, origin, feedback_type, source, reaction, value, confidence, tags, occurred_at, rn)
select {_ID}, 5, i, {_ID}, 'acme', 'support', 'c' || i / 8, 't' || i, 'u' || i % 5000, 'human', 'bot', 'user',
    'reaction', 'chat', 'ok', 0.6, 1, '{{}}', 1790000000000000 + i, 'ef:' || i
from generate_series(1, $1::bigint) i
"""
_PAYLOAD = {
    "turn_id": "t",
    "agent_id": "bot",
    "agent_message_id": "m",
    "user_type": "human",
    "causation_id": "e",
    "reaction": "ok",
    "value": 0.6,
}
_SLOTS = json.dumps(
    {
        "👍": {
            "stamp": [0, 1, -1, False, "e", "d"],
            "present": True,
            "payload": _PAYLOAD | {"reaction": "ok", "value": 0.6},
        }
    }
)


async def measure(url: str) -> dict[str, Any]:
    """Fill the tables, then trace events as the command does. Return the durations in milliseconds."""
    chat = await open_pool(url, "chat_bridge", chat_bridge.parts.MIGRATIONS, plan="indexed")
    store = await open_pool(url, "feedback", feedback.store_choice.MIGRATIONS, plan="indexed")
    reports = await open_pool(url, "reporting", reporting.parts.MIGRATIONS, plan="custom")
    of_event = {"topic": "chat.message.reaction.ingested", "cause": "null", "feedback": "null"}
    cause = f"'{of_event['topic']}:' || i % 24 || ':' || i"
    derived = {"topic": "feedback.reaction.received", "cause": cause, "feedback": _ID}
    await chat.execute(_JOURNAL.format(**of_event), RECORDS, timeout=3_600)
    await store.execute(_JOURNAL.format(**derived), RECORDS, timeout=3_600)
    await store.execute(_STORE, RECORDS, _SLOTS, timeout=3_600)
    async with reports.acquire() as connection, connection.transaction():
        await connection.execute("set local session_replication_role = replica")  # no triggers: nothing is rolled up
        await connection.execute(_REPORTS, RECORDS, timeout=3_600)

    async def states(tenant: str, project: str, ids: Any) -> Any:
        return await states_of(PostgresStore(store), tenant, project, ids)

    of_chat, of_feedback = WhereLookup(JournalReader(chat)), WhereLookup(JournalReader(store), states)
    of_reports = WhereLookup(JournalReader(reports), partial(reporting.read_models.where.states_of, reports))
    took = []
    for number in range(SAMPLES):
        event = f"e{1 + number * (RECORDS // SAMPLES)}"
        began = time.perf_counter()
        first = await of_chat("acme", "support", [event], [], [])
        found = await of_feedback("acme", "support", [event], [], [one.cause for one in first.records])
        causes = [one.cause for one in first.records]
        told = await of_reports("acme", "support", [event], [], causes, [str(one.feedback_id) for one in found.records])
        took.append((time.perf_counter() - began) * 1_000)
        assert [one.state for one in found.feedbacks] == ["live"]
        assert [one.state for one in told.feedbacks] == ["counted"]
    for pool in (chat, store, reports):
        await pool.close()
    took.sort()
    return {"records": RECORDS, "median_ms": round(statistics.median(took), 1), "slowest_ms": round(took[-1], 1)}


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        async with EmbeddedPostgres(Path(folder) / "postgres", print) as postgres:
            print(json.dumps(await measure(postgres.url)))


if __name__ == "__main__":
    asyncio.run(main())
