"""LLM gate: asks a language model about messages that no rule decides. Without an answer, their verdict is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from detector.model import Neighbourhood, Target, Verdict
from detector.version import version_with_gate
from inference import metrics
from inference.llm_gate.answer import LlmAnswer, apply_answer, judges_answer
from inference.llm_gate.asking import Asking
from inference.llm_gate.question import LlmQuestion, question
from inference.llm_gate.store import Digest, GateAnswers, NewAnswer
from inference.store import ConversationKey

QUESTIONS_AT_ONCE: Final = 500
"""Maximum number of questions that are in memory at a time, and stored by one statement."""


class PendingVerdict(NamedTuple):
    """Message with the verdict of the rules and the learned layer, before the language model is asked."""

    conversation: ConversationKey
    item: Neighbourhood
    verdict: Verdict


class Locator(Protocol):
    def target(self, item: Neighbourhood, message_id: str | None) -> Target | None:
        """Return the agent message that feedback is about: `message_id` if given, otherwise the most probable one."""
        ...


class LlmGate:
    """Gate to the language model `model`. All questions of a call together take at most `seconds`.

    `seconds` is longer than the deadline of one question, so that the circuit breaker sees slow responses. The outcome
    of a question is stored before its verdict is published, and never changes. A redelivery, a restart or another
    process therefore gives the same verdict.
    """

    def __init__(self, asking: Asking, answers: GateAnswers, locator: Locator, *, model: str, seconds: float) -> None:
        self._asking = asking
        self._answers = answers
        self._locator = locator
        self._model = model
        self._seconds = seconds

    def version(self, detector: str) -> str:
        """Return the version of a detector of version `detector` together with this gate.

        It depends on the name of the model and on the source files of the gate.
        """
        return version_with_gate(detector, self._model, Path(__file__).parent)

    async def settle(self, judged: Sequence[PendingVerdict]) -> list[Verdict]:
        """Return the final verdicts, in order. A question that misses its deadline is stored as unanswered."""
        return await self._reconsider(judged, final=True)

    async def preview(self, judged: PendingVerdict) -> Verdict:
        """Return the verdict for an interactive caller. If the answer is missing, this outcome is not stored."""
        [verdict] = await self._reconsider([judged], final=False)
        return verdict

    async def _reconsider(self, judged: Sequence[PendingVerdict], *, final: bool) -> list[Verdict]:
        until = asyncio.get_running_loop().time() + self._seconds
        verdicts = [one.verdict for one in judged]
        rows = [row for row, verdict in enumerate(verdicts) if not verdict.settled]
        for start in range(0, len(rows), QUESTIONS_AT_ONCE):
            asked = {
                row: question(self._model, judged[row].conversation, judged[row].item)
                for row in rows[start : start + QUESTIONS_AT_ONCE]
            }
            owners = {one.digest: judged[row].conversation for row, one in asked.items()}
            answers = await self._answered({one.digest: one for one in asked.values()}, owners, until, final=final)
            for row, one in asked.items():
                answer = answers.get(one.digest)
                if answer is not None:
                    verdicts[row] = self._applied(judged[row], one, answer)
        return verdicts

    async def _answered(
        self,
        asked: Mapping[Digest, LlmQuestion],
        owners: Mapping[Digest, ConversationKey],
        until: float,
        *,
        final: bool,
    ) -> Mapping[Digest, LlmAnswer | None]:
        """Return the outcomes of the questions by digest.

        Stored outcomes are reused; the other questions are asked. Questions without an outcome are not in the result.
        If `final`, missing answers are stored as outcomes.
        """
        known = await self._answers.known(asked)
        metrics.LLM_GATE.labels("known").inc(len(known))
        fresh = await self._asking.ask(
            [one for digest, one in asked.items() if digest not in known], until, batch=final
        )
        kept = await self._answers.keep(
            {
                digest: NewAnswer(owners[digest].tenant, owners[digest].project, answer)
                for digest, answer in fresh.items()
                if final or answer is not None
            }
        )
        return {**known, **kept}

    def _applied(self, judged: PendingVerdict, asked: LlmQuestion, answer: LlmAnswer) -> Verdict:
        if not judges_answer(answer):
            return apply_answer(judged.verdict, answer, None)
        named = asked.numbered[answer.about - 1] if answer.about is not None else None
        return apply_answer(judged.verdict, answer, self._locator.target(judged.item, named))
