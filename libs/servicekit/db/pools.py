"""Connections and connection pools for the schema of a service, opened as soon as the database responds."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, Literal

import asyncpg

from servicekit.db.database import Database
from servicekit.db.row_security import ReadingConnection, keep_to_tenant, secure
from servicekit.db.schema import create_schema
from servicekit.errors import StartError, shown
from servicekit.settings import ReadSettings

Say = Callable[[str], None]
Plan = Literal["automatic", "once", "custom"]
"""Planning of a pool's statements by PostgreSQL.

- automatic: PostgreSQL's default choice.
- once: each connection plans a statement once, and again when its tables' statistics have changed. For the statements
  of batches, which would cost a third more time in PostgreSQL if each of their first calls were planned.
- custom: each call is planned. For statements with parameters on which the best plan depends.
"""
_IDENTIFIER = re.compile(r"[a-z_]{1,40}")
_CONNECT_SECONDS = 5.0
COMMAND_SECONDS = 30.0
"""Maximum duration of a statement in seconds; a longer one counts as an outage and is retried."""
_PLANS: Final[Mapping[Plan, Mapping[str, str]]] = {
    "automatic": {},
    "once": {"plan_cache_mode": "force_generic_plan"},
    "custom": {"plan_cache_mode": "force_custom_plan"},
}


async def wait_for_database(url: str, say: Say) -> None:
    """Wait until the database responds, reporting the wait through `say`.

    Raises StartError if waiting cannot help, for example because the URL is invalid.
    """
    connection = await _connected(url, {"timeout": _CONNECT_SECONDS}, say)
    connection.terminate()  # it has answered: the loss of this connection is no error


async def open_pool(
    url: str,
    schema: str,
    sql: str,
    *,
    size: int = 4,
    say: Say = lambda _: None,
    init: Callable[..., Coroutine[Any, Any, None]] | None = None,
    tenants_apart: bool = False,
    plan: Plan = "automatic",
) -> Database:
    """Create the tables of `schema` if it is empty, and return a connection pool for it.

    While the database does not respond, this waits and reports the wait every few seconds.

    Args:
        sql: The SQL that creates the tables and functions (`Statements.schema`).
        size: The maximum number of connections.
        init: A function that is called once with each new connection.
        tenants_apart: True for a read-only pool that is limited to one tenant at a time (see `row_security.py`).
    """
    await create_tables(url, schema, sql, say=say, tenants_apart=tenants_apart)
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
    """Return a pool of at least `least` connections for `schema`, without creating its tables."""
    options = _options(schema, **_PLANS[plan])
    name = schema
    if tenants_apart:
        options |= {"setup": keep_to_tenant, "connection_class": ReadingConnection}
        options["server_settings"]["application_name"] += " reads"
        name += " reads"
    else:
        options |= {"init": init}
    opened: Database = await Database(url, name=name, min_size=least, max_size=size, reset=_keep_state, **options)
    return opened


async def create_tables(url: str, schema: str, sql: str, *, say: Say, tenants_apart: bool) -> bool:
    """Create the tables of `schema` if it is empty, and return True if they were created.

    With `tenants_apart`, readers are also restricted to their tenant (see `row_security.py`). This waits while the
    database does not respond.

    Raises:
        StartError: For the same reasons as `create_schema`, or if the database user lacks a permission.
    """
    # Another process that creates the tables may hold the lock for longer than a statement may take.
    connection = await _connected(url, _options(schema) | {"command_timeout": None}, say)
    try:
        created = await create_schema(connection, schema, sql)
        if tenants_apart:
            await secure(connection, schema)
    finally:
        connection.terminate()  # it has answered: the loss of this connection is no error
    return created


async def open_readonly(url: str, schema: str, *, say: Say = lambda _: None) -> asyncpg.Connection:
    """Return a read-only connection to `schema`, whatever its version."""
    return await _connected(url, _options(schema, default_transaction_read_only="on"), say)


async def open_reads(
    settings: ReadSettings,
    schema: str,
    sql: str,
    *,
    say: Say,
    plan: Plan = "automatic",
    replica: str | None = None,
) -> Database:
    """Return a separate connection pool for HTTP reads, so that they never delay a consumer (see `open_pool`).

    At most `read_pool_size` reads run concurrently; further reads wait.

    Args:
        replica: The URL of a streaming replica to read from. It need not be running yet.

    Raises:
        StartError: If a URL is invalid.
    """
    size, tenants_apart = settings.read_pool_size, settings.row_security
    if replica is None:
        return await open_pool(
            settings.database_url, schema, sql, size=size, say=say, tenants_apart=tenants_apart, plan=plan
        )
    try:
        return await _pool(replica, schema, size=size, tenants_apart=tenants_apart, plan=plan, least=0)
    except ValueError:
        raise StartError(f"{shown(replica)} is not an address of PostgreSQL: its host or port is invalid.") from None


def _options(schema: str, **settings: str) -> dict[str, Any]:
    """Return asyncpg's connection options for `schema`, with additional server settings.

    Raises StartError if the schema name is invalid.
    """
    if not _IDENTIFIER.fullmatch(schema):
        raise StartError(f"{schema!r} is not a schema name")
    common = {
        "search_path": f"{schema},public",
        "application_name": f"agent-feedback {schema}",
        "jit": "off",
        # A statement after a lock must see what was committed before the lock was granted.
        "default_transaction_isolation": "read committed",
    }
    return {
        "timeout": _CONNECT_SECONDS,
        "command_timeout": COMMAND_SECONDS,
        "server_settings": common | settings,
    }


async def _keep_state(connection: asyncpg.Connection) -> None:
    """Skip asyncpg's reset of a returned connection, which would cost another round trip.

    Our statements leave no state to reset, except an open transaction, which asyncpg ends itself.
    """


async def _connected(url: str, how: dict[str, Any], say: Say) -> asyncpg.Connection:
    """Connect to the database, waiting while it does not respond.

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
