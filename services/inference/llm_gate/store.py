"""Interface of the store for the language model's answers, so that a repeated question gets the same answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from inference.llm_gate.answer import LlmAnswer

Digest = bytes


@dataclass(frozen=True, slots=True)
class NewAnswer:
    """Final outcome of a question. `answer` is None if the model did not answer."""

    tenant: str
    project: str
    answer: LlmAnswer | None


class GateAnswers(Protocol):
    async def known(self, digests: Collection[Digest]) -> Mapping[Digest, LlmAnswer | None]:
        """Return the stored outcomes by digest, omitting questions that have none."""
        ...

    async def keep(self, answers: Mapping[Digest, NewAnswer]) -> Mapping[Digest, LlmAnswer | None]:
        """Store the outcomes of questions that have none yet, and commit.

        Returns:
            The stored outcome of every question, which may be one that another process stored earlier.
        """
        ...
