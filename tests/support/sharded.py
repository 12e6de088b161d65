"""Tables that are hash-partitioned by tenant, as a Citus cluster would distribute them, and plans on them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

import asyncpg

from servicekit.db.statements import Statement

PARTITIONS: Final = 4
TENANT: Final = "acme"
_SHARD: Final = re.compile(r"(\w+)_shard(\d)")
_STATEMENT: Final = re.compile(r"\(*(select|insert|update|delete|with)\b")
_CONTROL: Final = re.compile(
    r"(?:#variable_conflict \w+|declare\b.*?;|begin\b|end if|end|return query|return|if\b.*?\bthen\b|raise\b.*)\s*",
    re.DOTALL,
)
"""PL/pgSQL before or instead of a statement."""
_CONDITIONS: Final = ("Index Cond", "Recheck Cond", "Filter", "Join Filter", "Hash Cond", "Merge Cond")
_HIDING: Final = ("hashjoin", "mergejoin", "seqscan", "material", "memoize")
"""Planner methods that hide the scan in which the tenants of two tables are compared."""
_GENERIC_PLAN: Final = """
create function generic_plan(text) returns json language plpgsql as $$
declare
    plan json;
begin
    execute 'explain (generic_plan, format json, costs off) ' || $1 into plan;
    return plan;
