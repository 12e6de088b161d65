"""Rows of a large index of turns: about a hundred turns per person, and many more of one person, interleaved."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import asyncpg

from detector.encoders.embedder import WordLlamaEmbedder
from inference.turns.vectors import TurnVectors

ROWS: Final = Path(__file__).parents[1] / "training" / "generated.jsonl"
TENANT, PROJECT, HEAVY = "acme", "support", "heavy"
PER_PERSON: Final = 100
HEAVY_EVERY: Final = 200
"""Every such turn belongs to the person with the most turns, who has 5,000 of a million turns."""
PER_CONVERSATION: Final = 10
STEP: Final = 20_000_000
"""Time between two turns, in microseconds. A million turns span 231 days."""
EXCHANGES: Final = 40_000
CHUNK: Final = 50_000

_EXCHANGES = "create unlogged table exchanges (exchange int primary key, question text, answer text, q bytea, a bytea)"
_VERSION = "('\\x02'::bytea || int8send({}) || '\\x00000000000000000000000000000000'::bytea)"
_TURNS = f"""
insert into turns (tenant, project, conversation_id, turn_id, user_id, user_message_id, user_text, user_version,
    agent_id, agent_message_id, assistant_text, assistant_version, intent, strategy, quality_score, at,
    user_vector, assistant_vector)
select $1, $2, who || '-' || talk, 't' || n, who, 'q' || n, question,
    {_VERSION.format("at")}, 'bot', 'a' || n, answer, {_VERSION.format("at + 5000000")},
    'intent' || n % 20, case when n % 4 = 0 then 'strategy' || n % 7 end, n % 100 / 100.0, at,
    q, a
from (
    select n, case when n % $5 = 0 then $6 else 'person' || abs(hashint4(n)) % $7 end as who,
        case when n % $5 = 0 then n / ($5 * $9) else n / ($7 * $9) end as talk,
        $8 + n::bigint * $10 as at, abs(hashint4(-n)) % $11 as exchange
    from generate_series($3::int, $4::int) n) made
join exchanges using (exchange)
"""
_POSITION = "(int8send({}) || decode(repeat('00', 28), 'hex'))"
_MESSAGES = """
insert into messages
    (tenant, project, message_id, conversation_id, turn_id, sender_id, role, agent_id, text, position, version)
select tenant, project, user_message_id, conversation_id, turn_id, user_id, 'human', null, user_text, {position},
    user_version from turns where at >= $1
union all
select tenant, project, agent_message_id, conversation_id, turn_id, agent_id, 'agent', agent_id, assistant_text,
    {answered}, assistant_version from turns where at >= $1
""".format(position=_POSITION.format("at"), answered=_POSITION.format("at + 5000000"))
_SECONDARY = """
select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as made
from pg_index where indrelid = 'turns'::regclass and not indisprimary
"""


@dataclass(frozen=True, slots=True)
class Filled:
    """Result of `fill`: number of rows, time of the last row in microseconds, and people of the last conversations."""

    turns: int
    until: int
    recent: list[tuple[str, str]]
    megabytes: int


async def fill(url: str, turns: int, until: int, seed: int, say: Callable[[str], None]) -> Filled:
    """Fill the schema's empty tables. Only the last conversations have messages, because only they are queried."""
    connection = await asyncpg.connect(url, server_settings={"search_path": "inference,public"})
    try:
        await connection.execute("set synchronous_commit to off; set maintenance_work_mem to '512MB'")
        say(f"Making {EXCHANGES:,} exchanges and their vectors")
        vectors = TurnVectors(WordLlamaEmbedder())
        await connection.execute(_EXCHANGES)
        await connection.copy_records_to_table("exchanges", records=exchanges(vectors, seed))
        indexes = await connection.fetch(_SECONDARY)
        for index in indexes:
            await connection.execute(f"drop index {index['name']}")
        people = max(1, turns // PER_PERSON)
        begin = until - turns * STEP
        for first in range(1, turns + 1, CHUNK):
            last = min(turns, first + CHUNK - 1)
            await connection.execute(
                _TURNS,
                *(TENANT, PROJECT, first, last, HEAVY_EVERY, HEAVY, people, begin),
                *(PER_CONVERSATION, STEP, EXCHANGES),
            )
            say(f"  {last:,} of {turns:,} turns")
        say("Making the indexes")
        for index in indexes:
            await connection.execute(index["made"])
        recent = until - people * PER_CONVERSATION * STEP
        await connection.execute(_MESSAGES, recent)
        await connection.execute("drop table exchanges")
        await connection.execute("vacuum analyze turns")
        await connection.execute("vacuum analyze messages")
        talks = await connection.fetch(
            "select distinct user_id, conversation_id from turns where at >= $1 order by 1, 2", until - people * STEP
        )
        size = await connection.fetchval("select pg_total_relation_size('turns') / 1000000")
        await connection.execute("checkpoint")
        return Filled(turns, until, [tuple(row) for row in talks], int(size))
    finally:
        await connection.close()


def exchanges(vectors: TurnVectors, seed: int) -> list[tuple[Any, ...]]:
    """Return generated questions and answers with their vectors, each made from two of the project's training rows."""
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    chance = random.Random(seed)
    pairs = []
    for _ in range(EXCHANGES):
        one, other = chance.choice(rows), chance.choice(rows)
        pairs.append((f"{one['request']} {other['message']}", f"{one['answer']} {other['answer']}"))
    stored = vectors.stored(text for exchange in pairs for text in exchange)
    return [(n, question, answer, stored[question], stored[answer]) for n, (question, answer) in enumerate(pairs)]
