"""Gate that asks a language model about messages that no rule decides.

If the model does not answer, the message keeps its verdict.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from contracts.detectors import DetectorVersion
from detector.model import Neighbourhood, Target, Verdict
from detector.version import version_with_gate
from inference import metrics
from inference.llm_gate.answer import LlmAnswer, apply_answer, judges_answer
from inference.llm_gate.asking import Asking
from inference.llm_gate.question import LlmQuestion, question
from inference.llm_gate.store import Digest, GateAnswers, NewAnswer
from inference.store import ConversationKey

QUESTIONS_AT_ONCE: Final = 500
"""Maximum number of questions in memory at a time, which is also the number stored by one statement."""


class PendingVerdict(NamedTuple):
    """A message with the verdict of the rules and the learned layer, which the language model may replace."""

    conversation: ConversationKey
    item: Neighbourhood
    verdict: Verdict


class Locator(Protocol):
    def target(self, item: Neighbourhood, message_id: str | None) -> Target | None:
        """Return the agent message that the feedback in `item` is about.

        If `message_id` is given, this is the message with that id. Otherwise the most probable message is returned.
        """
        ...


class LlmGate:
    """Gate that asks a language model for verdicts.

    An outcome is stored before its verdict is published and never changes afterwards. Redeliveries, restarts and other
    processes therefore arrive at the same verdict.

    Args:
        model: Name of the language model.
        seconds: Time limit for all questions of a call. It is longer than the timeout of a single question, so that the
            circuit breaker notices slow responses.
    """

    def __init__(self, asking: Asking, answers: GateAnswers, locator: Locator, *, model: str, seconds: float) -> None:
        self._asking = asking
        self._answers = answers
        self._locator = locator
        self._model = model
        self._seconds = seconds

    def version(self, detector: DetectorVersion) -> DetectorVersion:
        """Return the combined version of the detector version `detector` and this gate."""
        return version_with_gate(detector, self._model)

    async def settle(self, judged: Sequence[PendingVerdict]) -> list[Verdict]:
        """Return the final verdicts in the given order.

        A question that is not answered in time is stored as unanswered.
        """
        return await self._reconsider(judged, final=True)

    async def preview(self, judged: PendingVerdict) -> Verdict:
        """Return the verdict for an interactive caller.

        In contrast to `settle`, a missing answer is not stored.
        """
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
        """Return the outcomes of the questions by digest, omitting questions without an outcome.

        Stored outcomes are reused, and only the other questions are asked. If `final` is True, a missing answer is
        stored as an outcome.
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
