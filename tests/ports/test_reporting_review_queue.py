"""The number of verdicts that wait for a review, if there are few reviews among many verdicts."""

from __future__ import annotations

import json

import asyncpg

from reporting.model.selection import ALWAYS, Filters, Project, where
from reporting.sql import SQL
from tests.support.reporting_events import Take, feedback

_MANY = """
insert into feedbacks (feedback_id, slot, revision, recorded_at, occurred_at, tenant, project, conversation_id, turn_id,
    user_id, user_type, agent_id, origin, feedback_type, source, reaction, value, confidence, tags, rn)
select gen_random_uuid(), gen_random_uuid(), 1, 1, i, 'acme', 'support', 'conversation-' || i, 't1', 'ann', 'human',
    'agent-a', 'machine', 'inferred', 'inference', 'not_ok', -1, 1, '{}', 'rn' || i
from generate_series(1, 20000) i
"""


async def test_reviews_are_looked_up_by_turn(read_models: asyncpg.Pool, take: Take) -> None:
    await read_models.execute(_MANY)
    await take(feedback("review", turn="t1", origin="reviewer", kind="explicit"))
    await read_models.execute("vacuum analyze feedbacks")
    filters = Filters(unreviewed=True, origins=("machine",))
    condition, values = where(Project("acme", "support"), ALWAYS, filters)
    statement, *given = SQL.count_turns.filled(view=filters.view, where=condition)(
        **values, last=None, last_turn=None, limit=20
    )
    assert await read_models.fetchval(statement, *given) == 20
    explained = await read_models.fetchval(f"explain (analyze, buffers, format json) {statement}", *given)
    plan = json.loads(explained)[0]["Plan"]
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 120, explained
