"""Sets which object store the read models are mirrored to: changes are marked for it, or not."""

from __future__ import annotations

from typing import Final

import asyncpg

from servicekit.database import shown
from servicekit.failures import StartError

_SECONDS: Final = 3_600.0
_HOSTED: Final = "select exists (select from hosted_artifacts)"
_MARK_ALL: Final = """
insert into stale_turns (tenant, project, conversation_id, turn_id)
select distinct tenant, project, conversation_id, turn_id from feedbacks where reaction is not null
union
select distinct tenant, project, conversation_id, turn_id from hosted_artifacts
union
select distinct tenant, project, conversation_id, turn_id from messages where $1 and turn_id is not null
"""


async def adopt(pool: asyncpg.Pool, url: str | None, *, turn_logs: bool) -> None:
    """Have changes of turns marked for the store at `url`, and everything there is at its first start; None for none.

    Raises StartError where objects lie in another store: no erasure would reach them.
    """
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("lock table artifact_store in exclusive mode")
        held = await connection.fetchrow("select url, turn_logs from artifact_store")
        if (None if held is None else (held["url"], held["turn_logs"])) == (None if url is None else (url, turn_logs)):
            return
        if held is not None and held["url"] != url and await connection.fetchval(_HOSTED):
            raise StartError(
                f"Artifacts lie in {shown(held['url'])}: set ARTIFACT_STORE_URL to that, so that erasures reach them; "
                "or delete them there and run `delete from reporting.hosted_artifacts`."
            )
        # Whoever is writing has not seen whether to mark: their rows are waited for, and found below.
        await connection.execute("lock table feedbacks, messages in share mode", timeout=_SECONDS)
        await connection.execute("delete from artifact_store")
        if url is None:
            await connection.execute("delete from stale_turns", timeout=_SECONDS)
            return
        await connection.execute("insert into artifact_store (url, turn_logs) values ($1, $2)", url, turn_logs)
        await connection.execute(_MARK_ALL, turn_logs, timeout=_SECONDS)
