"""Waiting for servers while other work goes on."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator

import pytest

from servicekit.errors import StartError
from standalone.waiting import Dependency, while_answered


@pytest.fixture(autouse=True)
def logging_afterwards() -> Iterator[None]:
    """Enable the log again, which `while_answered` disables for the rest of a command."""
    yield
    logging.disable(logging.NOTSET)


async def test_a_server_is_not_lost_while_only_this_process_is_busy() -> None:
    async def answers() -> None:
        for _ in range(5):  # round trips
            await asyncio.sleep(0.01)

    async def work() -> str:
        await asyncio.sleep(0.01)
        time.sleep(1.5)  # noqa: ASYNC251 # as a long import
        await asyncio.sleep(0.5)
        return "done"

    needed = [Dependency("database", answers)]
    assert await while_answered(work(), needed, 1.2, StartError, "nothing was done") == "done"


async def test_a_silent_server_ends_the_work() -> None:
    async def answers() -> None:
        await asyncio.Event().wait()

    needed = [Dependency("database", answers)]
    with pytest.raises(StartError, match=r"The database has not answered for 0 s: nothing was done\."):
        await while_answered(asyncio.sleep(60), needed, 0.2, StartError, "nothing was done")
