"""In-memory store for the language model's answers, for tests and simulations."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from inference.llm_gate.answer import LlmAnswer
from inference.llm_gate.store import Digest, NewAnswer


class MemoryGateAnswers:
    """In-memory implementation of `store.GateAnswers`."""

    def __init__(self) -> None:
        self._held: dict[Digest, LlmAnswer | None] = {}

    async def known(self, digests: Collection[Digest]) -> Mapping[Digest, LlmAnswer | None]:
        return {digest: self._held[digest] for digest in digests if digest in self._held}

    async def keep(self, answers: Mapping[Digest, NewAnswer]) -> Mapping[Digest, LlmAnswer | None]:
        return {digest: self._held.setdefault(digest, one.answer) for digest, one in answers.items()}
