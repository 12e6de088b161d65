"""Connections and connection pools for the schema of one service, with a wait until the database responds."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import asyncpg
from asyncpg.protocol import protocol as asyncpg_protocol

from servicekit.clock import Clock
from servicekit.db.database import INDEXED, Database
from servicekit.db.inline_release_pool import APPLICATION
from servicekit.db.migrations import migrate, read_migrations
from servicekit.db.replica import ReplicaReads
from servicekit.db.row_security import ReadingConnection, keep_to_tenant, secure
from servicekit.errors import StartError, shown
from servicekit.settings import ReadSettings

Say = Callable[[str], None]
Plan = Literal["automatic", "indexed", "custom"]
"""Planning of a pool's statements by PostgreSQL.

- automatic: PostgreSQL's default choice.
- indexed: each statement is planned once, with index scans only. For statements that find rows by arrays of keys;
  by default, PostgreSQL scans whole tables for a batch until the tables have statistics.
- custom: each call is planned. For statements with parameters on which the best plan depends.
"""
_IDENTIFIER = re.compile(r"[a-z_]{1,40}")
_CONNECT_SECONDS = 5.0
COMMAND_SECONDS = 30.0
"""Maximum duration of a statement in seconds; a longer one counts as an outage and is retried."""
_PLANS: Final[Mapping[Plan, Mapping[str, str]]] = {
    "automatic": {},
    "indexed": INDEXED,
    "custom": {"plan_cache_mode": "force_custom_plan"},
}


async def wait_for_database(url: str, say: Say) -> None:
    """Wait until the database responds, and report the wait through `say`.

    Raises StartError if waiting cannot help, such as for an invalid URL.
    """
    connection = await _connected(url, {"timeout": _CONNECT_SECONDS}, say)
    await connection.close(timeout=_CONNECT_SECONDS)


async def open_pool(
    url: str,
    schema: str,
    migrations: Path,
    *,
    size: int = 4,
    say: Say = lambda _: None,
    init: Callable[..., Coroutine[Any, Any, None]] | None = None,
    tenants_apart: bool = False,
    plan: Plan = "automatic",
) -> Database:
    """Migrate `schema` to the newest version, and return a pool for it; `init` is called once with each connection.

    With `tenants_apart`, the pool is read-only and limited to one tenant at a time (see `row_security.py`). Waits while
    the database does not respond, and reports the wait every few seconds.
    """
    await migrate_database(url, schema, migrations, say=say, tenants_apart=tenants_apart)
    return await _pool(url, schema, size=size, init=init, tenants_apart=tenants_apart, plan=plan)


async def _pool(
    url: str,
    schema: str,
    *,
    size: int,
    tenants_apart: bool,
    plan: Plan,
    init: Callable[..., Coroutine[Any, Any, None]] | None = None,
    least: int = 1,
) -> Database:
    """Return a pool for `schema` without migrating it, with at least `least` connections."""
    how = _options(schema, **_PLANS[plan])
    _check_arrays_by_type()
    if tenants_apart:
        how |= {"setup": keep_to_tenant, "connection_class": ReadingConnection}
        how["server_settings"]["application_name"] += " reads"
    else:
        how |= {"init": init}
    pool: Any = asyncpg.create_pool(url, min_size=least, max_size=size, reset=_keep_state, **how)
    pool.__class__ = Database  # asyncpg passes its own class when it creates a pool
    opened: Database = await pool
    return opened


async def migrate_database(
    url: str, schema: str, migrations: Path, *, say: Say, tenants_apart: bool
) -> tuple[str, ...]:
    """Migrate `schema` to its newest version, and return the names of the applied migrations.

    `tenants_apart` also restricts readers to their tenant (see `row_security.py`). Waits while the database does not
    respond. Raises StartError for the reasons of `migrate`, and if the database user lacks a permission.
    """
    # An index may take an hour to build.
    connection = await _connected(url, _options(schema) | {"command_timeout": None}, say)
    try:
        made = await migrate(connection, schema, migrations)
        if tenants_apart:
            await secure(connection, schema)
    finally:
        await connection.close(timeout=_CONNECT_SECONDS)
    return made


async def open_readonly(url: str, schema: str, *, say: Say = lambda _: None) -> asyncpg.Connection:
    """Return a read-only connection to `schema`, whatever the schema's version."""
    return await _connected(url, _options(schema, default_transaction_read_only="on"), say)


