"""SQL migrations of a service, and a check that a program can use a schema.

The version of a schema is the number of its latest applied migration, and the version of a program is the number of its
latest migration file. The first line of each file names the oldest program version that can use the migrated schema:
`-- compatible_from: 0001`.

All missing migrations are applied in one transaction, except those whose second line is `-- concurrently`. The
statements of a migration with this line run one at a time, each in its own transaction, while older programs keep
writing. They build an index (`create index concurrently if not exists`), change a key or add a column. They must be
repeatable, because they run again after an interruption.

`create or replace view` resets the option `security_invoker` of a view (`row_security.py`). After migrations in a
transaction, the option is therefore set again.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import asyncpg

from servicekit.errors import SchemaIncompatible, StartError

_COMPATIBLE_FROM = re.compile(r"-- compatible_from: (\d{4})$", re.MULTILINE)
_CONCURRENTLY = re.compile(r"-- compatible_from: \d{4}\n-- concurrently$", re.MULTILINE)
_RETRY_SECONDS = 0.1
_INVALID_INDEXES = """
select format('drop index concurrently %I.%I', $1::text, c.relname) from pg_index i
join pg_class c on c.oid = i.indexrelid
where not i.indisvalid and c.relnamespace = $1::regnamespace and c.relname = any($2::text[])
"""
_VIEWS_WITH_CALLERS_RIGHTS = """
select relname from pg_class
where relnamespace = $1::regnamespace and relkind = 'v' and reloptions @> array['security_invoker=true']
"""
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
    """Migration file `NNNN_name.sql`.

    If the line `compatible_from` is missing, no older program can use the migrated schema.
    """

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
    def concurrently(self) -> bool:
        """True if each statement runs in its own transaction."""
        return _CONCURRENTLY.match(self.text) is not None

    @property
    def statements(self) -> list[str]:
        """Statements of a migration that is not applied in one transaction."""
        return [part for part in re.split(r";\s*$", self.text, flags=re.MULTILINE) if part.strip()]

    @property
    def in_transaction(self) -> str:
        """SQL of the migration for use in a transaction, in which indexes cannot be built concurrently."""
        return self.text.replace("create index concurrently", "create index") if self.concurrently else self.text

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def number_of(name: str) -> int:
    """Return the number at the beginning of a migration's name, or 0 if there is none.

    It is the version of the schema after the migration.
    """
    return int(re.match(r"\d*", name)[0] or 0)  # type: ignore[index]  # the pattern matches any text


def read_migrations(folder: Path) -> tuple[Migration, ...]:
    """Return the migration files `NNNN_*.sql` in `folder`, in the order in which they are applied."""
    return tuple(Migration(file.name, file.read_text("utf-8")) for file in sorted(folder.glob("[0-9]*.sql")))


def incompatibility(schema: str, files: Sequence[Migration], applied: Mapping[str, int]) -> str | None:
    """Return the reason why a program cannot use a schema, in one sentence, or None if it can.

    Args:
        files: The migration files of the program.
        applied: The `compatible_from` of each migration applied to the schema, by migration name.
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
    """Apply the missing migrations to `schema`, creating it if necessary, and return their names.

    A new schema is created in one transaction. A newer schema that this program can use is left unchanged. Several
    processes may call this concurrently.

    Raises:
        StartError: If the schema is older than release 0.1.0 or too new for this program, or if a migration file was
            changed after it was applied.
    """
    files = read_migrations(folder)
    async with _exclusive(connection, schema):
        missing = await _missing(connection, schema, files)
        is_new = len(missing) == len(files)
        for concurrently, some in groupby(missing, key=lambda file: file.concurrently and not is_new):
            if concurrently:
                for file in some:
                    await _apply_one_by_one(connection, schema, file)
                continue
            async with connection.transaction():
                await connection.execute("set local statement_timeout = 0; set local lock_timeout = 0")
                await connection.execute("select pg_advisory_xact_lock(hashtext($1))", f"agent-feedback {schema}")
                restricted = await _views_with_callers_rights(connection, schema)
                for file in some:
                    await connection.execute(file.in_transaction)
                    await _note(connection, schema, file)
                for view in sorted(restricted - await _views_with_callers_rights(connection, schema)):
                    await connection.execute(f"alter view if exists {schema}.{view} set (security_invoker = true)")
    return tuple(file.name for file in missing)


@asynccontextmanager
async def _exclusive(connection: asyncpg.Connection, schema: str) -> AsyncIterator[None]:
    """Lock `schema` against concurrent migrations, and disable the timeouts, which are meant for ordinary statements.

    The lock is polled, because a statement that waits for it would hold a snapshot. A process that holds the lock while
    it builds an index concurrently would wait for that snapshot, so both would wait forever.
    """
    lock = f"agent-feedback migrations of {schema}"
    while not await connection.fetchval("select pg_try_advisory_lock(hashtext($1))", lock):
        await asyncio.sleep(_RETRY_SECONDS)
    try:
        await connection.execute("set statement_timeout = 0; set lock_timeout = 0")
        yield
    except asyncio.CancelledError:
        connection.terminate()  # releases the lock without waiting for a server that may not respond
        raise
    finally:
        if not connection.is_closed():
            await connection.execute("reset statement_timeout; reset lock_timeout")
            await connection.execute("select pg_advisory_unlock(hashtext($1))", lock)


async def _missing(connection: asyncpg.Connection, schema: str, files: Sequence[Migration]) -> list[Migration]:
    """Return the files that have not been applied to `schema`, which is created if it does not exist."""
    async with connection.transaction():
        await connection.execute(f"create schema if not exists {schema}")
        await connection.execute(_TABLE.format(schema=schema))
        rows = {row["name"]: row for row in await connection.fetch(f"table {schema}.migrations")}
    if why := incompatibility(schema, files, {name: row.get("compatible_from", 0) for name, row in rows.items()}):
        raise StartError(why)
    for file in files:
        if file.name in rows and rows[file.name]["checksum"] != file.checksum:
            raise StartError(f"The migration {file.name} of {schema} was changed after it was applied: restore it.")
    return [file for file in files if file.name not in rows]


async def _views_with_callers_rights(connection: asyncpg.Connection, schema: str) -> set[str]:
    return {row["relname"] for row in await connection.fetch(_VIEWS_WITH_CALLERS_RIGHTS, schema)}


async def _apply_one_by_one(connection: asyncpg.Connection, schema: str, file: Migration) -> None:
    """Apply the statements of a migration one by one, after dropping invalid indexes left by an interrupted build."""
    names = re.findall(r"create index concurrently if not exists (\w+)", file.text)
    for drop in await connection.fetch(_INVALID_INDEXES, schema, names):
        await connection.execute(drop[0])
    for statement in file.statements:
        await connection.execute(statement)
    await _note(connection, schema, file)


async def _note(connection: asyncpg.Connection, schema: str, file: Migration) -> None:
    await connection.execute(
        f"insert into {schema}.migrations (name, checksum, compatible_from) values ($1, $2, $3)",
        file.name,
        file.checksum,
        file.compatible_from,
    )


async def check_schema(pool: asyncpg.Pool, schema: str, files: Sequence[Migration]) -> None:
    """Raise SchemaIncompatible if a later release has migrated `schema` beyond what this program can use."""
    rows = await pool.fetch(f"select name, compatible_from from {schema}.migrations", timeout=2)
    if why := incompatibility(schema, files, {row["name"]: row["compatible_from"] for row in rows}):
        raise SchemaIncompatible(why)
