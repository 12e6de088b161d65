"""Migrations: the SQL files of a service, applied in order, and the check that a program can use a schema.

A schema's version is the number of its newest migration; a program's version is the number of its newest file. Each
file names in its first line the oldest program version that can run against it: `-- compatible_from: 0001`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from servicekit.errors import SchemaIncompatible, StartError

_COMPATIBLE_FROM = re.compile(r"-- compatible_from: (\d{4})$", re.MULTILINE)
_TABLE = """
create table if not exists {schema}.migrations (
    name text primary key,
    applied_at timestamptz not null default now(),
    checksum text not null,
    compatible_from integer not null
)
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file `NNNN_name.sql`; without a header it is compatible with no older program."""

    name: str
    text: str

    @property
    def number(self) -> int:
        return number_of(self.name)

    @property
    def compatible_from(self) -> int:
        header = _COMPATIBLE_FROM.match(self.text)
        return int(header[1]) if header else self.number

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def number_of(name: str) -> int:
    """Return the schema version after the migration `name`."""
    return int(re.match(r"\d*", name)[0] or 0)  # type: ignore[index]  # the pattern matches any text


def read_migrations(folder: Path) -> tuple[Migration, ...]:
    """Return the files `NNNN_*.sql` of `folder` in order."""
    return tuple(Migration(file.name, file.read_text("utf-8")) for file in sorted(folder.glob("[0-9]*.sql")))


def incompatibility(schema: str, files: Sequence[Migration], applied: Mapping[str, int]) -> str | None:
    """Return one sentence if a program with `files` cannot use a schema with `applied` migrations, else None.

    `applied` maps each migration's name to its `compatible_from`.
    """
    own = max((file.number for file in files), default=0)
    unknown = applied.keys() - {file.name for file in files}
    if any(number_of(name) <= own for name in unknown):
        return (
            f"The schema {schema} was made by a version before 0.1.0, which cannot be upgraded: export its data with "
            "that version, or start over with an empty database or state folder."
        )
    needed = max((applied[name] for name in unknown), default=0)
    if needed > own:
        return (
            f"The schema {schema} is at version {max(map(number_of, unknown))}, which programs below version {needed} "
            f"cannot use, and this program is at {own}: start a later release."
        )
    return None


async def migrate(connection: asyncpg.Connection, schema: str, folder: Path) -> tuple[str, ...]:
    """Apply the missing migrations of `folder` to `schema` in one transaction, and return their names.

    A newer schema is left unchanged. Several processes may call this concurrently. Raises StartError if the schema is
    older than 0.1.0, newer than this program can use, or has applied a migration whose file was changed afterwards.
    """
    files = read_migrations(folder)
    made = []
    async with connection.transaction():
        # Timeouts of the server or the role are meant for ordinary statements, not for migrations.
        await connection.execute("set local statement_timeout = 0; set local lock_timeout = 0")
        await connection.execute("select pg_advisory_xact_lock(hashtext($1))", f"agent-feedback {schema}")
        await connection.execute(f"create schema if not exists {schema}")
        await connection.execute(_TABLE.format(schema=schema))
        rows = {row["name"]: row for row in await connection.fetch(f"table {schema}.migrations")}
        if why := incompatibility(schema, files, {name: row.get("compatible_from", 0) for name, row in rows.items()}):
            raise StartError(why)
        for file in files:
            if file.name not in rows:
                await connection.execute(file.text)
                await connection.execute(
                    f"insert into {schema}.migrations (name, checksum, compatible_from) values ($1, $2, $3)",
                    file.name,
                    file.checksum,
                    file.compatible_from,
                )
                made.append(file.name)
            elif rows[file.name]["checksum"] != file.checksum:
                raise StartError(f"The migration {file.name} of {schema} was changed after it was applied: restore it.")
    return tuple(made)


async def check_schema(pool: asyncpg.Pool, schema: str, files: Sequence[Migration]) -> None:
    """Raise SchemaIncompatible if a later release has brought `schema` to a version that this program cannot use."""
    rows = await pool.fetch(f"select name, compatible_from from {schema}.migrations", timeout=2)
    if why := incompatibility(schema, files, {row["name"]: row["compatible_from"] for row in rows}):
        raise SchemaIncompatible(why)
