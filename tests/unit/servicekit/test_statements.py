"""Statements from files: names, values, fragments, slots and rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from servicekit.db.statements import Statements


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


def test_a_function_has_the_types_of_its_values_and_a_name_with_its_digest(tmp_path: Path) -> None:
    add = loaded(tmp_path, FUNCTION.format(returns="table (n int)", kind="double precision")).add
    assert add.text == f"select * from {add.called}($1::double precision[], $2::bigint)"
    assert add(a=[1.0], b=2) == (add.text, [1.0], 2)
    assert add.made.startswith(f"create function {add.called}(double precision[], bigint) returns table (n int) ")
    assert "insert into t select unnest($1::double precision[]) + $2::bigint;" in add.made
    others = [("setof int", "double precision"), ("table (n int)", "int")]
    names = {loaded(tmp_path, FUNCTION.format(returns=one, kind=kind)).add.called for one, kind in others}
    assert len({add.called, *names}) == 3


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
