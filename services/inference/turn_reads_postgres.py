"""What the index of turns is asked, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import asyncpg

from inference.embed import Embedder
from inference.store import ConversationKey, MessageKey
from inference.turn_index import WINDOW, Near, Wanted
from inference.turn_vectors import VectorColumn
from inference.turns import MachineWord, Turn, TurnKey, UserWord, ranked

ALIKE_ENOUGH: Final = 0.2
"""Turns less like a text than this are not about it."""
MOST_ALIKE: Final = 100
"""A search by text ranks at least so many of the turns most like it."""

_FIELDS: Final = """t.*, f.said, f.tags, f.correction, f.at as judged_at, v.correction_type, v.decided_by,
    m.text as machine_said"""
_WORDS: Final = """
left join explicit_feedback f on f.feedback_id = t.explicit_feedback_id
left join verdicts v on v.tenant = t.tenant and v.project = t.project and v.message_id = t.machine_message_id
left join messages m on m.tenant = t.tenant and m.project = t.project and m.message_id = t.machine_message_id
"""
_IN: Final = "t.tenant = $1 and t.project = $2 and t.conversation_id = $3"
_FIND: Final = f"select {_FIELDS} from turns t {_WORDS} where {_IN} and t.turn_id = $4"
_LATEST: Final = f"""
select {_FIELDS} from (
    select * from turns t where {_IN} and t.at <= $4 and t.assistant_text is not null
    order by t.at desc, t.turn_id desc limit $5) t {_WORDS}
order by t.at desc, t.turn_id desc
"""
_LAST_ACTIVITY: Final = """
select max(at) from messages where tenant = $1 and project = $2 and conversation_id = $3
"""
_NAMED: Final = f"""
select {_FIELDS} from unnest($3::text[], $4::text[]) k (conversation_id, turn_id)
join turns t on t.tenant = $1 and t.project = $2 and t.conversation_id = k.conversation_id and t.turn_id = k.turn_id
{_WORDS}
"""
_PLACE: Final = "select at, message_id from messages where tenant = $1 and project = $2 and message_id = $3"


class TurnReads:
    """See `turn_index.TurnIndex`. The pool's connections see the tables of the schema `inference`."""

    def __init__(self, pool: asyncpg.Pool, embedder: Embedder, column: VectorColumn) -> None:
        self._pool = pool
        self._embedder = embedder
        self._column = column

    async def find(self, key: TurnKey) -> Turn | None:
        row = await self._pool.fetchrow(_FIND, *key)
        return None if row is None else _turn(row)

    async def last_activity(self, where: ConversationKey) -> int | None:
        found: int | None = await self._pool.fetchval(_LAST_ACTIVITY, *where)
        return found

    async def latest(self, where: ConversationKey, until: int, limit: int) -> Sequence[Turn]:
        return [_turn(row) for row in await self._pool.fetch(_LATEST, *where, until, limit)]

    async def nearest(
        self, tenant: str, project: str, user_id: str, text: str, since: int, until: int, limit: int
    ) -> Sequence[Near]:
        scope = """t.tenant = $1 and t.project = $2 and t.user_id = $3 and t.at between $4 and $5
            and t.assistant_text is not null"""
        found = await self._nearest(scope, (tenant, project, user_id, since, until), text, limit)
        turns = await self._named(tenant, project, found)
        return [Near(turns[where], alike, back) for *where_, alike, back in found if (where := tuple(where_)) in turns]

    async def search(self, wanted: Wanted, text: str | None, limit: int) -> Sequence[tuple[Turn, float]]:
        values: list[Any] = [wanted.tenant, wanted.project]
        scope = "t.tenant = $1 and t.project = $2 and t.strategy is not null"
        for name, value in (("intent", wanted.intent), ("user_id", wanted.user_id)):
            if value is not None:
                values.append(value)
                scope += f" and t.{name} = ${len(values)}"
        if text is None:
            return ranked([(turn, 0.0) for turn in await self._best(scope, values, limit)], limit)
        newest = f"""(t.tenant, t.project, t.conversation_id, t.turn_id) in (
            select t.tenant, t.project, t.conversation_id, t.turn_id from turns t
            where {scope} and t.user_feedback_status <> 'rejected' order by t.at desc nulls last limit {WINDOW})"""
        found = await self._nearest(newest, values, text, max(MOST_ALIKE, limit))
        alike = {(one[0], one[1]): one[2] for one in found if one[2] >= ALIKE_ENOUGH}
        turns = await self._named(wanted.tenant, wanted.project, found)
        return ranked([(turn, alike[key]) for key, turn in turns.items() if key in alike], limit)

    async def place_of(self, key: MessageKey) -> tuple[int, str] | None:
        row = await self._pool.fetchrow(_PLACE, *key)
        return None if row is None else (row[0], row[1])

    async def ping(self) -> None:
        await self._pool.execute("select 1")

    async def _best(self, scope: str, values: Sequence[Any], limit: int) -> list[Turn]:
        """The first of each group, each found by its own walk along the index of statuses."""
        parts = " union all ".join(
            f"""(select t.* from turns t where {scope} and t.user_feedback_status = '{status}'
                 order by t.quality_score desc nulls last, t.at desc nulls last limit ${len(values) + 1})"""
            for status in ("accepted", "neutral")
        )
        rows = await self._pool.fetch(f"select {_FIELDS} from ({parts}) t {_WORDS}", *values, limit)
        return [_turn(row) for row in rows]

    async def _nearest(
        self, scope: str, values: Sequence[Any], text: str, limit: int
    ) -> list[tuple[str, str, float, int]]:
        vector = self._embedder.embed([text])[0]
        async with self._pool.acquire() as connection:
            found = await self._column.nearest(connection, scope, values, vector, limit)
        return [(c, t, min(1.0, max(0.0, round(alike, 6))), back) for c, t, alike, back in found]

    async def _named(
        self, tenant: str, project: str, found: Sequence[tuple[str, str, float, int]]
    ) -> dict[tuple[str, ...], Turn]:
        names = ([one[0] for one in found], [one[1] for one in found])
        rows = await self._pool.fetch(_NAMED, tenant, project, *names)
        return {(row["conversation_id"], row["turn_id"]): _turn(row) for row in rows}


def _turn(row: asyncpg.Record) -> Turn:
    machine = user = None
    if row["machine_status"] is not None:
        machine = MachineWord(
            status=row["machine_status"],
            confidence=row["machine_confidence"],
            correction_type=row["correction_type"],
            user_said=row["machine_said"],
            detected_in_turn_id=row["machine_detected_in"],
            detected_in_message_id=row["machine_message_id"],
            decided_by=row["decided_by"] or "rules",
        )
    if row["explicit_status"] is not None:
        tags = tuple(row["tags"] or ())
        user = UserWord(row["explicit_status"], row["said"], tags, row["correction"], row["judged_at"] or 0)
    told = (row[name] for name in _TOLD)
    return Turn(TurnKey(*(row[name] for name in TurnKey._fields)), *told, machine=machine, user=user)


_TOLD: Final = (
    *("user_id", "user_text", "agent_id", "agent_message_id", "assistant_text", "at", "intent", "strategy"),
    *("validation_outcome", "quality_score", "track_id", "bundle_id"),
)
