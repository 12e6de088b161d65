"""Consumer groups that are held because our own code keeps failing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servicekit.circuit_breaker import CircuitBreaker
from servicekit.log.health import IN_A_ROW, MOST_BUGS, WINDOW, Breaker
from servicekit.request_batcher import RequestBatcher


def breaker(bugs: int, good: int = 0, *, conversations: int = 2, topic: str = "a") -> Breaker:
    """Return a breaker that has seen `good` records and then `bugs`, none of which follow each other immediately."""
    found = Breaker()
    found.succeeded({topic: good})
    for number in range(bugs):
        found.failed(topic, (str(number % conversations),))
        found.succeeded({topic: 1})
    return found


@pytest.mark.parametrize(
    ("bugs", "conversations", "held"),
    [(MOST_BUGS, 2, False), (MOST_BUGS + 1, 2, True), (MOST_BUGS + 1, 1, False), (WINDOW // 2, 1, False)],
)
def test_more_than_a_tenth_of_the_last_thousand_holds_the_group(bugs: int, conversations: int, held: bool) -> None:
    latest = Breaker()
    latest.succeeded({"a": WINDOW})
    for number in range(bugs - 1):
        latest.failed("a", (str(number % conversations),))
        latest.succeeded({"a": 1})
    latest.failed("a", (str(bugs % conversations),))
    assert latest.held is held


def test_bugs_before_the_last_thousand_do_not_count() -> None:
    latest = breaker(MOST_BUGS)
    latest.succeeded({"a": WINDOW - 150})
    latest.failed("a", ("0",))
    assert not latest.held


@pytest.mark.parametrize(
    ("conversations", "records", "held"), [(2, IN_A_ROW, True), (2, IN_A_ROW - 1, False), (1, 10 * IN_A_ROW, False)]
)
def test_bugs_of_several_conversations_in_a_row_hold_the_group(conversations: int, records: int, held: bool) -> None:
    latest = Breaker()
    for number in range(records):
        latest.failed("a", (str(number % conversations),))
    assert latest.held is held


def test_a_busy_topic_does_not_hide_one_that_always_fails() -> None:
    latest = Breaker()
    for number in range(IN_A_ROW):
        latest.succeeded({"busy": 100})
        latest.failed("rare", (str(number),))
    assert latest.topic == "rare"
    latest.succeeded({"busy": 100})
    assert latest.held, "a success on another topic proves nothing"


def test_a_success_on_the_topic_releases_the_group_and_forgets_its_bugs() -> None:
    latest = Breaker()
    for number in range(IN_A_ROW):
        latest.failed("a", (str(number),))
    latest.succeeded({"a": 1})
    assert not latest.held
    for number in range(IN_A_ROW - 1):
        latest.failed("a", (str(number),))
    assert not latest.held


# Circuit breaker: opening after repeated failures, and retrying.


def test_failures_in_a_row_open_it_and_others_do_not() -> None:
    circuit = CircuitBreaker(3, 30)
    for _ in range(5):
        circuit.failed(0)
        circuit.failed(0)
        circuit.succeeded()
    assert circuit.lets_through(0)
    for _ in range(3):
        assert circuit.lets_through(0)
        circuit.failed(0)
    assert not circuit.lets_through(29.9)


def test_while_open_one_at_a_time_tries_until_one_succeeds() -> None:
    circuit = CircuitBreaker(1, 30)
    circuit.failed(100)
    assert [circuit.lets_through(130) for _ in range(3)] == [True, False, False]
    circuit.failed(133)
    assert not circuit.lets_through(160)
    assert circuit.lets_through(163)
    circuit.succeeded()
    assert [circuit.lets_through(163) for _ in range(3)] == [True, True, True]


def test_a_try_without_a_result_is_followed_by_another() -> None:
    circuit = CircuitBreaker(1, 30)
    circuit.failed(0)
    assert circuit.lets_through(30)
    assert not circuit.lets_through(59)
    assert circuit.lets_through(60)


# Calls that arrive while a request is in flight are sent together in the next one.


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
