"""The LLM gate: a language model is asked where no rule alone decided; rules and learned layer stand in for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from detector.model import Neighbourhood, Target, Verdict
from detector.version import version_with_gate
from inference.llm_gate.answer import LlmAnswer, apply_answer, speaks
from inference.llm_gate.asking import Asking
from inference.llm_gate.question import LlmQuestion, question
from inference.llm_gate.store import Digest, GateAnswers, NewAnswer
from inference.store import ConversationKey
from servicekit import metrics

QUESTIONS_AT_ONCE: Final = 500
"""Questions held in memory, and settled by one statement."""


class Judged(NamedTuple):
    """A message, and the verdict of rules and learned layer on it."""

    conversation: ConversationKey
    item: Neighbourhood
    verdict: Verdict


class Locator(Protocol):
    def target(self, item: Neighbourhood, message_id: str | None) -> Target | None:
        """The agent message that feedback is about: that of `message_id` where it is given, else the likeliest."""
        ...


class LlmGate:
    """Asks `model`; all questions of one call take at most `seconds`, which is longer than one question may take: else
    the circuit would never hear of a slow endpoint.

    What became of a question is kept before anybody hears of it and stands for good, so that a redelivery, a restart or
    another process comes to the same verdict, whatever the model would say by then.
    """

    def __init__(self, asking: Asking, answers: GateAnswers, locator: Locator, *, model: str, seconds: float) -> None:
        self._asking = asking
        self._answers = answers
        self._locator = locator
        self._model = model
        self._seconds = seconds

    def version(self, detector: str) -> str:
        """Return the version of a detector that asks this gate: it depends on the model's name and the question."""
        return version_with_gate(detector, self._model, Path(__file__).parent)

    async def settle(self, judged: Sequence[Judged]) -> list[Verdict]:
        """The verdicts to announce, in order; a question without an answer in time is settled as unanswered."""
        return await self._reconsider(judged, final=True)

    async def look(self, judged: Judged) -> Verdict:
        """The verdict for a caller who waits; that there was no answer in time settles nothing."""
        [verdict] = await self._reconsider([judged], final=False)
        return verdict

    async def _reconsider(self, judged: Sequence[Judged], *, final: bool) -> list[Verdict]:
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
        """Return the stored answer of each question; unsettled questions are absent."""
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

    def _applied(self, judged: Judged, asked: LlmQuestion, answer: LlmAnswer) -> Verdict:
        if not speaks(answer):
            return apply_answer(judged.verdict, answer, None)
        named = asked.numbered[answer.about - 1] if answer.about is not None else None
        return apply_answer(judged.verdict, answer, self._locator.target(judged.item, named))
