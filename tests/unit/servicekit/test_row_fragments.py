"""Fragments of statements from the declaration of a row."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest

from servicekit.db.row_fragments import column_types, row_fragments
from servicekit.db.statements import Statements


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
        "label_cast": "id::uuid, tags::text[], worth::double precision",
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
