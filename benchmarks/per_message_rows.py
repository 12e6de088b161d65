"""SQL statements of the baseline. Each one is prepared once, writes one row, and commits immediately."""

from __future__ import annotations

import json

import asyncpg

from chat_bridge.model import IndexedMessage
from contracts.message_fields import MessageKey
from contracts.provenance import NO_PROVENANCE, Provenance
from detector.model import NEIGHBOURHOOD, Message, Neighbourhood
from inference.store import IndexedMessage as JudgedMessage
from inference.store import Placed
from reporting.model.projection import FeedbackRow, MessageRow

_INDEX = """
insert into messages (tenant, project, conversation_id, message_id, turn_id, sender_id, sender_type, agent_id, content,
    truncated, about, version)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict do nothing
"""
_FIND = "select * from messages where (tenant, project, conversation_id, message_id) = ($1, $2, $3, $4)"
_REMEMBER = """
insert into messages (tenant, project, conversation_id, message_id, turn_id, sender_id, role, agent_id, text, position,
    version)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict do nothing
"""
_BEFORE = f"""
select message_id, turn_id, sender_id, role, agent_id, text, at from messages
where tenant = $1 and project = $2 and conversation_id = $3 and (position, message_id) < ($4, $5)
order by position desc, message_id desc limit {NEIGHBOURHOOD}
"""


async def index(pool: asyncpg.Pool, message: IndexedMessage) -> None:
    about = None if message.provenance is NO_PROVENANCE else json.dumps(message.provenance.fields())
    await pool.execute(
        _INDEX,
        *message.key,
        message.turn_id,
        message.sender_id,
        message.sender_type,
        message.agent_id,
        message.content,
        message.truncated,
        about,
        message.version,
    )


async def find(pool: asyncpg.Pool, key: MessageKey) -> IndexedMessage | None:
    row = await pool.fetchrow(_FIND, *key)
    if row is None:
        return None
    return IndexedMessage(
        key,
        row["turn_id"],
        row["sender_id"],
        row["sender_type"],
        row["agent_id"],
        row["content"],
        row["truncated"],
        NO_PROVENANCE if row["about"] is None else Provenance(**json.loads(row["about"])),
        row["version"],
    )


async def remember(pool: asyncpg.Pool, one: JudgedMessage) -> None:
    where, said = one.conversation, one.message
    await pool.execute(
        _REMEMBER,
        *where,
        said.message_id,
        said.turn_id,
        said.sender_id,
        said.role,
        said.agent_id,
        said.text,
        one.position,
        one.version,
    )


async def before(pool: asyncpg.Pool, one: JudgedMessage) -> tuple[Placed, Neighbourhood]:
    """Return the message as read from the index, with the messages before it."""
    rows = await pool.fetch(_BEFORE, *one.conversation, one.position, one.message.message_id)
    earlier = tuple(Message(*row.values()) for row in reversed(rows))
    return Placed(one, len(earlier) + 1), Neighbourhood(earlier, one.message)


def _upsert(table: str, columns: tuple[str, ...], key: int, newer: str) -> str:
    values = ", ".join(f"${n}" for n in range(1, len(columns) + 1))
    sets = ", ".join(f"{name} = excluded.{name}" for name in columns[key:])
    return f"""insert into {table} as held ({", ".join(columns)}) values ({values})
        on conflict ({", ".join(columns[:key])}) do update set {sets} where {newer}"""


_MESSAGE = _upsert("messages", MessageRow._fields, 4, "held.version < excluded.version")
_FEEDBACK = _upsert("feedbacks", FeedbackRow._fields, 1, "held.revision < excluded.revision")


async def show_message(pool: asyncpg.Pool, row: MessageRow) -> None:
    await pool.execute(_MESSAGE, *row)


async def show_feedback(pool: asyncpg.Pool, row: FeedbackRow) -> None:
    await pool.execute(_FEEDBACK, *row)
