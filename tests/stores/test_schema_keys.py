"""The unique keys of every table: one without the tenant lets a row of another tenant replace this one."""

from __future__ import annotations

from collections import defaultdict

import asyncpg

from servicekit.db.pools import open_pool
from tests.support.databases import SCHEMAS

OF_ALL_TENANTS = {
    "feedback.feedback": {"feedback_id"},
    "inference.gate_answers": {"digest"},
    "inference.user_reactions": {"feedback_id"},
    "reporting.alerts": {"id"},
    "reporting.api_keys": {"id", "key_hash"},
    "reporting.feedbacks": {"feedback_id"},
    "reporting.forgotten": {"feedback_id"},
    "reporting.hosted_artifacts": {"name"},
    "reporting.issues": {"id"},
}
"""Keys of ids that are derived from tenant and project, of random ids, and of data without a tenant."""
_UNIQUE = """
select nspname || '.' || relname as name, array_agg(attname::text) as columns
from pg_index join pg_class t on t.oid = indrelid join pg_namespace n on n.oid = relnamespace
join pg_attribute on attrelid = indrelid and (attnum = any(indkey) or indexprs is not null and exists (
    select from pg_depend where objid = indexrelid and refobjid = indrelid and refobjsubid = attnum))
where indisunique and nspname = any($1) and relname <> 'schema_version' group by indexrelid, 1
"""


async def test_every_other_key_names_the_tenant(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    for service in SCHEMAS:
        await connection.execute(f"drop schema if exists {service} cascade")
        await (await open_pool(postgres_url, service, SCHEMAS[service], size=1)).close()
    others: defaultdict[str, set[str]] = defaultdict(set)
    for row in await connection.fetch(_UNIQUE, list(SCHEMAS)):
        if "tenant" not in row["columns"]:
            others[row["name"]].add(" ".join(row["columns"]))
    await connection.close()
    assert others == OF_ALL_TENANTS
