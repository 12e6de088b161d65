"""Calls that arrive while a request is in flight are sent together in the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servicekit.request_batcher import RequestBatcher


class Oracle:
    """Doubles numbers when it is released; raises on 13."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.may_answer = asyncio.Event()

    async def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.asked.append(list(numbers))
        await self.may_answer.wait()
        if 13 in numbers:
            raise ValueError("13")
        return [2 * number for number in numbers]


async def test_the_first_is_asked_at_once_and_the_others_together() -> None:
    oracle = Oracle()
    ask = RequestBatcher(oracle)
    waiting = [asyncio.create_task(ask(number)) for number in range(5)]
    await asyncio.sleep(0)
    oracle.may_answer.set()
    assert await asyncio.gather(*waiting) == [0, 2, 4, 6, 8]
    late = asyncio.create_task(ask(7))
    assert await late == 14
    assert [number for batch in oracle.asked for number in batch] == [0, 1, 2, 3, 4, 7]
    assert len(oracle.asked) <= 3


async def test_what_is_raised_reaches_those_who_asked_together_and_nobody_else() -> None:
    oracle = Oracle()
    ask = RequestBatcher(oracle, most=2)
    first = asyncio.create_task(ask(1))
    await asyncio.sleep(0)
    others = [asyncio.create_task(ask(number)) for number in (13, 2, 3)]
    await asyncio.sleep(0)
    oracle.may_answer.set()
    results = await asyncio.gather(first, *others, return_exceptions=True)
    failed = {13, 2} if [13, 2] in oracle.asked else {13}
    assert [isinstance(result, ValueError) for result in results] == [n in failed for n in (1, 13, 2, 3)]


async def test_who_gives_up_is_not_asked_for_and_harms_nobody() -> None:
    oracle = Oracle()
    ask = RequestBatcher(oracle)
    first = asyncio.create_task(ask(1))
    while not oracle.asked:
        await asyncio.sleep(0)
    leaving, staying = asyncio.create_task(ask(2)), asyncio.create_task(ask(3))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.sleep(0)
    first.cancel()
    oracle.may_answer.set()
    assert await staying == 6
    assert oracle.asked == [[1], [3]]
    with pytest.raises(asyncio.CancelledError):
        await first


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 12), max_size=60), st.integers(1, 10))
async def test_everybody_gets_their_own_reply_and_no_call_is_too_heavy(numbers: list[int], most: int) -> None:
    oracle = Oracle()
    oracle.may_answer.set()
    ask = RequestBatcher(oracle, most=most, weigh=lambda number: number)
    assert await asyncio.gather(*map(ask, numbers)) == [2 * number for number in numbers]
    assert [number for batch in oracle.asked for number in batch] == numbers
    assert all(len(batch) == 1 or sum(batch) <= most for batch in oracle.asked)
