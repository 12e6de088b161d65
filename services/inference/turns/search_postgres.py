"""Queries of the index of turns in PostgreSQL: one turn, the latest, similar ones, strategies.

Strategies of rejected turns are never returned. A rejection below the announcement threshold does not count
(`Verdict.status` in detector/model.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import asyncpg

from inference.store import ConversationKey
from inference.turns.candidates import Answered
from inference.turns.rules import MachineStatus, Turn, TurnKey, UserStatus, ranked
from inference.turns.store import Looked, Wanted
from inference.turns.vectors import TurnVectors

NEAREST, LATEST = 45, 5
"""Numbers of a person's turns that are compared word by word: the nearest by vector, and the latest."""
LOOKED_AT: Final = 20_000
"""Maximum number of a person's turns that are searched, latest first. It bounds the cost of shared ids, such as a
guest's.
"""
ALIKE_FROM: Final = 0.35
"""Minimum similarity of similar questions. Three of four rephrased questions reach it, and 3 % of unrelated ones."""
CONSIDERED: Final = 50
"""Minimum number of similar questions that are ranked in each group."""
SCANNED: Final = 10_000
"""Maximum number of turns compared in each group, best first. Takes at most a tenth of a second."""

READ_BACK: Final = 100
"""Number of turns or messages searched for the latest turns of a thread, or of the channel without its threads."""

_FIELDS: Final = """t.tenant, t.project, t.conversation_id, t.turn_id, t.user_id, t.user_text, t.agent_id,
    t.agent_message_id, t.assistant_text, t.at, t.intent, t.strategy, t.validation_outcome, t.quality_score, t.track_id,
    t.bundle_id, t.machine_status, t.machine_confidence, t.machine_detected_in, t.machine_message_id, t.user_status,
    t.similarity, f.said, f.tags, f.correction, f.at as judged_at, v.correction_type, v.decided_by, v.at as machine_at,
    m.text as machine_said"""
_WORDS: Final = """
left join user_reactions f on f.feedback_id = t.user_feedback_id
left join verdicts v on v.message_id = t.machine_message_id and v.conversation_id = t.conversation_id
    and v.tenant = t.tenant and v.project = t.project
left join messages m on m.message_id = t.machine_message_id and m.conversation_id = t.conversation_id
    and m.tenant = t.tenant and m.project = t.project
"""
_IN: Final = "t.tenant = $1 and t.project = $2 and t.conversation_id = $3"
_FIND: Final = (
    f"select {_FIELDS} from (select *, null::float8 as similarity from turns) t {_WORDS} where {_IN} and t.turn_id = $4"
)
# Turns of a thread are found by its messages, those of the channel among the latest turns of the conversation.
_LATEST: Final = f"""
with near as (
    (select turn_id from turns t where $6 = '' and {_IN} and t.at <= $4 and t.assistant_text is not null
     order by t.at desc, t.turn_id desc limit {READ_BACK})
    union
    (select m.turn_id from messages m
     where $6 <> '' and m.tenant = $1 and m.project = $2 and m.conversation_id = $3 and m.thread = $6
       and hashtextextended(m.thread, 0) = hashtextextended($6, 0) and m.at <= $4
     order by m.at desc, m.message_id desc limit {READ_BACK})
)
select {_FIELDS} from (
    select t.*, null::float8 as similarity from near join turns t using (turn_id)
    left join messages a on a.message_id = t.agent_message_id and a.conversation_id = $3 and a.tenant = $1
        and a.project = $2
    where {_IN} and t.at <= $4 and t.assistant_text is not null and coalesce(a.thread, '') = $6
    order by t.at desc, t.turn_id desc limit $5) t {_WORDS}
order by t.at desc, t.turn_id desc
"""
_STRATEGIES: Final = "t.tenant = $1 and t.project = $2 and t.strategy is not null"
# An acceptance is announced only if the message thanks, praises or takes the answer.
_PRAISED: Final = """ and (t.user_status is not null or exists (
    select from verdicts v where v.message_id = t.machine_message_id and v.conversation_id = t.conversation_id
        and v.tenant = t.tenant and v.project = t.project and v.announced))"""
_BEST_FIRST: Final = "order by t.quality_score desc nulls last, t.at desc nulls last"
# The index alone answers the scan of a person's turns. Turns of the same time are equally recent.
_NEARBY: Final = """
with question as materialized (select turn_vector($6) as vector), own as materialized (
    select at, rank() over (order by at desc) as turns_back, case when assistant_embedder = $7
        then likeness(assistant_vector, (select vector from question)) end as cosine
    from (
        select at, assistant_embedder, assistant_vector from turns
        where tenant = $1 and project = $2 and user_id = $3 and at >= $4 and at < $5 and assistant_text is not null
        order by at desc limit $10) latest
), picked as (
    (select at, turns_back from own order by cosine desc nulls last, at desc limit $8)
    union (select at, turns_back from own order by at desc limit $9)
)
select t.tenant, t.project, t.conversation_id, t.turn_id, t.agent_message_id, t.agent_id, t.assistant_text as text,
    p.turns_back, case when t.assistant_embedder = $7
        then likeness(t.assistant_vector, (select vector from question)) end as cosine
from picked p join turns t on t.tenant = $1 and t.project = $2 and t.user_id = $3 and t.at = p.at
    and t.assistant_text is not null
order by cosine desc nulls last, t.at desc, t.conversation_id, t.turn_id limit $8 + $9
"""


