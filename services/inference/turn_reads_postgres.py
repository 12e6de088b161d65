"""What the index of turns is asked, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import asyncpg

from inference.store import ConversationKey
from inference.turn_index import Wanted
from inference.turns import MachineWord, Turn, TurnKey, UserWord, ranked

_FIELDS: Final = """t.*, f.said, f.tags, f.correction, f.at as judged_at, v.correction_type, v.decided_by,
    m.text as machine_said"""
_WORDS: Final = """
left join explicit_feedback f on f.feedback_id = t.explicit_feedback_id
left join verdicts v on v.message_id = t.machine_message_id and v.tenant = t.tenant and v.project = t.project
left join messages m on m.message_id = t.machine_message_id and m.tenant = t.tenant and m.project = t.project
"""
_IN: Final = "t.tenant = $1 and t.project = $2 and t.conversation_id = $3"
_FIND: Final = f"select {_FIELDS} from turns t {_WORDS} where {_IN} and t.turn_id = $4"
_LATEST: Final = f"""
select {_FIELDS} from (
    select * from turns t where {_IN} and t.at <= $4 and t.assistant_text is not null
    order by t.at desc, t.turn_id desc limit $5) t {_WORDS}
order by t.at desc, t.turn_id desc
"""


class TurnReads:
    """See `turn_index.TurnIndex`. The pool's connections see the tables of the schema `inference`."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def find(self, key: TurnKey) -> Turn | None:
        row = await self._pool.fetchrow(_FIND, *key)
        return None if row is None else _turn(row)

    async def latest(self, where: ConversationKey, until: int, limit: int) -> Sequence[Turn]:
        return [_turn(row) for row in await self._pool.fetch(_LATEST, *where, until, limit)]

    async def search(self, wanted: Wanted, limit: int) -> Sequence[Turn]:
        """The first of each group, each found by its own walk along the index of statuses."""
        values: list[Any] = [wanted.tenant, wanted.project]
        scope = "t.tenant = $1 and t.project = $2 and t.strategy is not null"
        for name, value in (("intent", wanted.intent), ("user_id", wanted.user_id)):
            if value is not None:
                values.append(value)
                scope += f" and t.{name} = ${len(values)}"
        parts = " union all ".join(
            f"""(select t.* from turns t where {scope} and t.user_feedback_status = '{status}'
                 order by t.quality_score desc nulls last, t.at desc nulls last limit ${len(values) + 1})"""
            for status in ("accepted", "neutral")
        )
        rows = await self._pool.fetch(f"select {_FIELDS} from ({parts}) t {_WORDS}", *values, limit)
        return ranked([_turn(row) for row in rows], limit)

    async def ping(self) -> None:
        await self._pool.execute("select 1")


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
    return Turn(
        key=TurnKey(row["tenant"], row["project"], row["conversation_id"], row["turn_id"]),
        user_id=row["user_id"],
        user_text=row["user_text"],
        agent_id=row["agent_id"],
        agent_message_id=row["agent_message_id"],
        assistant_text=row["assistant_text"],
        at=row["at"],
        intent=row["intent"],
        strategy=row["strategy"],
        validation_outcome=row["validation_outcome"],
        quality_score=row["quality_score"],
        track_id=row["track_id"],
        bundle_id=row["bundle_id"],
        machine=machine,
        user=user,
    )
