"""Row-level security: a second barrier between tenants, by which HTTP reads see only one tenant's rows.

The HTTP server's guard stores the tenant of a request in `tenant_in_sight`. A reading pool sets this tenant on each
connection that is acquired. A connection without a tenant sees no rows. Consumers write as the owner of the tables, to
whom the policies do not apply.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

import asyncpg

from servicekit.db.sql import SQL
from servicekit.errors import StartError

READER: Final = "agent_feedback_reader"
"""Role of reading connections, which may only select and is subject to the policies."""
EVERY_TENANT: Final = "*"
tenant_in_sight: ContextVar[str] = ContextVar("tenant_in_sight", default="")
"""Tenant of the rows that the current task may read; EVERY_TENANT for all tenants, empty for none."""
_SEEN: Final = "current_setting('agent_feedback.tenant', true)"
_LEAST_VERSION: Final = 150_000
_SET_VERSION: Final = 160_000
"""First PostgreSQL version in which a member of a role, or the role's creator, may switch to the role only if the role
was granted with the option SET."""


class ReadingConnection(asyncpg.Connection):
    """Connection of a pool for HTTP reads.

    `seen` is the tenant set on the connection, or None if it is unknown.
    """

    seen: str | None = None

    async def keep_to_tenant(self) -> None:
        """Restrict the following statements to the rows of the tenant in `tenant_in_sight`.

        No statement is sent if the connection is already restricted to this tenant.
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
    """Set the current tenant on a connection that was just acquired from a pool."""
    await connection.keep_to_tenant()


async def secure(connection: asyncpg.Connection, schema: str) -> None:
    """Restrict readers of `schema` to the rows of one tenant.

    All tables with a tenant column get a policy, and views run with the rights of their caller. Tables and views that
    are already restricted stay unchanged.

    Raises:
        StartError: If the database user lacks the permission, or if PostgreSQL is older than version 15.
    """
    version = int(await connection.fetchval("show server_version_num"))
    privilege = _privilege_to_switch(version)
    try:
        async with connection.transaction():
            for lock in (f"agent-feedback {schema}", READER):  # the services of a database share the role
                await connection.execute("select pg_advisory_xact_lock(hashtext($1))", lock)
            await _make_role(connection, privilege)
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


def _privilege_to_switch(version: int) -> str:
    """Return the role privilege that a database user needs in order to switch to a role.

    Args:
        version: PostgreSQL's `server_version_num`.

    Raises:
        StartError: If that version has no row-level security for views.
    """
    if version < _LEAST_VERSION:
        raise StartError("Row level security needs PostgreSQL 15 or later: upgrade, or switch it off.")
    return "set" if version >= _SET_VERSION else "member"


async def _make_role(connection: asyncpg.Connection, privilege: str) -> None:
    """Create the role READER if it is missing, and grant it to the database user unless the user has `privilege`."""
    if not await connection.fetchval("select true from pg_roles where rolname = $1", READER):
        await connection.execute(f"create role {READER} nologin")
    if not await connection.fetchval("select pg_has_role(current_user, $1, $2)", READER, privilege):
        await connection.execute(f"grant {READER} to current_user")
