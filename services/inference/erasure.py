"""Erasure of a person's texts from inference's indexes: messages, questions with their vectors, reactions."""

from __future__ import annotations

from typing import Final

import asyncpg

from contracts.erasure import ERASURE_MARGIN, ErasedAt
from inference.turns.store import TurnIndex
from servicekit.db.erasure_ledger import ErasureLedger
from servicekit.pseudonyms import Pseudonyms

_AT_ONCE: Final = 2_000
"""Maximum number of rows per statement, which keeps each below the statement timeout."""
# Bytes 2 to 9 of a version are its time (contracts/versions.py). Rows stay, because `evaluation` counts a
# conversation's messages and must not decrease. The sender stays, as id or as the pseudonym $4, because verdicts on
# others' messages depend on who wrote before.
_COVERED: Final = """
m.tenant = $1 and m.sender_id in ($2, $4) and m.role = 'human'
and substring(m.version from 2 for 8) <= int8send($3::bigint)
"""
# The erasure has removed verdicts announced under the id, so they must not be retracted under the pseudonym.
_BLANK: Final = f"""
update messages set text = '', sender_id = $4,
    emitted_turn_id = case when sender_id = $4 then emitted_turn_id end,
    emitted_agent_id = case when sender_id = $4 then emitted_agent_id end
where (message_id, conversation_id, tenant, project) in (
    select message_id, conversation_id, tenant, project from messages m
    where {_COVERED} and (text <> '' or sender_id <> $4) limit $5)
"""
_FORGET_QUESTIONS: Final = f"""
update turns set user_id = null, user_text = null, user_vector = null, user_embedder = null
where (conversation_id, turn_id, tenant, project) in (
    select t.conversation_id, t.turn_id, t.tenant, t.project
    from messages m join turns t on t.conversation_id = m.conversation_id and t.tenant = m.tenant
        and t.project = m.project and t.user_message_id = m.message_id
    where {_COVERED} and t.user_id = $2 limit $5)
"""
_REACTED: Final = """
select feedback_id from user_reactions where user_id = $2 and tenant = $1 and at <= $3 limit $4
"""


class InferenceErasures(ErasureLedger):
    """See `servicekit.log.erasing.Erasures`."""

    def __init__(self, pool: asyncpg.Pool, turns: TurnIndex, pseudonyms: Pseudonyms) -> None:
        super().__init__(pool)
        self._turns = turns
        self._pseudonyms = pseudonyms

    async def erase(self, erased: ErasedAt) -> int:
        """Empty these people's messages and questions, and delete their reactions. Returns the rows changed."""
        changed = 0
        for person, at in sorted(erased.items()):
            covered = *person, at + ERASURE_MARGIN
            for statement in (_BLANK, _FORGET_QUESTIONS):
                arguments = *covered, self._pseudonyms.name_of(person), _AT_ONCE
                while done := int((await self._pool.execute(statement, *arguments)).rpartition(" ")[2]):
                    changed += done
            while reacted := await self._pool.fetch(_REACTED, *covered, _AT_ONCE):
                await self._turns.forget([row["feedback_id"] for row in reacted])
                changed += len(reacted)
        return changed
