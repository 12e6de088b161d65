"""Store of the gate's answers: a repeated question gets the first answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from inference.llm_gate.answer import LlmAnswer

Digest = bytes


@dataclass(frozen=True, slots=True)
class NewAnswer:
    """Outcome of a question; `answer` is None if none came in time, and stays so."""

    tenant: str
    project: str
    answer: LlmAnswer | None


class GateAnswers(Protocol):
    async def known(self, digests: Collection[Digest]) -> Mapping[Digest, LlmAnswer | None]:
        """Return the stored answers of those `digests` that were settled."""
        ...

    async def keep(self, answers: Mapping[Digest, NewAnswer]) -> Mapping[Digest, LlmAnswer | None]:
        """Settle questions, each unless it was settled before, and say what stands now. Committed on return."""
        ...
