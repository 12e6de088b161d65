"""In-memory store for the language model's answers, for tests and simulations."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from inference.llm_gate.answer import LlmAnswer
from inference.llm_gate.question import LlmQuestion
from inference.llm_gate.store import Answers


class MemoryGateAnswers:
    """In-memory implementation of `store.GateAnswers`."""

    def __init__(self) -> None:
        self._answers: dict[bytes, LlmAnswer | None] = {}

    async def find(self, questions: Collection[LlmQuestion]) -> Answers:
        digests = {question.digest for question in questions}
        return {digest: answer for digest, answer in self._answers.items() if digest in digests}

    async def keep(self, answers: Mapping[LlmQuestion, LlmAnswer | None]) -> Answers:
        return {
            question.digest: self._answers.setdefault(question.digest, answer) for question, answer in answers.items()
        }
