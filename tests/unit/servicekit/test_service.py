"""Resources that the parts of a service share or do not share."""

from __future__ import annotations

import asyncio

from contracts.topics import Consumer
from servicekit.service import Periodic, Service, ServiceContext
from tests.support.unit_handlers import NoWork
from tests.support.waits import PATIENCE_SECONDS


async def test_dead_letters_have_a_producer_of_their_own() -> None:
    """A failed producer is replaced. Records that HTTP accepts meanwhile must not be lost with it."""
    service = Service("chat_bridge", ServiceContext("localhost:1"))
    service.consume("chat_bridge", NoWork())
    letters = service.subscriptions[0].delivery._letters
    assert letters is not service.producer
    assert letters is not service.batch_producer


async def test_a_subscription_is_found_by_its_group() -> None:
    service = Service("feedback", ServiceContext("localhost:1"))
    groups: tuple[Consumer, ...] = ("feedback", "feedback_turns")
    for group in groups:
        service.consume(group, NoWork())
    assert [service.subscription(group).group for group in groups] == list(groups)


async def test_woken_work_does_not_wait_for_its_interval() -> None:
    service, runs = Service("feedback", ServiceContext("localhost:1")), asyncio.Queue[None]()
    task = asyncio.create_task(service._run(Periodic("announce", 3_600, lambda: runs.put(None))))
    await runs.get()
    service.wake("announce")
    await asyncio.wait_for(runs.get(), PATIENCE_SECONDS)
    assert runs.empty()
    task.cancel()
