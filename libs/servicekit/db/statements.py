"""Loader for SQL files whose statements are used by name.

`-- name: find_messages` begins a statement. Its values have names such as `:tenant`, which are replaced with
$1, $2, ...

`-- name: list_feedback(view, where)` begins a statement with slots. Code fills the slots with SQL before it uses the
statement.

`-- fragment: same_turn(a, b)` begins a fragment, which a statement or another fragment inserts with
`{same_turn(h, s)}`. `{day}` inserts a constant of the program, and `{message_columns}` inserts the columns of a
declared row (`row_fragments.py`).

`-- function: take_turns returns table (turn_id text)` begins the body of a PL/pgSQL function, which is created with the
tables (`schema.py`). Its named values become the function's parameters, each with the type to which it is cast. A
function runs several statements in one round trip and one transaction. At READ COMMITTED, each of its statements gets
its own snapshot, so a statement after a lock sees everything that was committed before the lock was granted.
`{nobody_erased}` guards the function (`guarded` in `log/handler.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from servicekit.db.row_fragments import Row, row_fragments

ERASED_SQLSTATE: Final = "AF001"
"""SQLSTATE that a guarded function raises if a guarded person is in the ledger."""
NOBODY_ERASED: Final = f"""
if cardinality(:guarded_user::text[]) > 0 then
    lock table erasures in share mode;
    if exists (
        select from erasures join unnest(:guarded_tenant::text[], :guarded_user::text[]) as person (tenant, user_id)
        using (tenant, user_id)
    ) then
        raise sqlstate '{ERASED_SQLSTATE}';
    end if;
end if"""
"""First statement of a guarded function, inserted as the fragment `nobody_erased`.

Concurrent erasures wait until the transaction ends, so that they find its rows. The function finds earlier erasures in
the ledger.
"""
_ENTRY: Final = re.compile(
    r"^-- (name|fragment|function): (\w+)(?:\(([\w, ]+)\))?(?: returns ([^\n]+))?\n", re.MULTILINE
)
_TYPED: Final = re.compile(r":(?P<value>[a-z_]\w*)::(?P<type>(?:double precision|\w+)(?:\[\])?)")
_TOKEN: Final = re.compile(
    r"'(?:[^']|'')*'|(?P<comment>\s*--[^\n]*)|::|:(?P<value>[a-z_]\w*)|\{(?P<inserted>\w+)(?:\((?P<arguments>[^{}]*)\))?\}"
)
"""Pattern for a literal or cast (left unchanged), a comment, a value's name, or an insertion."""


