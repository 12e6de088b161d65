"""Answers of the gate in PostgreSQL: one statement to read and two to store any number of questions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import asyncpg

from inference.llm_gate.answer import LlmAnswer, read_answer
from inference.llm_gate.store import Digest, NewAnswer

_KEEP = """
insert into gate_answers (digest, tenant, project, answer)
select * from unnest($1::bytea[], $2::text[], $3::text[], $4::text[]) on conflict (digest) do nothing
"""
_KNOWN = "select digest, answer from gate_answers where digest = any($1::bytea[])"


class PostgresGateAnswers:
    """See `store.GateAnswers`. The pool's connections see the table `gate_answers`."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def known(self, digests: Collection[Digest]) -> Mapping[Digest, LlmAnswer | None]:
        rows = await self._pool.fetch(_KNOWN, list(digests)) if digests else []
        return {row["digest"]: None if row["answer"] is None else read_answer(row["answer"]) for row in rows}

    async def keep(self, answers: Mapping[Digest, NewAnswer]) -> Mapping[Digest, LlmAnswer | None]:
        # Sorted, to avoid deadlocks.
        rows = sorted(answers.items())
        if rows:
            await self._pool.execute(
                _KEEP,
                [digest for digest, _ in rows],
                [one.tenant for _, one in rows],
                [one.project for _, one in rows],
                [None if one.answer is None else one.answer.model_dump_json() for _, one in rows],
            )
        # A separate statement, to see what another process committed while the insert waited for it.
        return await self.known(answers)
