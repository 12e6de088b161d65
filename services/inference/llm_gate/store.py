"""Store for the language model's answers, so that a repeated question gets the same answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import asyncpg

from inference.llm_gate.answer import LlmAnswer, read_answer
from inference.llm_gate.question import LlmQuestion
from inference.sql import SQL

Answers = Mapping[bytes, LlmAnswer | None]
"""Outcomes by the digests of their questions. An outcome is None if the model did not answer in time."""


class GateAnswers:
    """Outcomes of questions. The table `gate_answers` must be on the search path of the pool."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def find(self, questions: Collection[LlmQuestion]) -> Answers:
        """Return the stored outcomes, omitting questions that have none."""
        return await self._fetch(SQL.find_answers(digests=[question.digest for question in questions]))

    async def keep(self, answers: Mapping[LlmQuestion, LlmAnswer | None]) -> Answers:
        """Store the outcomes of questions that have none yet, and commit.

        Returns:
            The stored outcome of every question, which may be one that another process stored earlier.
        """
        rows = [
            (question.digest, *question.conversation[:2], answer.model_dump_json() if answer else None)
            for question, answer in answers.items()
        ]
        return await self._fetch(SQL.keep_answers.bulk(sorted(rows, key=lambda row: row[0]))) if rows else {}

    async def _fetch(self, statement: tuple[Any, ...]) -> Answers:
        rows = await self._pool.fetch(*statement)
        return {row["digest"]: None if row["answer"] is None else read_answer(row["answer"]) for row in rows}
