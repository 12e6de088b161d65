"""PL/pgSQL functions of statement files, created in the schema when they are first called.

A function does the statements of one step in one round trip, as one transaction. At READ COMMITTED each statement of a
PL/pgSQL function has a snapshot of its own, so those after a lock see what was committed before the lock was granted.

A function's name ends in a digest of its parameters, result and block. So processes of two releases on one schema never
call each other's function, and a function is never replaced.
"""

from __future__ import annotations

from typing import Any, Final

from servicekit.db.sql import SQL
from servicekit.db.statements import Statement

KEPT: Final = 3
"""Number of functions of one name that are kept, the latest ones. Whoever calls an older one creates it again."""


async def create_function(connection: Any, function: Statement) -> None:
    """Create `function` in the connection's schema unless it exists, and drop functions of much older releases."""
    async with connection.transaction():
        await connection.execute(*SQL.lock_functions())
        same_name = await connection.fetch(*SQL.find_functions(name=function.name))
        if any(row["name"] == function.called for row in same_name):
            return
        await connection.execute(function.made)
        for row in same_name[KEPT - 1 :]:
            await connection.execute(f"drop function {row['signature']}")
