"""Runs of `rejudge` in PostgreSQL: epoch, progress and messages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from inference.differences import AnnouncedVerdict
from inference.store import ConversationKey, MessageKey, Place
from servicekit.errors import StartError

_LOCK: Final = "select pg_try_advisory_lock(hashtext('agent-feedback rejudge'))"
_ORDER: Final = "m.conversation_id, m.tenant, m.project, m.at, m.message_id"
_PAGE: Final = f"""
select m.tenant, m.project, m.conversation_id, m.message_id, m.at, m.thread, v.status, v.turn_id, v.announced,
    (extract(epoch from m.stored_at) * 1000000)::bigint as stored_at
from messages m left join verdicts v using (message_id, conversation_id, tenant, project)
where m.role = 'human' and m.at >= $1 and ({_ORDER}) > ($2, $3, $4, $5, $6)
order by {_ORDER} limit $7
"""
# At least the seconds since 1970, so that epochs grow even if the database was lost.
_BEGIN: Final = """
insert into rejudgements (epoch, since, detector)
select greatest(coalesce(max(epoch), 0) + 1, extract(epoch from now())::bigint), $1, $2 from rejudgements
returning epoch
"""
_LATEST: Final = "select * from rejudgements order by epoch desc limit 1"
_PROGRESS: Final = "update rejudgements set position = $2, judged = $3, counts = $4 where epoch = $1"
_FINISH: Final = "update rejudgements set finished_at = now() where epoch = $1"
_TOTAL: Final = "select count(*) from messages m where m.role = 'human' and m.at >= $1"
_OTHERS: Final = """
select version from detectors where version <> $1 and seen_at > now() - make_interval(mins => 10) order by 1
"""

Position = tuple[str, str, str, int, str]
"""Position after the last judged message: conversation id, tenant, project, microseconds, message id."""
BEGINNING: Final[Position] = ("", "", "", -(2**63), "")


@dataclass(frozen=True, slots=True)
class ToJudge:
    """Message to judge again, and its announced verdict. `stored_at` is in microseconds."""

    place: Place
    before: AnnouncedVerdict | None
    stored_at: int

    @property
    def key(self) -> MessageKey:
        return MessageKey(*self.place.conversation, self.place.message_id)

    @property
    def position(self) -> Position:
        where = self.place.conversation
        return where.conversation_id, where.tenant, where.project, self.place.at, self.place.message_id


@dataclass(frozen=True, slots=True)
class Rejudgement:
    """Unfinished run over messages from `since` on (microseconds), by one detector."""

    epoch: int
    since: int
    detector: str
    position: Position
    counts: Mapping[str, int]


class Rejudgements:
    """Table `rejudgements`. The connection is reserved for the lock."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def lock(self) -> None:
        """Hold the lock on runs while the connection lives. Raises StartError if another run has it."""
        if not await self._connection.fetchval(_LOCK):
            raise StartError("Another `rejudge` is at work on this database: let it end, or end it.")

    async def unfinished(self) -> Rejudgement | None:
        """Return the latest run, or None if it is complete."""
        row = await self._connection.fetchrow(_LATEST)
        if row is None or row["finished_at"] is not None:
            return None
        position = BEGINNING if row["position"] is None else tuple(json.loads(row["position"]))
        return Rejudgement(row["epoch"], row["since"], row["detector"], position, json.loads(row["counts"]))

    async def begin(self, since: int, detector: str) -> Rejudgement:
        """Raise the epoch and commit. Verdicts of messages read later have the new epoch."""
        epoch = await self._connection.fetchval(_BEGIN, since, detector)
        return Rejudgement(epoch, since, detector, BEGINNING, {})

    async def page(self, since: int, after: Position, limit: int) -> Sequence[ToJudge]:
        """Return the next human messages from `since` on, grouped by conversation."""
        return [_to_judge(row) for row in await self._connection.fetch(_PAGE, since, *after, limit)]

    async def note(self, epoch: int, position: Position, counts: Counter[str]) -> None:
        """Store the progress of a run."""
        await self._connection.execute(_PROGRESS, epoch, json.dumps(position), counts.total(), json.dumps(counts))

    async def finish(self, epoch: int) -> None:
        await self._connection.execute(_FINISH, epoch)

    async def total(self, since: int) -> int:
        """Return the number of human messages from `since` on."""
        return int(await self._connection.fetchval(_TOTAL, since))

    async def other_detectors(self, version: str) -> Sequence[str]:
        """Return the versions of other detectors that have judged arriving messages in the last ten minutes."""
        return [row["version"] for row in await self._connection.fetch(_OTHERS, version)]


def _to_judge(row: asyncpg.Record) -> ToJudge:
    where = ConversationKey(row["tenant"], row["project"], row["conversation_id"])
    announced = row["announced"] and row["turn_id"] is not None
    before = AnnouncedVerdict(row["status"], row["turn_id"]) if announced else None
    return ToJudge(Place(where, row["at"], row["message_id"], row["thread"]), before, row["stored_at"])
