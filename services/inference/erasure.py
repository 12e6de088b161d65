"""Removes from inference's indexes what an erased person said: messages, questions with their vectors, reactions."""

from __future__ import annotations

from typing import Final

import asyncpg

from contracts.erasure import ERASURE_MARGIN, ErasedAt
from inference.turns.store import TurnIndex
from servicekit.db.erasure_ledger import ErasureLedger

_AT_ONCE: Final = 2_000
"""Rows changed by one statement, so that none runs into the statement limit."""
# A version's second to ninth byte are the time it was said (contracts/versions.py). Rows stay: `evaluation` counts a
# conversation's messages and must not fall. The sender stays: what others said is understood by who spoke before.
_COVERED: Final = """
m.tenant = $1 and m.sender_id = $2 and m.role = 'human' and substring(m.version from 2 for 8) <= int8send($3::bigint)
"""
_BLANK: Final = f"""
update messages set text = '' where (message_id, conversation_id, tenant, project) in (
    select message_id, conversation_id, tenant, project from messages m where {_COVERED} and text <> '' limit $4)
"""
_FORGET_QUESTIONS: Final = f"""
update turns set user_id = null, user_text = null, user_vector = null, user_embedder = null
where (conversation_id, turn_id, tenant, project) in (
    select t.conversation_id, t.turn_id, t.tenant, t.project
    from messages m join turns t on t.conversation_id = m.conversation_id and t.tenant = m.tenant
        and t.project = m.project and t.user_message_id = m.message_id
    where {_COVERED} and t.user_id = $2 limit $4)
"""
_REACTED: Final = """
select feedback_id from user_reactions where user_id = $2 and tenant = $1 and at <= $3 limit $4
"""


class InferenceErasures(ErasureLedger):
    """See `servicekit.log.erasing.Erasures`."""

    def __init__(self, pool: asyncpg.Pool, turns: TurnIndex) -> None:
        super().__init__(pool)
        self._turns = turns

    async def erase(self, erased: ErasedAt) -> int:
        """Blank these people's messages and questions, and drop their reactions to turns. Returns the rows changed."""
        changed = 0
        for (tenant, user_id), at in sorted(erased.items()):
            person = tenant, user_id, at + ERASURE_MARGIN
            for statement in (_BLANK, _FORGET_QUESTIONS):
                while done := int((await self._pool.execute(statement, *person, _AT_ONCE)).rpartition(" ")[2]):
                    changed += done
            while reacted := await self._pool.fetch(_REACTED, *person, _AT_ONCE):
                await self._turns.forget([row["feedback_id"] for row in reacted])
                changed += len(reacted)
        return changed