class PostgresTurnSearch:
    """See `turns.store.TurnSearch`. The pool's connections see the tables of the schema `inference`."""

    def __init__(self, pool: asyncpg.Pool, vectors: TurnVectors) -> None:
        self._pool = pool
        self._vectors = vectors

    async def find(self, key: TurnKey) -> Turn | None:
        row = await self._pool.fetchrow(_FIND, *key)
        return None if row is None else _turn(row)

    async def latest(self, where: ConversationKey, until: int, limit: int, thread: str = "") -> Sequence[Turn]:
        return [_turn(row) for row in await self._pool.fetch(_LATEST, *where, until, limit, thread)]

    async def nearby(self, looked: Looked, text: str) -> Sequence[Answered]:
        vector = self._vectors.of(text)
        found = await self._pool.fetch(
            _NEARBY,
            *(looked.tenant, looked.project, looked.user_id, looked.since, looked.until),
            *(vector, self._vectors.made_by, NEAREST, LATEST, LOOKED_AT),
        )
        return [_answered(row) for row in found]

    async def search(self, wanted: Wanted, limit: int) -> Sequence[Turn]:
        """Return the first turns of each group. Each group is a separate scan of the index of statuses."""
        values: list[Any] = [wanted.tenant, wanted.project, limit]
        scope = _STRATEGIES
        for name in ("intent", "user_id", "agent_id"):
            if (value := getattr(wanted, name)) is not None:
                values.append(value)
                scope += f" and t.{name} = ${len(values)}"
        scope += _PRAISED if wanted.praised else ""
        group = "(select t.*, null::float8 as similarity from turns t where {scope} {best} limit $3)"
        if wanted.text is not None:
            values += [self._vectors.of(wanted.text), self._vectors.made_by]
            group = _alike(f"${len(values) - 1}", f"${len(values)}")
        parts = " union all ".join(
            group.format(scope=f"{scope} and t.user_feedback_status = '{status}'", best=_BEST_FIRST)
            for status in (("accepted",) if wanted.praised else ("accepted", "neutral"))
        )
        rows = await self._pool.fetch(f"select {_FIELDS} from ({parts}) t {_WORDS}", *values)
        return ranked([_turn(row) for row in rows], limit)


def _alike(vector: str, made_by: str) -> str:
    """Return the questions of a group that are similar to a text, nearest first."""
    return f"""(select t.*, near.similarity from (
        select * from (
            select t.tenant, t.project, t.conversation_id, t.turn_id, case when t.user_embedder = {made_by}
                then likeness(t.user_vector, (select turn_vector({vector}))) end as similarity
            from turns t where {{scope}} {{best}} limit {SCANNED}) best
        where similarity >= {ALIKE_FROM} order by similarity desc limit greatest($3, {CONSIDERED})) near
    join turns t using (tenant, project, conversation_id, turn_id))"""


def _answered(row: asyncpg.Record) -> Answered:
    return Answered(
        key=TurnKey(row["tenant"], row["project"], row["conversation_id"], row["turn_id"]),
        message_id=row["agent_message_id"],
        agent_id=row["agent_id"],
        text=row["text"],
        turns_back=row["turns_back"],
        cosine=_rounded(row["cosine"]) or 0.0,
    )


def _rounded(cosine: float | None) -> float | None:
    """Return the cosine in [0, 1], rounded so that it does not depend on the database's order of addition."""
    return None if cosine is None else round(min(1.0, max(0.0, cosine)), 4)


def _turn(row: asyncpg.Record) -> Turn:
    machine = user = None
    if row["machine_status"] is not None:
        machine = MachineStatus(
            status=row["machine_status"],
            confidence=row["machine_confidence"],
            correction_type=row["correction_type"],
            user_said=row["machine_said"],
            detected_in_turn_id=row["machine_detected_in"],
            detected_in_message_id=row["machine_message_id"],
            decided_by=row["decided_by"] or "rules",
            at=row["machine_at"],
        )
    if row["user_status"] is not None:
        tags = tuple(row["tags"] or ())
        user = UserStatus(row["user_status"], row["said"], tags, row["correction"], row["judged_at"] or 0)
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
        similarity=_rounded(row["similarity"]),
    )
