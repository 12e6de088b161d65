"""Removes from inference's indexes what an erased person said: messages, questions with their vectors, reactions."""

from __future__ import annotations

from typing import Final

import asyncpg

from contracts.erasure import ERASURE_MARGIN, ErasedAt
from inference.turns.store import TurnIndex
from servicekit.erasure_ledger import ErasureLedger

_AT_ONCE: Final = 2_000
"""Rows changed by one statement, so that none runs into the statement limit."""
# A version's second to ninth byte are the time it was said (contracts/versions.py). Blanking the messages first makes
# them tell which questions are theirs. Rows stay: `evaluation` counts a conversation's messages and must not fall.
_BLANK: Final = """
with blanked as (
    update messages set text = '' where (message_id, conversation_id, tenant, project) in (
        select message_id, conversation_id, tenant, project from messages
        where sender_id = $2 and tenant = $1 and role = 'human' and text <> ''
          and substring(version from 2 for 8) <= int8send($3::bigint)
        limit $4)
    returning message_id, conversation_id, tenant, project
), asked as (
    update turns t set user_text = null, user_vector = null, user_embedder = null
    from blanked b
    where t.conversation_id = b.conversation_id and t.tenant = b.tenant and t.project = b.project
      and t.user_message_id = b.message_id
)
select count(*) from blanked
"""
_REACTED: Final = """
select feedback_id from user_reactions where user_id = $2 and tenant = $1 and at <= $3 limit $4
"""


class InferenceErasures(ErasureLedger):
    """See `servicekit.kafka.erasing.Erasures`."""

    def __init__(self, pool: asyncpg.Pool, turns: TurnIndex) -> None:
        super().__init__(pool)
        self._turns = turns

    async def erase(self, erased: ErasedAt) -> int:
        """Blank these people's messages and questions, and drop their reactions to turns. Returns the rows changed."""
        changed = 0
        for (tenant, user_id), at in sorted(erased.items()):
            person = tenant, user_id, at + ERASURE_MARGIN
            while blanked := int(await self._pool.fetchval(_BLANK, *person, _AT_ONCE)):
                changed += blanked
            while reacted := await self._pool.fetch(_REACTED, *person, _AT_ONCE):
                await self._turns.forget([row["feedback_id"] for row in reacted])
                changed += len(reacted)
        return changed
