"""Answers that live and die with the process: for tests and simulations."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from inference.gate_answers import Digest, Told
from inference.llm_answer import Answer


class MemoryGateAnswers:
    """See `gate_answers.GateAnswers`."""

    def __init__(self) -> None:
        self._held: dict[Digest, Answer | None] = {}

    async def known(self, digests: Collection[Digest]) -> Mapping[Digest, Answer | None]:
        return {digest: self._held[digest] for digest in digests if digest in self._held}

    async def keep(self, told: Mapping[Digest, Told]) -> Mapping[Digest, Answer | None]:
        return {digest: self._held.setdefault(digest, one.answer) for digest, one in told.items()}
