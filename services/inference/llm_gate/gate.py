"""Gate that asks a language model about messages that no rule decides.

If the model does not answer, the message keeps its verdict.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from detector.detector import Detector
from detector.model import Neighbourhood, Verdict
from detector.version import version_with_gate
from inference import metrics
from inference.llm_gate.answer import LlmAnswer, apply_answer, judges_answer
from inference.llm_gate.asking import Asking
from inference.llm_gate.question import LlmQuestion, question
from inference.llm_gate.store import Answers, GateAnswers
from inference.model import ConversationKey

QUESTIONS_AT_ONCE: Final = 500
"""Maximum number of questions in memory at a time, which is also the number stored by one statement."""


class PendingVerdict(NamedTuple):
    """A message with the verdict of the rules and the learned layer, which the language model may replace."""

    conversation: ConversationKey
    item: Neighbourhood
    verdict: Verdict


class LlmGate:
    """Gate that asks a language model for verdicts.

    The outcome of a question is stored before the verdict is published, and never changes afterwards. Redeliveries,
    restarts and other processes therefore arrive at the same verdict.

    Args:
        answers: Store of outcomes. None to store none, for a measurement.
        model: Name of the language model.
        seconds: Time limit for all questions of a call. It is longer than the timeout of a single question, so that the
            circuit breaker notices slow responses.
    """

    def __init__(
        self, asking: Asking, answers: GateAnswers | None, detector: Detector, *, model: str, seconds: float
    ) -> None:
        self._asking = asking
        self._answers = answers
        self._detector = detector
        self._model = model
        self._seconds = seconds
        self.version = version_with_gate(detector.version, model)
        """Version of the detector together with this gate."""

    async def settle(self, judged: Sequence[PendingVerdict], *, final: bool = True) -> list[Verdict]:
        """Return the final verdicts in the order of `judged`.

        Args:
            final: True to store a question that is not answered in time as unanswered. False for an interactive caller.
        """
        until = asyncio.get_running_loop().time() + self._seconds
        verdicts = [pending.verdict for pending in judged]
        rows = [row for row, verdict in enumerate(verdicts) if not verdict.settled]
        for start in range(0, len(rows), QUESTIONS_AT_ONCE):
            questions = {
                row: question(self._model, judged[row].conversation, judged[row].item)
                for row in rows[start : start + QUESTIONS_AT_ONCE]
            }
            answers = await self._answers_to(questions.values(), until, final=final)
            for row, sent in questions.items():
                if (answer := answers.get(sent.digest)) is not None:
                    verdicts[row] = self._applied(judged[row], sent, answer)
        return verdicts

    async def _answers_to(self, questions: Iterable[LlmQuestion], until: float, *, final: bool) -> Answers:
        """Return the model's answers to the questions, stored or new. Only questions without a stored answer are asked.

        With `final`, a question that gets no answer is stored as unanswered, with None as its answer. Otherwise it is
        left out.
        """
        distinct = {question.digest: question for question in questions}
        if not distinct:
            return {}
        stored = await self._answers.find(distinct.values()) if self._answers else {}
        metrics.LLM_GATE.labels("known").inc(len(stored))
        answers = await self._asking.ask([distinct[digest] for digest in distinct.keys() - stored], until, batch=final)
        outcomes = {question: answer for question, answer in answers.items() if final or answer is not None}
        if self._answers is None:
            return {question.digest: answer for question, answer in outcomes.items()}
        return {**stored, **await self._answers.keep(outcomes)}

    def _applied(self, judged: PendingVerdict, sent: LlmQuestion, answer: LlmAnswer) -> Verdict:
        named = sent.numbered[answer.about - 1] if answer.about is not None else None
        target = self._detector.target(judged.item, named) if judges_answer(answer) else None
        return apply_answer(judged.verdict, answer, target)
