"""Statements from files: names, values, fragments, slots and rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import httpx
import pytest

from servicekit.clock import StageTimes, current_times
from servicekit.db.database import Database, connection_usage
from servicekit.db.pools import open_pool
from servicekit.db.row_fragments import column_types, row_fragments
from servicekit.db.row_security import EVERY_TENANT, _privilege_to_switch, tenant_in_sight
from servicekit.db.statements import Statements
from servicekit.errors import StartError
from servicekit.web.application import add_routes, application, guarded
from servicekit.web.auth import Caller
from servicekit.web.routes import Routes
from tests.support.waits import PATIENCE_SECONDS


def loaded(folder: Path, text: str, **constants: int | str) -> Statements:
    (folder / "any.sql").write_text(text, "utf-8")
    return Statements(folder, **constants)


def test_values_are_numbered_in_the_order_of_the_text_and_passed_by_name(tmp_path: Path) -> None:
    sql = loaded(tmp_path, "-- name: find\nselect :b::text, a[1:2] from t where a = :a and b = :b and c = ':c'\n")
    assert sql.find(a=1, b=2) == ("select $1::text, a[1:2] from t where a = $2 and b = $1 and c = ':c'", 2, 1)


@pytest.mark.parametrize("values", [{}, {"a": 1, "b": 2}, {"b": 1}])
def test_other_values_than_those_of_the_statement_are_rejected(tmp_path: Path, values: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="find takes"):
        loaded(tmp_path, "-- name: find\nselect :a\n").find(**values)


def test_comments_are_left_out_and_literals_stay(tmp_path: Path) -> None:
    sql = loaded(tmp_path, "-- name: find\n-- A person's :comment\nselect 'it''s -- :no {x}' -- :end\nfrom t\n")
    assert sql.find() == ("select 'it''s -- :no {x}'\nfrom t",)


def test_fragments_take_arguments_and_constants_are_literals(tmp_path: Path) -> None:
    text = (
        "-- fragment: same(a, b)\n{a}.id = {b}.id\n"
        "-- fragment: recent(row)\n{same(row, k)} and {row}.at > :since - {day}\n"
        "-- name: find\nselect {who} from k, t where {recent(t)}\n"
    )
    sql = loaded(tmp_path, text, day=60, who="it's")
    assert sql.find(since=1) == ("select 'it''s' from k, t where t.id = k.id and t.at > $1 - 60", 1)


def test_slots_are_filled_before_values_are_numbered(tmp_path: Path) -> None:
    sql = loaded(tmp_path, "-- name: find(view, where)\nselect * from {view} where {where} limit :limit\n")
    filled = sql.find.filled(where="a = :a", view="t")
    assert filled(a=1, limit=2) == ("select * from t where a = $1 limit $2", 1, 2)
    with pytest.raises(TypeError, match="find has the slots"):
        sql.find.filled(view="t")
    with pytest.raises(TypeError, match="find takes"):
        sql.find(limit=2)


def test_fragments_fill_slots(tmp_path: Path) -> None:
    text = "-- fragment: rows(table)\nselect * from {table} where a = :a\n-- name: find(rows)\n{rows} limit :limit\n"
    sql = loaded(tmp_path, text)
    rows = sql.part("rows", table="t")
    assert rows == "select * from t where a = :a"
    assert sql.find.filled(rows=rows)(a=1, limit=2) == ("select * from t where a = $1 limit $2", 1, 2)
    with pytest.raises(TypeError, match="rows takes"):
        sql.part("rows")


def test_rows_become_one_array_per_column(tmp_path: Path) -> None:
    sql = loaded(tmp_path, "-- name: add\ninsert into t select *, :at from unnest(:a::text[], :b::int[])\n")
    text = "insert into t select *, $1 from unnest($2::text[], $3::int[])"
    assert sql.add.bulk([("x", 1), ("y", 2)], at=9) == (text, 9, ["x", "y"], [1, 2])
    assert sql.add.bulk([], at=9) == (text, 9, [], [])
    with pytest.raises(ValueError, match="zip"):
        sql.add.bulk([("x",)], at=9)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-- name: find\nselect 1\n-- name: find\nselect 2\n", "defines find again"),
        ("-- fragment: find\n1\n-- name: find\nselect 2\n", "defines find again"),
        ("-- name: find\nselect {other}\n", "no fragment has the name other"),
        ("-- fragment: one(a)\n{a}\n-- name: find\nselect {one}\n", "zip"),
    ],
)
def test_invalid_files_are_rejected(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        loaded(tmp_path, text)


def test_a_name_without_a_statement_is_an_attribute_error(tmp_path: Path) -> None:
    sql = loaded(tmp_path, "-- name: find\nselect 1\n")
    assert [one.name for one in sql] == ["find"]
    with pytest.raises(AttributeError, match="no statement has the name other"):
        _ = sql.other


FUNCTION = (
    "-- function: add returns {returns}\n-- Adds.\n"
    "begin\n    insert into t select unnest(:a::{kind}[]) + :b::bigint;\nend\n"
)


def test_a_function_has_the_types_of_its_values_and_is_created_after_the_tables(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("create table t (n int);\n")
    sql = loaded(tmp_path, FUNCTION.format(returns="table (n int)", kind="double precision"))
    assert sql.add.text == "select * from add($1::double precision[], $2::bigint)"
    assert sql.add(a=[1.0], b=2) == (sql.add.text, [1.0], 2)
    assert sql.add.definition.startswith("create function add(double precision[], bigint) returns table (n int) ")
    assert "insert into t select unnest($1::double precision[]) + $2::bigint;" in sql.add.definition
    assert sql.schema == f"create table t (n int);\n\n{sql.add.definition};\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-- function: add returns int\nbegin\n    perform :a;\nend\n", "add casts these values to no type"),
        ("-- function: add\nbegin\nend\n", "a function returns something"),
        ("-- name: add returns int\nselect 1\n", "a function returns something"),
    ],
)
def test_functions_without_types_are_rejected(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        loaded(tmp_path, text)


# Fragments of statements from the declaration of a row.


class Label(NamedTuple):
    id: UUID
    tags: tuple[str, ...]
    worth: float | None


def test_a_named_tuple_declares_its_columns() -> None:
    assert column_types(Label) == {"id": "uuid", "tags": "text[]", "worth": "double precision"}


def test_a_field_without_a_column_type_is_rejected() -> None:
    class Odd(NamedTuple):
        both: int | str

    with pytest.raises(ValueError, match="no column type for both"):
        column_types(Odd)


def test_a_row_makes_the_lists_of_its_upsert() -> None:
    fragments = {name: text for name, (_, text) in row_fragments("label", Label).items()}
    assert fragments == {
        "label_columns": "id, tags, worth",
        "label_of": "{held}.id, {held}.tags, {held}.worth",
        "label_arrays": ":id::uuid[], :tags::text[], :worth::double precision[]",
        "label_arrays_as": ":{prefix}_id::uuid[], :{prefix}_tags::text[], :{prefix}_worth::double precision[]",
        "label_typed": "id uuid, tags text[], worth double precision",
        "label_nulls": "null::uuid, null::text[], null::double precision",
        "label_given": r"{new}.id, string_to_array({new}.tags, E'\x1f'), {new}.worth",
        "label_set": "id = excluded.id, tags = excluded.tags, worth = excluded.worth",
        "label_set_if": "id = case when {condition} then excluded.id else {held}.id end,\n"
        "    tags = case when {condition} then excluded.tags else {held}.tags end,\n"
        "    worth = case when {condition} then excluded.worth else {held}.worth end",
    }


def test_statements_insert_a_rows_fragments_and_a_condition_that_is_a_fragment(tmp_path: Path) -> None:
    (tmp_path / "some.sql").write_text(
        "-- fragment: is_later\nexcluded.at > m.at\n\n"
        "-- name: upsert\ninsert into t as m ({row_columns}) select * from unnest({row_arrays})\n"
        "on conflict (id) do update set {row_set_if(is_later, m)}\n"
    )
    upsert = Statements(tmp_path, {"row": {"id": "text", "at": "bigint"}}).upsert
    assert upsert.values == ("id", "at")
    assert "select * from unnest($1::text[], $2::bigint[])" in upsert.text
    assert "at = case when excluded.at > m.at then excluded.at else m.at end" in upsert.text


def test_a_reader_reads_values_by_name_or_by_the_given_attribute(tmp_path: Path) -> None:
    (tmp_path / "some.sql").write_text("-- name: add\ninsert into t select :real, :whole, :at\n")
    read = Statements(tmp_path).add.reader(other={"at"}, whole="imag.real")
    assert read(3 + 4j) == (3.0, 4.0)


# Database addresses: printable form without the password, and immediate rejection of invalid ones.


async def test_an_address_that_names_no_authority_is_refused_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # the default folder of the authority's certificate
    with pytest.raises(StartError, match="TLS"):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await open_pool("postgresql://127.0.0.1:1/x?sslmode=verify-full", "nothing", "select")


# Connections are counted for the task that uses them, and their time for its batch.


@pytest.fixture
async def pool(own_database: str, tmp_path: Path) -> AsyncIterator[Database]:
    """Yield a pool of one connection."""
    opened = await open_pool(own_database, "kit", "select", size=1)
    yield opened
    opened.terminate()


async def test_a_task_counts_the_connections_that_it_holds_or_waits_for(pool: Database) -> None:
    usage = connection_usage.get()
    before = usage.count
    async with pool.acquire():
        assert usage.count == before + 1
        waiting = asyncio.create_task(pool.fetchval("select 1"))
        await asyncio.sleep(0)
        assert usage.count == before + 2
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert usage.count == before + 1
    assert usage.count == before
    await pool.execute("select 1")
    assert usage.count == before


async def test_a_connection_that_the_server_ends_is_no_longer_counted(pool: Database) -> None:
    usage = connection_usage.get()
    before = usage.count
    with pytest.raises(Exception, match="terminating connection"):
        await pool.execute("select pg_terminate_backend(pg_backend_pid())")
    assert usage.count == before
    assert await pool.fetchval("select 1") == 1


async def test_the_time_that_a_batch_holds_a_connection_is_that_of_the_database(pool: Database) -> None:
    times = StageTimes()
    token = current_times.set(times)
    try:
        await pool.execute("select pg_sleep(0.02)")
    finally:
        current_times.reset(token)
    assert 0.02 <= times.seconds("database") < 5
    measured = times.seconds("database")
    await pool.execute("select 1")
    assert times.seconds("database") == measured


# PostgreSQL versions that row-level security distinguishes.


@pytest.mark.parametrize(
    ("version", "privilege"), [(150_000, "member"), (159_999, "member"), (160_000, "set"), (170_000, "set")]
)
def test_postgres_16_needs_the_option_set(version: int, privilege: str) -> None:
    assert _privilege_to_switch(version) == privilege


def test_views_before_postgres_15_would_bypass_the_policies() -> None:
    with pytest.raises(StartError, match="15 or later"):
        _privilege_to_switch(149_999)


# The tenant whose rows a request's statements see.


class OneCaller:
    """Authenticator that accepts every token as the same caller."""

    def __init__(self, tenant: str | None) -> None:
        self._caller = Caller("ann", tenant)

    async def authenticate(self, token: str) -> Caller | None:
        return self._caller


async def ready() -> None:
    return None


@pytest.mark.parametrize(
    ("path", "tenant", "seen"),
    [("/of/acme", None, "acme"), ("/of/acme", "acme", "acme"), ("/own", "acme", "acme"), ("/own", None, EVERY_TENANT)],
)
async def test_a_request_sees_the_tenant_of_its_path_or_of_its_token(path: str, tenant: str | None, seen: str) -> None:
    app, routes = application(ready), Routes("tests", token=False)

    @routes.at("GET", "/of/{tenant:segment}", "any token")
    async def of(tenant: str) -> str:
        return tenant_in_sight.get()

    @routes.at("GET", "/own", "any token")
    async def own() -> str:
        return tenant_in_sight.get()

    add_routes(app, [routes])
    guard = guarded(app, OneCaller(tenant))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url="http://here") as http:
        answer = await http.get(path, headers={"Authorization": "Bearer t"})
    assert (answer.status_code, answer.json()) == (200, seen)
    assert tenant_in_sight.get() == "", "it lasts as long as the request"
