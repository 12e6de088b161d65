"""PL/pgSQL functions that are created in a service's schema when they are first called.

The functions are defined in statement files (`statements.py`). A function runs several statements in one round trip and
one transaction. At READ COMMITTED, each of its statements gets its own snapshot, so a statement after a lock sees
everything that was committed before the lock was granted.

A function's name ends in a digest of its parameters, result type and body. A changed function therefore never replaces
an older version, and processes of different releases can share a schema without calling each other's functions.
"""

from __future__ import annotations

from typing import Any, Final

from servicekit.db.sql import SQL
from servicekit.db.statements import Statement

KEPT: Final = 3
"""Number of versions of a function that are kept, latest first. A process that calls an older version creates it
again."""


async def create_function(connection: Any, function: Statement) -> None:
    """Create `function` in the connection's schema unless it exists.

    Afterwards, the oldest versions of the function are dropped, so that at most KEPT remain.
    """
    async with connection.transaction():
        await connection.execute(*SQL.lock_functions())
        same_name = await connection.fetch(*SQL.find_functions(name=function.name))
        if any(row["name"] == function.called for row in same_name):
            return
        await connection.execute(function.definition)
        for row in same_name[KEPT - 1 :]:
            await connection.execute(f"drop function {row['signature']}")
