"""PL/pgSQL functions of statement files, created in the schema when they are first called.

A function runs all statements of one step in one round trip and one transaction. At READ COMMITTED, each statement of a
PL/pgSQL function has its own snapshot. Statements after a lock therefore see everything committed before the lock was
granted.

A function's name ends in a digest of its parameters, result type and body. Processes of different releases on one
schema therefore never call each other's functions, and a function is never replaced.
"""

from __future__ import annotations

from typing import Any, Final

from servicekit.db.sql import SQL
from servicekit.db.statements import Statement

KEPT: Final = 3
"""Number of versions of a function that are kept, latest first. A process that calls an older version creates it
again."""


async def create_function(connection: Any, function: Statement) -> None:
    """Create `function` in the connection's schema unless it exists, and drop all but the KEPT latest versions."""
    async with connection.transaction():
        await connection.execute(*SQL.lock_functions())
        same_name = await connection.fetch(*SQL.find_functions(name=function.name))
        if any(row["name"] == function.called for row in same_name):
            return
        await connection.execute(function.made)
        for row in same_name[KEPT - 1 :]:
            await connection.execute(f"drop function {row['signature']}")