def columns_of(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Transpose rows to `width` columns, one for each array that is passed to the statement."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


class Statement(NamedTuple):
    """SQL statement that may still have unfilled slots.

    `values` are the names of the statement's values, in the order of $1, $2, ...

    If the statement calls a function, `definition` is the SQL that creates the function, or only the function's result
    type while there are unfilled slots.
    """

    name: str
    text: str
    slots: tuple[str, ...]
    values: tuple[str, ...]
    definition: str = ""

    def __call__(self, **values: Any) -> tuple[Any, ...]:
        """Return the SQL text and its arguments, for a call such as `pool.fetch(*SQL.find(tenant=tenant))`.

        Raises TypeError if a slot is unfilled or if `values` does not have exactly the names in the statement.
        """
        if not self.slots and len(values) == len(self.values):
            try:
                return self.text, *[values[name] for name in self.values]
            except KeyError:
                pass
        raise TypeError(f"{self.name} takes {[*self.slots, *self.values]}, not {list(values)}")

    def bulk(self, rows: Sequence[Sequence[Any]], **values: Any) -> tuple[Any, ...]:
        """Return the SQL text and arguments of a statement that unnests `rows`, with one array per column.

        The columns of `rows` must be in the order in which their names first occur in the SQL.

        Args:
            values: The statement's values that are not columns of `rows`.
        """
        if not values and not self.slots:
            return self.text, *columns_of(rows, len(self.values))
        columns = [name for name in self.values if name not in values]
        return self(**values, **dict(zip(columns, columns_of(rows, len(columns)), strict=True)))

    def columns(self, prefix: str, rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
        """Return the values whose names begin with `prefix`, for a second set of rows, with one array per column.

        The columns of `rows` must be in the order in which their names first occur in the SQL.
        """
        names = [name for name in self.values if name.startswith(prefix)]
        return dict(zip(names, columns_of(rows, len(names)), strict=True))

    def reader(self, *, other: Collection[str] = (), **attributes: str) -> Callable[[Any], tuple[Any, ...]]:
        """Return a function that converts an object to a row for `bulk`, by reading the object's attributes.

        Args:
            other: The names of the values that are not part of the row. The row must have at least two values.
            attributes: The attribute path of a value, such as `provenance.as_json`, if it differs from the value's
                name.
        """
        return attrgetter(*(attributes.get(name, name) for name in self.values if name not in other))

    def filled(self, **parts: str) -> Statement:
        """Return the statement with its slots replaced by `parts`, which must never contain text from a request."""
        return _filled(self, tuple(parts.items()))


class Statements:
    """All statements in the `*.sql` files of a folder, as attributes.

    Constants are inserted as SQL literals.

    Args:
        rows: The row declarations by prefix. Fragments are generated from each of them.

    Raises:
        ValueError: If a name is defined twice, if an inserted fragment does not exist, or if a fragment gets the wrong
            number of arguments.
    """

    def __init__(
        self, folder: Path, rows: Mapping[str, Row] = MappingProxyType({}), /, **constants: float | str
    ) -> None:
        entries, self._fragments = _read(folder, rows, constants)
        tables = folder / "schema.sql"
        self._tables = tables.read_text("utf-8") if tables.exists() else ""
        self._statements = {name: self._statement(name, entry) for name, entry in entries.items()}
        vars(self).update(self._statements)  # faster than __getattr__

    def __getattr__(self, name: str) -> Statement:
        raise AttributeError(f"no statement has the name {name}")

    def _statement(self, name: str, entry: _Entry) -> Statement:
        slots = {slot: f"{{{slot}}}" for slot in entry.arguments}
        text, returns = (_expanded(part, self._fragments, slots) for part in (entry.text, entry.returns))
        return _statement(Statement(name, text, entry.arguments, (), returns))

    def __iter__(self) -> Iterator[Statement]:
        return iter(self._statements.values())

    @property
    def schema(self) -> str:
        """SQL that creates the tables of the file `schema.sql` and the functions."""
        definitions = [f"{statement.definition};\n" for statement in self if statement.definition]
        return "\n".join([self._tables, *definitions])

    def part(self, name: str, **arguments: str) -> str:
        """Return the SQL of the fragment `name`, for use in a statement's slot.

        The arguments are inserted verbatim, so they must be constant SQL and never user input. Raises TypeError if they
        do not match the fragment's parameters.
        """
        names, text, _ = self._fragments[name]
        if {*names} != arguments.keys():
            raise TypeError(f"{name} takes {[*names]}, not {list(arguments)}")
        return _expanded(text, self._fragments, arguments)


class _Entry(NamedTuple):
    arguments: tuple[str, ...]
    text: str
    returns: str = ""


def _read(
    folder: Path, rows: Mapping[str, Row], constants: Mapping[str, float | str]
) -> tuple[dict[str, _Entry], dict[str, _Entry]]:
    """Return the statements and the fragments in the files of `folder`, each by name."""
    fragments = {name: _Entry((), _literal(value)) for name, value in constants.items()}
    fragments["nobody_erased"] = _Entry((), NOBODY_ERASED)
    for name, row in rows.items():
        fragments |= {fragment_name: _Entry(*fragment) for fragment_name, fragment in row_fragments(name, row).items()}
    statements: dict[str, _Entry] = {}
    for file in sorted(folder.glob("*.sql")):
        _, *parts = _ENTRY.split(file.read_text("utf-8"))
        for kind, name, arguments, returns, text in zip(*(parts[offset::5] for offset in range(5)), strict=True):
            if name in statements or name in fragments:
                raise ValueError(f"{file.name} defines {name} again")
            if (returns is None) == (kind == "function"):
                raise ValueError(f"{file.name}: a function returns something, and nothing else does: {name}")
            entries = fragments if kind == "fragment" else statements
            entries[name] = _Entry(tuple(arguments.split(", ")) if arguments else (), text.strip(), returns or "")
    return statements, fragments


def _literal(constant: float | str) -> str:
    return str(constant) if isinstance(constant, int | float) else "'" + constant.replace("'", "''") + "'"


def _expanded(text: str, fragments: Mapping[str, _Entry], arguments: Mapping[str, str]) -> str:
    """Return `text` with its insertions expanded and its comments removed."""

    def expanded(token: re.Match[str]) -> str:
        name = token["inserted"]
        if name is None:
            return "" if token["comment"] else token[0]
        if name in arguments:
            given_name = arguments[name]
            return _expanded(f"{{{given_name}}}", fragments, {}) if given_name in fragments else given_name
        if name not in fragments:
            raise ValueError(f"no fragment has the name {name}")
        values = [arguments.get(value, value) for value in token["arguments"].split(", ")] if token["arguments"] else []
        names, inner, _ = fragments[name]
        # A fragment may mention the slots of the statement that it is inserted into.
        return _expanded(inner, fragments, {**arguments, **dict(zip(names, values, strict=True))})

    return _TOKEN.sub(expanded, text).strip()


def _statement(statement: Statement) -> Statement:
    """Return the statement with $1, $2, ... in place of named values.

    A statement with unfilled slots is returned unchanged.
    """
    if statement.slots:
        return statement
    numbers: dict[str, int] = {}

    def numbered(token: re.Match[str]) -> str:
        return token[0] if token["value"] is None else f"${numbers.setdefault(token['value'], len(numbers) + 1)}"

    text = _TOKEN.sub(numbered, statement.text)
    if statement.definition:
        types = dict(reversed([(match["value"], match["type"]) for match in _TYPED.finditer(statement.text)]))
        if untyped := numbers.keys() - types.keys():
            raise ValueError(f"{statement.name} casts these values to no type: {sorted(untyped)}")
        return _call(statement, text, [types[name] for name in numbers], tuple(numbers))
    return Statement(statement.name, text, (), tuple(numbers))


def _call(statement: Statement, block: str, types: Sequence[str], values: tuple[str, ...]) -> Statement:
    """Return a statement that calls a function with the body `block`, including the SQL that creates the function."""
    body = f"$block$\n#variable_conflict use_column\n{block}\n$block$"
    name = statement.name
    definition = f"create function {name}({', '.join(types)}) returns {statement.definition} language plpgsql as {body}"
    called = ", ".join(f"${number}::{kind}" for number, kind in enumerate(types, 1))
    return Statement(name, f"select * from {name}({called})", (), values, definition)


@lru_cache(maxsize=1024)
def _filled(statement: Statement, parts: tuple[tuple[str, str], ...]) -> Statement:
    if {slot for slot, _ in parts} != {*statement.slots}:
        raise TypeError(f"{statement.name} has the slots {list(statement.slots)}, not {[slot for slot, _ in parts]}")
    by_slot = dict(parts)
    text = _TOKEN.sub(lambda token: by_slot.get(token["inserted"] or "", token[0]), statement.text)
    return _statement(statement._replace(text=text, slots=()))
