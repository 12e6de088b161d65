"""What was answered to a question stands: the store that makes a second look end like the first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from inference.llm_gate.answer import LlmAnswer

Digest = bytes


@dataclass(frozen=True, slots=True)
class NewAnswer:
    """What became of a question; `answer` None: there was none in time, and there never will be."""

    tenant: str
    project: str
    answer: LlmAnswer | None


class GateAnswers(Protocol):
    async def known(self, digests: Collection[Digest]) -> Mapping[Digest, LlmAnswer | None]:
        """What stands for those of `digests` that were settled."""
        ...

    async def keep(self, answers: Mapping[Digest, NewAnswer]) -> Mapping[Digest, LlmAnswer | None]:
        """Settle questions, each unless it was settled before, and say what stands now. Committed on return."""
        ...
