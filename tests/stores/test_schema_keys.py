"""The unique keys of every table.

Without one of its columns, a key lets a row of another tenant, project, conversation or person replace this one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping

import asyncpg
import pytest
import pytest_asyncio

import chat_bridge.service
import feedback.service
import inference.service
import reporting.service
from servicekit.db.pools import open_pool
from tests.support.databases import SCHEMAS

SERVICES = {
    "chat_bridge": chat_bridge.service,
    "feedback": feedback.service,
    "inference": inference.service,
    "reporting": reporting.service,
}
MESSAGE = {"tenant", "project", "conversation_id", "message_id"}
TURN = {"tenant", "project", "conversation_id", "turn_id"}
PERSON = {"tenant", "user_id"}
EVENT = {"tenant", "project", "topic", "event_id"}
REQUEST = {"tenant", "request_id"}
KEYS: Mapping[str, list[set[str]]] = {
    "chat_bridge.erasures": [PERSON],
    "chat_bridge.messages": [MESSAGE],
    "chat_bridge.parked": [EVENT],
    "chat_bridge.refused": [EVENT | {"rule", "field"}],
    "feedback.buckets": [PERSON],
    "feedback.erasure_receipts": [REQUEST | {"service"}],
    "feedback.erasure_requests": [REQUEST],
    "feedback.erasures": [PERSON],
    "feedback.messages": [MESSAGE],
    "feedback.session_feedback": [{"tenant", "id"}, {"tenant", "idempotency_key"}],
    "inference.erasures": [PERSON],
    "inference.messages": [MESSAGE],
    "inference.turns": [TURN],
    "inference.verdicts": [MESSAGE],
    "reporting.access_log": [
        {"id", "tenant"},
        {"tenant", "about"},
        {"tenant", "project", "actor", "action", "about", "at"},
    ],
    "reporting.api_keys": [{"id"}, {"key_hash"}, {"tenant", "name"}],
    "reporting.alert_rules": [{"tenant", "project", "name"}],
    "reporting.alerts": [{"id"}, {"tenant", "project", "rule", "kind", "agent", "version", "issue", "over_at"}],
    "reporting.audit_draws": [TURN | {"assignee"}, {"id", "tenant"}],
    "reporting.erasures": [PERSON],
    "reporting.issue_agents": [{"tenant", "project", "agent_id"}],
    "reporting.issue_turns": [TURN],
    "reporting.messages": [MESSAGE],
    "reporting.sessions": [{"tenant", "id"}],
}
OF_ALL_TENANTS = {
    "feedback.feedback": "feedback_id",
    "inference.gate_answers": "digest",
    "inference.user_reactions": "feedback_id",
    "reporting.feedbacks": "feedback_id",
    "reporting.forgotten": "feedback_id",
    "reporting.hosted_artifacts": "name",
    "reporting.issues": "id",
}
"""Keys of ids that are derived from tenant and project, of random ids, and of data without a tenant."""
_UNIQUE = """
select nspname || '.' || relname as name, array_agg(attname::text) as columns
from pg_index join pg_class t on t.oid = indrelid join pg_namespace n on n.oid = relnamespace
join pg_attribute on attrelid = indrelid and (attnum = any(indkey) or indexprs is not null and exists (
    select from pg_depend where objid = indexrelid and refobjid = indrelid and refobjsubid = attnum))
where indisunique and nspname = any($1) and relname <> 'schema_version' group by indexrelid, 1
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def keys(postgres_url: str) -> AsyncIterator[Mapping[str, list[set[str]]]]:
    connection = await asyncpg.connect(postgres_url)
    for service in SERVICES:
        await connection.execute(f"drop schema if exists {service} cascade")
        await (await open_pool(postgres_url, service, SCHEMAS[service], size=1)).close()
    found: defaultdict[str, list[set[str]]] = defaultdict(list)
    for row in await connection.fetch(_UNIQUE, list(SERVICES)):
        found[row["name"]].append(set(row["columns"]))
    await connection.close()
    yield found


@pytest.mark.parametrize("table", KEYS)
def test_a_table_has_its_keys(keys: Mapping[str, list[set[str]]], table: str) -> None:
    assert sorted(map(sorted, keys[table])) == sorted(map(sorted, KEYS[table]))


@pytest.mark.parametrize("table", OF_ALL_TENANTS)
def test_a_key_of_all_tenants_has_its_columns(keys: Mapping[str, list[set[str]]], table: str) -> None:
    assert [" ".join(sorted(key)) for key in keys[table]] == [OF_ALL_TENANTS[table]]


def test_every_other_key_names_the_tenant(keys: Mapping[str, list[set[str]]]) -> None:
    others = {table: found for table, found in keys.items() if table not in KEYS and table not in OF_ALL_TENANTS}
    assert {table for table, found in others.items() if not all("tenant" in key for key in found)} == set()
