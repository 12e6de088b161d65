"""PostgreSQL as a second check between tenants: connections that read for callers see the rows of one tenant only.

The guard of the HTTP server notes the tenant of a request (`tenant_in_sight`). A reading pool sets it on each
connection before it lends the connection. A connection without a tenant sees no tenant's rows, so a query that omits
its tenant finds nothing. Consumers write as the tables' owner, whom the policies do not restrict.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

import asyncpg

from servicekit.db.sql import SQL
from servicekit.errors import StartError

READER: Final = "agent_feedback_reader"
"""Role of reading connections: it may only select, and the policies apply to it."""
EVERY_TENANT: Final = "*"
tenant_in_sight: ContextVar[str] = ContextVar("tenant_in_sight", default="")
"""Tenant whose rows the current work may read: a tenant, EVERY_TENANT, or none if empty."""
_SEEN: Final = "current_setting('agent_feedback.tenant', true)"
_LEAST_VERSION: Final = 150_000
_SET_VERSION: Final = 160_000
"""Since this version, a member may switch to a role only if the grant says so; whoever creates a role may not."""


class ReadingConnection(asyncpg.Connection):
    """Connection of a reading pool; `seen` is the tenant that it is set to, None if unknown."""

    seen: str | None = None

    async def keep_to_tenant(self) -> None:
        """Restrict the next statements to rows of `tenant_in_sight`.

        This costs a round trip only if the tenant has changed.
        """
        tenant = tenant_in_sight.get()
        if self.seen != tenant:
            self.seen = None
            role = "none" if tenant == EVERY_TENANT else READER
            await self.execute(
                "select set_config('role', $1, false), set_config('agent_feedback.tenant', $2, false)", role, tenant
            )
            self.seen = tenant


async def keep_to_tenant(connection: Any) -> None:
    """Set the tenant of a connection before a pool lends it."""
    await connection.keep_to_tenant()


async def secure(connection: asyncpg.Connection, schema: str) -> None:
    """Restrict readers of `schema` to one tenant.

    All tables with a tenant get policies, and views get their caller's rights. Changes only what
    differs. Raises StartError if the database's user lacks the permission.
    """
    version = int(await connection.fetchval("show server_version_num"))
    if version < _LEAST_VERSION:
        raise StartError("Row level security needs PostgreSQL 15 or later: upgrade, or switch it off.")
    try:
        async with connection.transaction():
            for lock in (f"agent-feedback {schema}", READER):  # the services of a database share the role
                await connection.execute("select pg_advisory_xact_lock(hashtext($1))", lock)
            await _make_role(connection, "set" if version >= _SET_VERSION else "member")
            await connection.execute(f"grant usage on schema {schema} to {READER}")
            await connection.execute(f"grant select on all tables in schema {schema} to {READER}")
            for (table,) in await connection.fetch(*SQL.unsecured_tables(schema=schema)):
                await connection.execute(f"alter table {schema}.{table} enable row level security")
                await connection.execute(
                    f"create policy of_tenant on {schema}.{table} for select to {READER} using (tenant = {_SEEN})"
                )
            for (view,) in await connection.fetch(*SQL.unsecured_views(schema=schema)):
                await connection.execute(f"alter view {schema}.{view} set (security_invoker = true)")
    except asyncpg.InsufficientPrivilegeError:
        user = await connection.fetchval("select current_user")
        raise StartError(
            f"The database's user may not make the role {READER} for row level security: have an administrator run "
            f'`create role {READER} nologin; grant {READER} to "{user}";`, or switch row level security off.'
        ) from None


async def _make_role(connection: asyncpg.Connection, privilege: str) -> None:
    """Create READER if it is missing, and grant it to a user without `privilege`, the right to switch to it."""
    if not await connection.fetchval("select true from pg_roles where rolname = $1", READER):
        await connection.execute(f"create role {READER} nologin")
    if not await connection.fetchval("select pg_has_role(current_user, $1, $2)", READER, privilege):
        await connection.execute(f"grant {READER} to current_user")
