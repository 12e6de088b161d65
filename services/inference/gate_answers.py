"""What was answered to a question stands: the store that makes a second look end like the first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from inference.llm_answer import Answer

Digest = bytes


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a question; `answer` None: there was none in time, and there never will be."""

    tenant: str
    project: str
    answer: Answer | None


class GateAnswers(Protocol):
    async def known(self, digests: Collection[Digest]) -> Mapping[Digest, Answer | None]:
        """What stands for those of `digests` that were settled."""
        ...

    async def keep(self, told: Mapping[Digest, Told]) -> Mapping[Digest, Answer | None]:
        """Settle questions, each unless it was settled before, and say what stands now. Committed on return."""
        ...