end $$
"""
"""A function, because a prepared statement without arguments may not have parameters."""


class Shards(IntEnum):
    """Shards that a statement uses."""

    NONE = 0
    """It has no distributed table."""
    TENANT = 1
    """Those of one tenant."""
    ROWS = 2
    """Those of the tenants in its rows."""
    ALL = 3
    BLOCKED = 4
    """It names a unique constraint that cannot exist, because that lacks the tenant."""


async def distribute(connection: asyncpg.Connection, schema: str, kept: Collection[str]) -> dict[str, list[str]]:
    """Partition the tables of `schema` that have a tenant, except those in `kept`.

    Return by table the unique keys that PostgreSQL refuses because they lack the tenant.
    """
    await connection.execute(f"set search_path = {schema}, public")
    views = await connection.fetch(
        "select relname, pg_get_viewdef(oid) as text from pg_class where relnamespace = $1::regnamespace "
        "and relkind = 'v' order by oid",
        schema,
    )
    tables = await connection.fetch(
        "select relname from pg_class c join pg_attribute a on attrelid = c.oid and attname = 'tenant' "
        "where relnamespace = $1::regnamespace and relkind = 'r' and relname <> all($2) order by 1",
        schema,
        [*kept],
    )
    refused = {row["relname"]: await _partition(connection, row["relname"]) for row in tables}
    for view in views:
        await connection.execute(f"create or replace view {view['relname']} as {view['text']}")
    for method in _HIDING:
        await connection.execute(f"set enable_{method} = off")
    await connection.execute(_GENERIC_PLAN)
    return {table: keys for table, keys in refused.items() if keys}


async def _partition(connection: asyncpg.Connection, table: str) -> list[str]:
    """Replace `table` with a partitioned one; return the unique keys that PostgreSQL refuses for it."""
    indexes = await connection.fetch(
        "select relname, pg_get_indexdef(c.oid) as text from pg_index join pg_class c on c.oid = indexrelid "
        "where indrelid = $1::text::regclass order by 1",
        table,
    )
    await connection.execute(f"alter table {table} rename to {table}_plain")
    await connection.execute(
        f"create table {table} (like {table}_plain including defaults including generated including identity) "
        "partition by hash (tenant)"
    )
    for n in range(PARTITIONS):
        await connection.execute(
            f"create table {table}_shard{n} partition of {table} for values with (modulus {PARTITIONS}, remainder {n})"
        )
    refused = []
    for index in indexes:
        # The definition names the renamed table.
        definition = index["text"].replace(f"INDEX {index['relname']} ON", "INDEX ON").replace(f"{table}_plain", table)
        try:
            await connection.execute(definition)
        except asyncpg.FeatureNotSupportedError:
            refused.append(definition.partition(" USING btree ")[2])
    return refused


async def own_shard(connection: asyncpg.Connection) -> int:
    """Return the number of the shard that has the rows of TENANT."""
    await connection.execute("create temporary table by_tenant (tenant text) partition by hash (tenant)")
    found = await connection.fetchval(
        "select n from generate_series(0, $1 - 1) n "
        "where satisfies_hash_partition('by_tenant'::regclass, $1, n, $2::text)",
        PARTITIONS,
        TENANT,
    )
    await connection.execute("drop table by_tenant")
    return int(found)


def texts_of(statement: Statement) -> Iterator[str]:
    """Yield the SQL of a statement; of a function, that of each statement in its block."""
    if not statement.made:
        yield statement.text
        return
    block = statement.made.partition("$block$")[2].rpartition("$block$")[0]
    block = re.sub(r"--[^\n]*", "", block)
    for held, kind in re.findall(r"^\s+(\w+) (\w+\[\]);", block.partition("begin")[0], re.MULTILINE):
        block = block.replace(f"unnest({held})", f"unnest(null::{kind})")  # a variable, which SQL does not know
        block = block.replace(f" into {held}\n", "\n")
    for part in block.split(";"):
        text = f"{part.strip()};"
        while found := _CONTROL.match(text):
            text = text[found.end() :]
        text = re.sub(r"^perform\b", "select", text).removesuffix(";").strip()
        if text and not text.startswith("lock table"):
            yield text


async def shards_of(connection: asyncpg.Connection, statement: Statement, own: int) -> Shards:
    """Return the shards that a statement uses if it is given TENANT, and any if its tenant may be null."""
    numbers = [number for number, name in enumerate(statement.values, 1) if name == "tenant"]
    worst = Shards.NONE
    for text in texts_of(statement):
        if not _STATEMENT.match(text):
            continue
        texts, is_one = [text], False
        for number in numbers:
            value = rf"\${number}\b"
            if re.search(rf"{value}::text\[\]|any\({value}", text):
                continue  # the tenants of rows
            is_one = True
            given = [f"'{TENANT}'::text"]
            if re.search(rf"{value}(::text)? is (not )?null", text):
                given.append("null::text")
            texts = [re.sub(rf"{value}(::text\b)?", one, text) for one in given]
        for one in texts:
            found = await _planned(connection, one, own)
            # Without tenants in arrays, rows have the tenant that is given.
            worst = max(worst, Shards.TENANT if found is Shards.ROWS and is_one else found)
    return worst


async def _planned(connection: asyncpg.Connection, text: str, own: int) -> Shards:
    try:
        plan = await connection.fetchval("select generic_plan($1)", text)
    except (asyncpg.InvalidColumnReferenceError, asyncpg.GroupingError):  # ON CONFLICT or GROUP BY needs the constraint
        return Shards.BLOCKED
    return shards_in(json.loads(plan)[0]["Plan"], own)


def shards_in(plan: Mapping[str, Any], own: int) -> Shards:
    """Return the shards that the nodes of a plan use.

    PostgreSQL keeps of a table only the partition of a given tenant. Other partitions are scanned for the tenants of
    rows if a condition compares their tenant, otherwise for every tenant.
    """
    return max((_shards(node, around, own) for node, around in _nodes(plan, ())), default=Shards.NONE)


def _nodes(plan: Mapping[str, Any], around: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Any, Sequence[Any]]]:
    """Yield each node of `plan` with the nodes that contain it."""
    yield plan, around
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner, (*around, plan))


def _shards(node: Mapping[str, Any], around: Sequence[Mapping[str, Any]], own: int) -> Shards:
    shard = _SHARD.fullmatch(node.get("Relation Name", ""))
    if node["Node Type"] == "ModifyTable":
        # Inserted rows of arrays have tenants of their own. Rows that are changed or deleted are scanned as well.
        rows = any(inner["Node Type"] == "Function Scan" for inner, _ in _nodes(node, ()))
        return Shards.NONE if node["Operation"] != "Insert" else Shards.ROWS if rows else Shards.TENANT
    if shard is None:
        return Shards.NONE
    if int(shard[2]) == own and not _has_sibling(node, around):
        return Shards.TENANT
    return Shards.ROWS if _compares_tenant(node, around) else Shards.ALL


def _has_sibling(node: Mapping[str, Any], around: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if another partition of the node's table is scanned with it."""
    append = next((one for one in reversed(around) if "Append" in one["Node Type"]), None)
    scanned = (
        [] if append is None else [one["Relation Name"] for one, _ in _nodes(append, ()) if "Relation Name" in one]
    )
    table = _SHARD.fullmatch(node["Relation Name"])[1]  # type: ignore[index]  # the caller has checked
    return any(one.startswith(f"{table}_shard") and one != node["Relation Name"] for one in scanned)


def _compares_tenant(node: Mapping[str, Any], around: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if a condition of the scan, or of a join around it, equates the tenant of its rows."""
    if re.search(r"\(tenant = |= tenant\)", _conditions(node)):
        return True
    alias = re.escape(re.sub(r"_\d+$", "", node["Alias"]))
    joined = re.compile(rf"\b{alias}(_\d+)?\.tenant = |= {alias}(_\d+)?\.tenant\b")
    return any(joined.search(_conditions(one)) for one in around)


def _conditions(node: Mapping[str, Any]) -> str:
    return " ".join(str(node[name]) for name in _CONDITIONS if name in node)
