"""A deadline for work that may ignore its cancellation."""

from __future__ import annotations

import asyncio

import pytest

from agent_feedback_kit import deadlines
from agent_feedback_kit.deadlines import within


async def test_the_result_and_the_error_of_work_in_time_are_its_own() -> None:
    assert await within(None, asyncio.sleep(0, "done")) == "done"
    assert await within(5, asyncio.sleep(0, "done")) == "done"
    with pytest.raises(ZeroDivisionError):
        await within(5, fails())


async def test_abandoned_work_is_held_until_it_ends_and_its_error_is_never_reported() -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    release = asyncio.Event()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await release.wait()
            raise ZeroDivisionError from None

    with pytest.raises(TimeoutError):
        await within(0.01, stubborn())
    [task] = deadlines._abandoned
    release.set()
    await asyncio.wait({task})
    await asyncio.sleep(0)
    assert deadlines._abandoned == set()
    del task
    assert reported == []


async def fails() -> None:
    raise ZeroDivisionError
