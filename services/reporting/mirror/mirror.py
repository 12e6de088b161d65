"""Replication of artifacts to the object store. One worker at a time processes the turns marked as stale.

The database records the name of each object before the object is written, so that every object in the store can be
found and deleted.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from typing import Any, Final
from uuid import uuid4

import asyncpg

from contracts.instants import MINUTE
from contracts.message_fields import TurnKey
from reporting import metrics
from reporting.mirror.object_store import ObjectStore
from reporting.mirror.objects import Hosted, ReplicationPlan, WantedArtifact, replication_plan
from reporting.mirror.store_setting import mark_older_turns
from reporting.outbox.receipts import HeldReceipts
from reporting.sql import SQL
from reporting.sql.connection import Connection
from servicekit.clock import Clock
from servicekit.errors import Unavailable

DELETE_AGAIN_AFTER: Final = 15 * MINUTE
"""Delay in microseconds before a deleted object is deleted again, because a write that timed out may still arrive."""
_WRITE_SECONDS: Final = 120.0
"""Time limit for the writes of one step, in seconds. It must be well below DELETE_AGAIN_AFTER."""
_MARKS_AT_ONCE: Final = 200
_DELETED_AT_ONCE: Final = 500


class ArtifactReplicator:
    """Worker that writes artifacts to the object store and deletes outdated objects.

    Args:
        turn_logs: If True, turn logs are replicated as well as reactions.
    """

    def __init__(
        self, pool: asyncpg.Pool, objects: ObjectStore, receipts: HeldReceipts, clock: Clock, *, turn_logs: bool
    ) -> None:
        self._pool = pool
        self._objects = objects
        self._receipts = receipts
        self._clock = clock
        self._turn_logs = turn_logs
        self._failure: str | None = None

    @property
    def warnings(self) -> Sequence[str]:
        """A warning for the operator if the last replication failed. It contains the size of the backlog."""
        return [self._failure] if self._failure else []

    async def catch_up(self) -> int:
        """Replicate changed turns, delete outdated objects and send the receipts of completed erasures.

        Returns:
            The number of processed turns, or 0 if another process is replicating.

        Raises:
            Unavailable: If the object store fails. The next call continues the work.
        """
        turns = 0
        async with self._pool.acquire() as connection:
            if not await connection.fetchval(*SQL.lock_artifacts()):
                return 0
            try:
                await mark_older_turns(connection)
                while done := await self._step(connection):
                    turns += done
                self._failure = None
                metrics.ARTIFACTS_WAITING.set(0)
            except Unavailable as error:
                self._failure = await self._failed(connection, error)
                raise
            finally:
                await connection.execute(*SQL.unlock_artifacts())
        return turns

    async def _failed(self, connection: Connection, error: Unavailable) -> str:
        ((changes, deletions),) = await connection.fetch(*SQL.count_artifacts_waiting())
        metrics.ARTIFACTS.labels("failed").inc()
        metrics.ARTIFACTS_WAITING.set(changes)
        return f"{error}: {changes} changes of turns wait for replication, {deletions} objects for deletion"

    async def _step(self, connection: Connection) -> int:
        # Delete first: while the store is down and deletions wait, no further objects are recorded for writing.
        await self._delete(connection)
        if receipts := await connection.fetch(*SQL.held_receipts()):
            # An erasure marks its turns as stale before its receipt is held, so process all marks before sending the
            # receipt.
            while await self._mirror(connection, SQL.stale_hosted_turns(limit=_MARKS_AT_ONCE)):
                pass
            await self._delete(connection)
            await self._receipts.release(connection, receipts)
        return await self._mirror(connection, SQL.stale_turns(limit=_MARKS_AT_ONCE))

    async def _mirror(self, connection: Connection, marks: tuple[Any, ...]) -> int:
        async with connection.transaction(isolation="repeatable_read"):
            stale = await connection.fetch(*marks)
            turns = sorted({_turn(row) for row in stale})
            if not turns:
                return 0
            plan = replication_plan(
                await self._artifacts(connection, turns),
                [
                    Hosted(_turn(row), *tuple(row)[4:])
                    for row in await connection.fetch(*SQL.hosted_artifacts.bulk(turns))
                ],
                lambda: uuid4().hex,
            )
            if plan.puts:
                rows = [(*put.turn, put.artifact, put.name, put.digest) for put in plan.puts]
                await connection.execute(*SQL.insert_artifacts.bulk(rows))
        failure = await self._carry_out(connection, plan, [row["id"] for row in stale])
        if failure:
            raise Unavailable("the artifact store", failure)
        return len(turns)

    async def _carry_out(self, connection: Connection, plan: ReplicationPlan, marks: Sequence[int]) -> str | None:
        """Write the objects of a plan and record the results.

        Returns:
            The kind of error, or None if there was none.
        """
        written: Sequence[str] = ()
        failure: str | None = "TimeoutError"
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_WRITE_SECONDS):
                written, failure = await self._objects.put([(put.name, put.body) for put in plan.puts])
        to_delete = [*plan.to_delete, *(plan.replaced[name] for name in written if name in plan.replaced)]
        to_delete += {put.name for put in plan.puts}.difference(written)
        async with connection.transaction():
            await connection.execute(*SQL.mark_written(names=list(written)))
            await connection.execute(*SQL.mark_outdated(names=to_delete))
            if failure is None:
                await connection.execute(*SQL.delete_stale_turns(ids=list(marks)))
        metrics.ARTIFACTS.labels("written").inc(len(written))
        return failure

    async def _artifacts(self, connection: Connection, turns: Sequence[TurnKey]) -> list[WantedArtifact]:
        return [
            WantedArtifact(
                _turn(row), row["id"], row["kind"], row["occurred_at"], row["text"], json.loads(row["payload"])
            )
            for row in await connection.fetch(*SQL.artifacts_of_turns.bulk(turns, turn_logs=self._turn_logs))
        ]

    async def _delete(self, connection: Connection) -> None:
        while True:
            due = await connection.fetch(*SQL.artifacts_to_delete(now=self._clock.now(), limit=_DELETED_AT_ONCE))
            if not due:
                return
            names, failure = await self._objects.delete([row["name"] for row in due])
            await connection.execute(
                *SQL.note_deleted(names=list(names), due_at=self._clock.now() + DELETE_AGAIN_AFTER)
            )
            metrics.ARTIFACTS.labels("deleted").inc(len(names))
            if failure:
                raise Unavailable("the artifact store", failure)


def _turn(row: asyncpg.Record) -> TurnKey:
    return TurnKey(row["tenant"], row["project"], row["conversation_id"], row["turn_id"])
