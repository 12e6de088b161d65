"""Batching of concurrent requests.

Requests that arrive while a batch is in flight are sent together in the next one. No request waits for a batch to fill
up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Question = TypeVar("Question")
Reply = TypeVar("Reply")


class RequestBatcher(Generic[Question, Reply]):
    """Callable that collects questions and asks them in batches, one batch at a time and in order of arrival.

    If a batch fails, all of its callers get the exception. A cancelled caller does not affect the others.

    Args:
        ask: The function that answers a batch. It returns one reply per question, in the same order.
        most: The maximum total weight of a batch. A heavier question is sent alone.
        weigh: The weight of a question.
    """

    def __init__(
        self,
        ask: Callable[[Sequence[Question]], Awaitable[Sequence[Reply]]],
        *,
        most: int = 500,
        weigh: Callable[[Question], int] = lambda _: 1,
    ) -> None:
        self._ask = ask
        self._most = most
        self._weigh = weigh
        self._waiting: deque[tuple[Question, asyncio.Future[Reply]]] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def __call__(self, question: Question) -> Reply:
        """Return the reply to `question`. Raises the exceptions of `ask`."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        try:
            while batch := self._next():
                await self._answer(batch)
        finally:
            self._worker = None

    def _next(self) -> list[tuple[Question, asyncio.Future[Reply]]]:
        """Remove and return the questions of the next batch.

        These are the first question and as many more as the limit `most` allows.
        """
        batch: list[tuple[Question, asyncio.Future[Reply]]] = []
        weight = 0
        while self._waiting:
            question, future = self._waiting[0]
            weight += self._weigh(question)
            if batch and weight > self._most:
                break
            self._waiting.popleft()
            if not future.done():
                batch.append((question, future))
        return batch

    async def _answer(self, batch: Sequence[tuple[Question, asyncio.Future[Reply]]]) -> None:
        try:
            replies = await self._ask([question for question, _ in batch])
        except Exception as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
        except BaseException:
            for _, future in batch:
                future.cancel()
            raise
        else:
            for (_, future), reply in zip(batch, replies, strict=True):
                if not future.done():
                    future.set_result(reply)
