"""PostgreSQL: waiting for it, and pools whose connections use one service's schema."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import asyncpg
from asyncpg.protocol import protocol as asyncpg_protocol

from servicekit.db.inline_release_pool import InlineReleasePool
from servicekit.db.migrations import migrate
from servicekit.db.row_security import ReadingConnection, keep_to_tenant, secure
from servicekit.errors import StartError
from servicekit.settings import ReadSettings

Say = Callable[[str], None]
_IDENTIFIER = re.compile(r"[a-z_]{1,40}")
_CONNECT_SECONDS = 5.0
COMMAND_SECONDS = 30.0
"""A statement that takes longer counts as an outage and is tried again."""
_BY_KEY = {
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_seqscan": "off",
    "plan_cache_mode": "force_generic_plan",
}
_PLAN_ANEW = {"plan_cache_mode": "force_custom_plan"}
PLANNED_FREELY = "; ".join(
    f"set local {name} = {'force_custom_plan' if name == 'plan_cache_mode' else 'on'}" for name in _BY_KEY
)
"""In a transaction on a pool opened `by_key`: the statements that follow read many rows, and are planned for that."""


async def wait_for_database(url: str, say: Say) -> None:
    """Return once the database answers, and say meanwhile that it does not. Raises StartError if it never can."""
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
    by_key: bool = False,
    plan_anew: bool = False,
) -> asyncpg.Pool:
    """A pool whose connections live in `schema`, brought up to the newest migration; `init` is given each of them once.

    `tenants_apart` gives a pool that only reads, and of one tenant at a time (see `row_security.py`).
    `by_key` is for statements that find rows by their keys, an array of them at a time: each is planned once, and by
    indexes alone. Left to itself PostgreSQL reads whole tables for a batch while it has no statistics of them.
    `plan_anew` is for statements whose best plan depends on what is asked for: each is planned every time.
    Waits as long as the database does not answer, and says so every few seconds.
    """
    how = _options(schema, **(_BY_KEY if by_key else {}), **(_PLAN_ANEW if plan_anew else {}))
    _tell_arrays_by_type()
    connection = await _connected(url, how | {"command_timeout": None}, say)  # an index may take an hour to build
    try:
        await migrate(connection, schema, migrations)
        if tenants_apart:
            await secure(connection, schema)
    finally:
        await connection.close(timeout=_CONNECT_SECONDS)
    if tenants_apart:
        how |= {"setup": keep_to_tenant, "connection_class": ReadingConnection}
    else:
        how |= {"init": init}
    pool = asyncpg.create_pool(url, min_size=1, max_size=size, reset=_as_it_is, **how)
    pool.__class__ = InlineReleasePool  # asyncpg names its own class where it makes a pool
    return await pool


async def open_as_it_is(url: str, schema: str, *, say: Say = lambda _: None) -> asyncpg.Connection:
    """Open one connection that reads `schema` at whatever migration it is, and cannot write."""
    return await _connected(url, _options(schema, default_transaction_read_only="on"), say)


async def open_reads(
    settings: ReadSettings, schema: str, migrations: Path, *, say: Say, by_key: bool = False, plan_anew: bool = False
) -> asyncpg.Pool:
    """Open a pool for what callers ask, of connections that the consumers do not share; for the rest see `open_pool`.

    Readers wait for each other, never a consumer for them, and what one event loop serialises at once is bounded.
    """
    return await open_pool(
        settings.database_url,
        schema,
        migrations,
        size=settings.read_pool_size,
        say=say,
        tenants_apart=settings.row_security,
        by_key=by_key,
        plan_anew=plan_anew,
    )


def _options(schema: str, **settings: str) -> dict[str, Any]:
    """Return asyncpg's options for `schema`, with the server's `settings`. Raises StartError for an invalid name."""
    if not _IDENTIFIER.fullmatch(schema):
        raise StartError(f"{schema!r} is no schema name")
    common = {"search_path": f"{schema},public", "application_name": f"agent-feedback {schema}", "jit": "off"}
    return {
        "timeout": _CONNECT_SECONDS,
        "command_timeout": COMMAND_SECONDS,
        "server_settings": common | settings,
    }


async def _as_it_is(connection: asyncpg.Connection) -> None:
    """Our statements leave nothing behind on a connection but perhaps a transaction, which asyncpg ends by itself.

    Its usual reset is a round trip after every single statement.
    """


def _tell_arrays_by_type() -> None:
    """Let asyncpg ask of each element of an array whether it is a list or tuple, instead of whether it is iterable.

    Asked the abstract class, that takes longer than sending the element, and a batch has some hundred columns of them.
    asyncpg offers no place for this, so its own name is replaced; a test fails where it no longer has it.
    """
    vars(asyncpg_protocol)["IterableABC"] = (list, tuple)


async def _connected(url: str, how: dict[str, Any], say: Say) -> asyncpg.Connection:
    """A connection as soon as the database gives one. Raises StartError where it never will."""
    if not url.startswith(("postgresql://", "postgres://")):
        raise StartError(f"{shown(url)} is not an address of PostgreSQL: it must begin with postgresql://.")
    tries = 0
    while True:
        try:
            return await asyncpg.connect(url, **how)
        except (
            asyncpg.InvalidPasswordError,
            asyncpg.InvalidCatalogNameError,
            asyncpg.InvalidAuthorizationSpecificationError,
        ):
            raise StartError(f"The database at {shown(url)} refuses the user, password or database name.") from None
        except asyncpg.ClientConfigurationError:  # such as a certificate authority whose file is missing
            raise StartError(f"The TLS options of the address {shown(url)} name files that cannot be used.") from None
        except ValueError:  # such as a port in letters or half a pair of brackets
            raise StartError(f"{shown(url)} is not an address of PostgreSQL: its host or port is invalid.") from None
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


def shown(url: str) -> str:
    """An address without its user, password and options, fit for a message."""
    return re.sub(r"//[^@/]*@", "//", url.split("?", 1)[0])
