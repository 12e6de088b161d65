"""The LLM gate: a language model is asked where no rule alone decided; rules and learned layer stand in for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, Protocol

from inference.gate_answers import Digest, GateAnswers, Told
from inference.llm_answer import Answer, WrongAnswer, answer_in, speaks, told
from inference.llm_endpoint import Broken
from inference.llm_question import Question, question
from inference.model import Neighbourhood, Target, Verdict
from inference.store import ConversationKey
from servicekit import metrics
from servicekit.circuit import Circuit
from servicekit.clock import Clock
from servicekit.logging import logger

QUESTIONS_AT_ONCE: Final = 500
"""Questions held in memory, and settled by one statement."""

Fallback = Literal["slow", "broken", "wrong", "open", "late"]
"""Why there is no answer: over the limit of one question; no sound HTTP answer; an answer to something else; the
endpoint is left alone; the time for the whole batch was over."""

log = logger("llm_gate")


class Judged(NamedTuple):
    """A message, and the verdict of rules and learned layer on it."""

    conversation: ConversationKey
    item: Neighbourhood
    verdict: Verdict


class Endpoint(Protocol):
    async def complete(self, body: bytes) -> bytes:
        """The body of a chat completion. Raises Broken or WrongAnswer."""
        ...


class Locator(Protocol):
    def target(self, item: Neighbourhood, message_id: str | None) -> Target | None:
        """The agent message that feedback is about: that of `message_id` if told, else the likeliest."""
        ...


class LlmGate:
    """Asks `model`, at most `at_once` questions at a time.

    What became of a question is kept before anybody hears of it and stands for good, so that a redelivery, a restart or
    another process comes to the same verdict, whatever the model would say by then.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        answers: GateAnswers,
        locator: Locator,
        clock: Clock,
        *,
        model: str,
        seconds: float,
        batch_seconds: float,
        at_once: int,
        circuit: Circuit | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._answers = answers
        self._locator = locator
        self._clock = clock
        self._model = model
        self._seconds = seconds
        self._batch_seconds = batch_seconds
        self._slots = asyncio.Semaphore(at_once)
        self._circuit = circuit or Circuit()

    async def settle(self, judged: Sequence[Judged]) -> list[Verdict]:
        """The verdicts to announce, in order. Asking takes at most `batch_seconds` in all; a question without an answer
        by then is settled as unanswered."""
        return await self._reconsider(judged, self._batch_seconds, final=True)

    async def look(self, judged: Judged) -> Verdict:
        """The verdict for somebody who waits. Asking takes at most `seconds`; no answer by then settles nothing."""
        [verdict] = await self._reconsider([judged], self._seconds, final=False)
        return verdict

    async def _reconsider(self, judged: Sequence[Judged], seconds: float, *, final: bool) -> list[Verdict]:
        until = asyncio.get_running_loop().time() + seconds
        verdicts = [one.verdict for one in judged]
        rows = [row for row, verdict in enumerate(verdicts) if not verdict.settled]
        for start in range(0, len(rows), QUESTIONS_AT_ONCE):
            piece = rows[start : start + QUESTIONS_AT_ONCE]
            questions = [question(self._model, judged[row].conversation, judged[row].item) for row in piece]
            keys = {asked.digest: judged[row].conversation for row, asked in zip(piece, questions, strict=True)}
            answers = await self._answered({asked.digest: asked for asked in questions}, keys, until, final=final)
            for row, asked in zip(piece, questions, strict=True):
                answer = answers.get(asked.digest)
                if answer is not None:
                    verdicts[row] = self._told(judged[row], asked, answer)
        return verdicts

    def _told(self, judged: Judged, asked: Question, answer: Answer) -> Verdict:
        if not speaks(answer):
            return told(judged.verdict, answer, None)
        named = asked.numbered[answer.about - 1] if answer.about is not None else None
        return told(judged.verdict, answer, self._locator.target(judged.item, named))

    async def _answered(
        self, questions: Mapping[Digest, Question], keys: Mapping[Digest, ConversationKey], until: float, *, final: bool
    ) -> Mapping[Digest, Answer | None]:
        """What stands for each question; of one that isn't settled, nothing."""
        known = await self._answers.known(questions)
        fresh = await self._ask([asked for digest, asked in questions.items() if digest not in known], until)
        kept = await self._answers.keep(
            {
                digest: Told(keys[digest].tenant, keys[digest].project, answer)
                for digest, answer in fresh.items()
                if final or answer is not None
            }
        )
        metrics.LLM_GATE.labels("known").inc(len(known))
        return {**known, **kept}

    async def _ask(self, questions: Sequence[Question], until: float) -> dict[Digest, Answer | None]:
        """An answer to each of the questions, or None; all by `until` in the loop's time."""
        if not questions:
            return {}
        asking = {asyncio.create_task(self._answer(one)): one.digest for one in questions}
        try:
            await asyncio.wait(asking, timeout=max(0.0, until - asyncio.get_running_loop().time()))
        finally:
            await _end(task for task in asking if not task.done())
        outcomes = {digest: "late" if task.cancelled() else task.result() for task, digest in asking.items()}
        counts = Counter(one if isinstance(one, str) else "answered" for one in outcomes.values())
        for outcome, count in counts.items():
            metrics.LLM_GATE.labels(outcome).inc(count)
        failures = {outcome: count for outcome, count in counts.items() if outcome not in ("answered", "open")}
        if failures:
            log.warning("fell_back", **failures)
        return {digest: None if isinstance(one, str) else one for digest, one in outcomes.items()}

    async def _answer(self, asked: Question) -> Answer | Fallback:
        async with self._slots:
            if not self._circuit.lets_through(self._clock.monotonic()):
                return "open"
            try:
                async with asyncio.timeout(self._seconds):
                    completion = await self._endpoint.complete(asked.body)
            except (TimeoutError, Broken) as error:
                self._circuit.failed(self._clock.monotonic())
                return "slow" if isinstance(error, TimeoutError) else "broken"
            except WrongAnswer:
                # It is up. What people write can make a model fail, and must not shut the gate for others.
                self._circuit.succeeded()
                return "wrong"
            self._circuit.succeeded()
            try:
                return answer_in(completion, len(asked.numbered))
            except WrongAnswer:
                return "wrong"


async def _end(tasks: Iterable[asyncio.Task[Answer | Fallback]]) -> None:
    late = list(tasks)
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late)
