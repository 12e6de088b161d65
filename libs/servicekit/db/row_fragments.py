"""SQL fragments for the column lists of upserts, generated from a single row declaration. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, Final, get_args, get_type_hints
from uuid import UUID

Row = Mapping[str, str] | type
"""Row declaration: the PostgreSQL type by column name, or a named tuple with a field for each column."""
Fragment = tuple[tuple[str, ...], str]
"""Argument names and text of a fragment."""

_TYPES: Final[Mapping[Any, str]] = {
    str: "text",
    int: "bigint",
    float: "double precision",
    bool: "boolean",
    bytes: "bytea",
    UUID: "uuid",
    tuple[str, ...]: "text[]",
    dict[str, str]: "jsonb",
}


def column_types(row: Row) -> Mapping[str, str]:
    """Return the PostgreSQL type of each column, in column order.

    Raises ValueError if a field of a named tuple has a type without a corresponding column type.
    """
    if isinstance(row, Mapping):
        return row
    return {name: _column_type(name, hint) for name, hint in get_type_hints(row).items()}


def _column_type(name: str, hint: Any) -> str:
    named = (
        [argument for argument in get_args(hint) if argument is not NoneType] if NoneType in get_args(hint) else [hint]
    )
    if len(named) != 1 or named[0] not in _TYPES:
        raise ValueError(f"no column type for {name}: {hint}")
    return _TYPES[named[0]]


def row_fragments(name: str, row: Row) -> Mapping[str, Fragment]:
    """Return the SQL fragments generated from a row declaration, by fragment name. Fragment names begin with `name`.

    For the columns `a` and `b`, the fragments are:

    - `NAME_columns`: `a, b`
    - `NAME_of(held)`: `held.a, held.b`
    - `NAME_arrays`: `:a::text[], :b::bigint[]`, the values of a statement that unnests rows
    - `NAME_arrays_as(prefix)`: `:prefix_a::text[], :prefix_b::bigint[]`, for a statement that unnests rows of several
      declarations
    - `NAME_given(new)`: `new.a, new.b`, the columns of the unnested rows `new`. A `text[]` is sent as one string,
      because `unnest` would flatten nested arrays, and is split here. Its elements are separated by U+001F and must not
      contain control characters.
    - `NAME_typed`: `a text, b bigint`, the columns of a function's result
    - `NAME_nulls`: `null::text, null::bigint`
    - `NAME_set`: `a = excluded.a, b = excluded.b`
    - `NAME_set_if(condition, held)`: `a = case when condition then excluded.a else held.a end, ...`
    """
    columns = column_types(row)
    texts: dict[str, Fragment] = {
        "columns": ((), ", ".join(columns)),
        "of": (("held",), ", ".join(f"{{held}}.{column}" for column in columns)),
        "arrays": ((), ", ".join(f":{column}::{_sent(kind)}[]" for column, kind in columns.items())),
        "arrays_as": (
            ("prefix",),
            ", ".join(f":{{prefix}}_{column}::{_sent(kind)}[]" for column, kind in columns.items()),
        ),
        "given": (("new",), ", ".join(_received(column, kind) for column, kind in columns.items())),
        "typed": ((), ", ".join(f"{column} {kind}" for column, kind in columns.items())),
        "nulls": ((), ", ".join(f"null::{kind}" for kind in columns.values())),
        "set": ((), ", ".join(f"{column} = excluded.{column}" for column in columns)),
        "set_if": (
            ("condition", "held"),
            ",\n    ".join(
                f"{column} = case when {{condition}} then excluded.{column} else {{held}}.{column} end"
                for column in columns
            ),
        ),
    }
    return {f"{name}_{suffix}": fragment for suffix, fragment in texts.items()}


def _sent(kind: str) -> str:
    return kind.removesuffix("[]")


def _received(column: str, kind: str) -> str:
    return rf"string_to_array({{new}}.{column}, E'\x1f')" if kind == "text[]" else f"{{new}}.{column}"
