"""Runs of `rejudge` in PostgreSQL: epochs, progress and remaining messages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from inference.differences import AnnouncedVerdict
from inference.sql import SQL
from inference.store import MessageKey
from servicekit.errors import StartError

Cursor = tuple[str, str, str, str, str]
"""Sort key of the last judged message: conversation id, tenant, project, position in hexadecimal, message id."""
_CURSOR: Final = ("conversation_id", "tenant", "project", "position", "message_id")
BEGINNING: Final[Cursor] = ("", "", "", "", "")


@dataclass(frozen=True, slots=True)
class ToJudge:
    """A message to judge again.

    Attributes:
        before: The verdict announced for the message, or None if there is none.
        stored_at: Time at which the message was stored, in microseconds.
    """

    key: MessageKey
    position: str
    before: AnnouncedVerdict | None
    stored_at: int

    @property
    def cursor(self) -> Cursor:
        return self.key.conversation_id, self.key.tenant, self.key.project, self.position, self.key.message_id


@dataclass(frozen=True, slots=True)
class Rejudgement:
    """An unfinished run that judges all messages since `since` (microseconds) with one detector version."""

    epoch: int
    since: int
    detector: str
    cursor: Cursor
    counts: Mapping[str, int]


class Rejudgements:
    """Access to the table `rejudgements`.

    The connection holds the lock that allows only one run at a time, so it must not be used for anything else.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def lock(self) -> None:
        """Acquire the lock that allows only one run at a time.

        It is held until the connection closes.

        Raises:
            StartError: Another run holds the lock.
        """
        if not await self._connection.fetchval(*SQL.lock_rejudgements()):
            raise StartError("Another `rejudge` runs on this database: wait until it ends, or stop it.")

    async def unfinished(self) -> Rejudgement | None:
        """Return the latest run, or None if it has finished or there is none."""
        row = await self._connection.fetchrow(*SQL.latest_rejudgement())
        if row is None or row["finished_at"] is not None:
            return None
        cursor = BEGINNING if row["position"] is None else tuple(json.loads(row["position"]))
        return Rejudgement(row["epoch"], row["since"], row["detector"], cursor, json.loads(row["counts"]))

    async def begin(self, since: int, detector: str) -> Rejudgement:
        """Begin a run by incrementing the epoch, and commit.

        Messages read after the commit get verdicts of the new epoch.
        """
        epoch = await self._connection.fetchval(*SQL.begin_rejudgement(since=since, detector=detector))
        return Rejudgement(epoch, since, detector, BEGINNING, {})

    async def page(self, since: int, after: Cursor, limit: int) -> Sequence[ToJudge]:
        """Return at most `limit` of people's messages, beginning after the cursor `after`, ordered by conversation.

        Only messages since `since` (microseconds) are included.
        """
        cursor = dict(zip(_CURSOR, after, strict=True))
        statement = SQL.page_to_judge(since=since, **cursor, limit=limit)
        return [_to_judge(row) for row in await self._connection.fetch(*statement)]

    async def note(self, epoch: int, cursor: Cursor, counts: Counter[str]) -> None:
        """Store the progress of a run."""
        progress = {"position": json.dumps(cursor), "judged": counts.total(), "counts": json.dumps(counts)}
        await self._connection.execute(*SQL.note_progress(epoch=epoch, **progress))

    async def finish(self, epoch: int) -> None:
        await self._connection.execute(*SQL.finish_rejudgement(epoch=epoch))

    async def total(self, since: int) -> int:
        """Return the number of people's messages since `since` (microseconds)."""
        return int(await self._connection.fetchval(*SQL.count_to_judge(since=since)))

    async def other_detectors(self, version: str) -> Sequence[str]:
        """Return the versions of other detectors that have judged new messages in the last ten minutes."""
        return [row["version"] for row in await self._connection.fetch(*SQL.other_detectors(version=version))]


def _to_judge(row: asyncpg.Record) -> ToJudge:
    key = MessageKey(row["tenant"], row["project"], row["conversation_id"], row["message_id"])
    announced = row["announced"] and row["turn_id"] is not None
    before = AnnouncedVerdict(row["status"], row["turn_id"]) if announced else None
    return ToJudge(key, row["position"], before, row["stored_at"])
