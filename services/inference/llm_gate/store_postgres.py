"""PostgreSQL store for the language model's answers. Reading takes one statement, storing two."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import asyncpg

from inference.llm_gate.answer import LlmAnswer, read_answer
from inference.llm_gate.store import Digest, NewAnswer
from inference.sql import SQL


class PostgresGateAnswers:
    """PostgreSQL implementation of `store.GateAnswers`.

    The table `gate_answers` must be on the search path of the pool.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def known(self, digests: Collection[Digest]) -> Mapping[Digest, LlmAnswer | None]:
        rows = await self._pool.fetch(*SQL.known_answers(digests=list(digests))) if digests else []
        return {row["digest"]: None if row["answer"] is None else read_answer(row["answer"]) for row in rows}

    async def keep(self, answers: Mapping[Digest, NewAnswer]) -> Mapping[Digest, LlmAnswer | None]:
        # Sorted, to avoid deadlocks.
        rows = [
            (digest, one.tenant, one.project, None if one.answer is None else one.answer.model_dump_json())
            for digest, one in sorted(answers.items())
        ]
        if rows:
            await self._pool.execute(*SQL.keep_answers.bulk(rows))
        # A separate statement, because it must see rows that another process committed while the insert waited.
        return await self.known(answers)