async def open_reads(
    settings: ReadSettings, schema: str, migrations: Path, *, say: Say, plan: Plan = "automatic"
) -> Database:
    """Return a pool for HTTP reads, separate from the consumers' connections; see also `open_pool`.

    Reads wait only for other reads and never delay a consumer. `read_pool_size` limits the number of concurrent reads.
    """
    return await open_pool(
        settings.database_url,
        schema,
        migrations,
        size=settings.read_pool_size,
        say=say,
        tenants_apart=settings.row_security,
        plan=plan,
    )


async def open_replica(
    settings: ReadSettings,
    url: str,
    schema: str,
    migrations: Path,
    primary: Database,
    clock: Clock,
    *,
    most_seconds: float,
    plan: Plan,
) -> ReplicaReads:
    """Return a pool for reads that may use the replica at `url`; `primary` is the pool for all other reads.

    The replica need not respond yet. It is used while its lag is at most `most_seconds`. Raises StartError for an
    invalid URL.
    """
    try:
        pool = await _pool(
            url, schema, size=settings.read_pool_size, tenants_apart=settings.row_security, plan=plan, least=0
        )
    except ValueError:
        raise StartError(f"{shown(url)} is not an address of PostgreSQL: its host or port is invalid.") from None
    newest = read_migrations(migrations)[-1].name
    return ReplicaReads(primary, pool, clock, name=schema, migration=newest, most_seconds=most_seconds)


def _options(schema: str, **settings: str) -> dict[str, Any]:
    """Return asyncpg's connection options for `schema`, with the server settings `settings`.

    Raises StartError for an invalid schema name.
    """
    if not _IDENTIFIER.fullmatch(schema):
        raise StartError(f"{schema!r} is not a schema name")
    common = {
        "search_path": f"{schema},public",
        "application_name": f"{APPLICATION}{schema}",
        "jit": "off",
        # A statement after a lock must see what was committed before the lock was granted (decision 168).
        "default_transaction_isolation": "read committed",
    }
    return {
        "timeout": _CONNECT_SECONDS,
        "command_timeout": COMMAND_SECONDS,
        "server_settings": common | settings,
    }


async def _keep_state(connection: asyncpg.Connection) -> None:
    """Do nothing when a connection is returned, instead of asyncpg's reset, which costs one more round trip.

    No reset is needed: our statements leave no state except an open transaction, which asyncpg ends.
    """


def _check_arrays_by_type() -> None:
    """Make asyncpg check elements of arrays only for `list` and `tuple`, instead of for any iterable.

    The check for any iterable takes longer than sending the element, and a batch has some hundred columns. asyncpg has
    no extension point for this, so its private name is replaced; a test fails if it no longer exists.
    """
    vars(asyncpg_protocol)["IterableABC"] = (list, tuple)


async def _connected(url: str, how: dict[str, Any], say: Say) -> asyncpg.Connection:
    """Wait until the database accepts a connection, and return the connection.

    Raises StartError if waiting cannot help.
    """
    if not url.startswith(("postgresql://", "postgres://")):
        raise StartError(f"{url} is not an address of PostgreSQL: it must begin with postgresql://.")
    tries = 0
    while True:
        try:
            return await asyncpg.connect(url, **how)
        except (
            asyncpg.InvalidPasswordError,
            asyncpg.InvalidCatalogNameError,
            asyncpg.InvalidAuthorizationSpecificationError,
        ):
            raise StartError(f"The database at {url} rejects the user, password or database name.") from None
        except asyncpg.ClientConfigurationError:  # such as a missing file of certificate authorities
            raise StartError(f"The TLS options of the address {url} name files that cannot be used.") from None
        except ValueError:  # such as a port that is not a number, or an unclosed bracket
            raise StartError(f"{url} is not an address of PostgreSQL: its host or port is invalid.") from None
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            if tries == 0:
                say(f"Waiting for the database at {shown(url)} ({type(error).__name__}) ...")
            elif tries % 5 == 0:
                say(
                    f"Still no answer from the database at {shown(url)} ({type(error).__name__}). "
                    "Is the address right, and does PostgreSQL listen there? Ctrl-C ends the wait."
                )
            tries += 1
            await asyncio.sleep(1)
