"""Interface of the store of the language model's answers. A repeated question gets the stored answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from inference.llm_gate.answer import LlmAnswer

Digest = bytes


@dataclass(frozen=True, slots=True)
class NewAnswer:
    """Final outcome of a question. `answer` is None if no answer arrived in time."""

    tenant: str
    project: str
    answer: LlmAnswer | None


class GateAnswers(Protocol):
    async def known(self, digests: Collection[Digest]) -> Mapping[Digest, LlmAnswer | None]:
        """Return the stored outcomes by digest. Digests without a stored outcome are not in the result."""
        ...

    async def keep(self, answers: Mapping[Digest, NewAnswer]) -> Mapping[Digest, LlmAnswer | None]:
        """Store the outcomes of questions that have no stored outcome, and commit.

        Returns the stored outcomes of all questions.
        """
        ...
