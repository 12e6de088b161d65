"""Concurrent requests to a language model, with deadlines and a circuit breaker."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

import structlog

from chat_completions.completion import WrongAnswer
from chat_completions.endpoint import EndpointFailed, LlmEndpoint
from inference import metrics
from inference.llm_gate.answer import LlmAnswer, answer_in
from inference.llm_gate.question import LlmQuestion
from servicekit.circuit_breaker import CircuitBreaker
from servicekit.clock import Clock

Reason = Literal["slow", "broken", "wrong", "open", "late"]
"""Reason for a missing answer.

slow: the question exceeded its deadline; broken: there was no valid HTTP response; wrong: the answer is invalid; open:
the circuit breaker is open; late: the batch exceeded its deadline.
"""

log = structlog.get_logger(part="llm_gate")


class Unanswered(NamedTuple):
    """A question that got no answer.

    `why` is a fixed text that never quotes the response, so it is safe to log.
    """

    reason: Reason
    why: str = ""


class Asking:
    """Client for a language model, with timeouts and concurrency limits.

    Batches and interactive callers have separate limits, so an interactive caller never waits for a batch.

    Args:
        seconds: Timeout of a single question.
        at_once: Maximum number of questions in flight for batches, and separately for interactive callers.
    """

    def __init__(
        self,
        endpoint: LlmEndpoint,
        clock: Clock,
        *,
        seconds: float,
        at_once: int,
        circuit: CircuitBreaker | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._seconds = seconds
        self._batch_slots = asyncio.Semaphore(at_once)
        self._waiting_slots = asyncio.Semaphore(at_once)
        self._circuit = circuit or CircuitBreaker()

    async def ask(
        self, questions: Sequence[LlmQuestion], until: float, *, batch: bool
    ) -> dict[LlmQuestion, LlmAnswer | None]:
        """Ask all questions and return the answers.

        Args:
            until: Deadline on the event loop's clock.
            batch: True for a batch, False for an interactive caller; each has its own concurrency limit.

        Returns:
            One entry per question; None if it was not answered.
        """
        slots = self._batch_slots if batch else self._waiting_slots
        outcomes = await asyncio.gather(*(self._outcome(question, slots, until) for question in questions))
        _report(outcomes)
        answers = [outcome if isinstance(outcome, LlmAnswer) else None for outcome in outcomes]
        return dict(zip(questions, answers, strict=True))

    async def _outcome(self, question: LlmQuestion, slots: asyncio.Semaphore, until: float) -> LlmAnswer | Unanswered:
        try:
            async with asyncio.timeout_at(until), slots:
                return await self._answer(question)
        except TimeoutError:
            return Unanswered("late")

    async def _answer(self, question: LlmQuestion) -> LlmAnswer | Unanswered:
        if not self._circuit.lets_through(self._clock.monotonic()):
            return Unanswered("open")
        try:
            async with asyncio.timeout(self._seconds):
                completion = await self._endpoint.complete(question.body)
            answer = answer_in(completion, len(question.numbered))
        except TimeoutError:
            self._circuit.failed(self._clock.monotonic())
            return Unanswered("slow")
        except EndpointFailed as error:
            self._circuit.failed(self._clock.monotonic())
            return Unanswered("broken", str(error))
        except WrongAnswer as error:
            # The endpoint responded. A text on which the model fails must not open the circuit for other texts.
            self._circuit.succeeded()
            return Unanswered("wrong", str(error))
        self._circuit.succeeded()
        return answer


def _report(outcomes: Sequence[LlmAnswer | Unanswered]) -> None:
    """Count the outcomes in the metrics, and log all failures as one line."""
    failures = [outcome for outcome in outcomes if isinstance(outcome, Unanswered)]
    counts: Counter[str] = Counter(failure.reason for failure in failures)
    metrics.LLM_GATE.labels("answered").inc(len(outcomes) - len(failures))
    for reason, count in counts.items():
        metrics.LLM_GATE.labels(reason).inc(count)
    if counts.total() > counts["open"]:
        log.warning("fell_back", **counts, why=sorted({failure.why for failure in failures if failure.why}))
