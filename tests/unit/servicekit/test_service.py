"""Resources that the parts of a service share or do not share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from servicekit import metrics
from servicekit.log.handler import ids_of
from servicekit.log.outcome import Outcome, RecordIds
from servicekit.log.records import Received
from servicekit.periodic import Periodic
from servicekit.service import Service, ServiceContext
from tests.support.logs import RecordingLog, example, raw
from tests.support.unit_handlers import NoWork
from tests.support.waits import PATIENCE_SECONDS


async def test_dead_letters_have_a_producer_of_their_own() -> None:
    """A failed producer is replaced. Records that HTTP accepts meanwhile must not be lost with it."""
    service = Service("chat_bridge", ServiceContext("localhost:1"))
    service.consume("chat_bridge", NoWork())
    letters = service.subscriptions[0].delivery.outcomes.producer
    assert letters is not service.producer
    assert letters is not service.batch_producer


async def test_woken_work_does_not_wait_for_its_interval() -> None:
    service, runs = Service("feedback", ServiceContext("localhost:1")), asyncio.Queue[None]()
    task = asyncio.create_task(service.periodics.run(Periodic("announce", 3_600, lambda: runs.put(None))))
    await runs.get()
    service.wake("announce")
    await asyncio.wait_for(runs.get(), PATIENCE_SECONDS)
    assert runs.empty()
    task.cancel()


async def test_a_service_that_is_not_ready_says_which_part_of_it_is_not() -> None:
    service, fails = Service("feedback", ServiceContext("localhost:1")), True

    async def probe() -> None:
        if fails:
            raise OSError("secret")

    service.probe(probe)
    service.consume("feedback", NoWork())
    said = [await service.not_ready()]
    service.started = True
    said.append(await service.not_ready())
    service.subscription("feedback").assigned = True
    said.append(await service.not_ready())
    assert metrics.READY.labels("feedback")._value.get() == 0
    fails = False
    assert await service.not_ready() is None
    assert metrics.READY.labels("feedback")._value.get() == 1
    assert said == [
        "feedback is starting",
        "feedback: the group feedback is not ready: it has no partitions",
        "feedback: its database does not answer (OSError)",
    ]


async def test_a_service_is_told_of_dead_letters_of_a_batch_and_of_late_ones() -> None:
    topic = "chat.message.ingested"
    log, told = RecordingLog(), list[tuple[str, RecordIds | None, Outcome]]()
    service: Any = Service("chat_bridge", ServiceContext("localhost:1", wrap_producer=lambda _: log))

    async def note(letters: Sequence[tuple[str, RecordIds | None, Outcome]]) -> None:
        told.extend(letters)

    async def commit(_: object) -> bool:
        return True

    service.note_dead_letters = note
    service.consume("chat_bridge", NoWork())
    broken = raw(topic, b"{" * 200)
    await service.subscription("chat_bridge").delivery.deliver([broken], commit)
    assert told == [(topic, None, Outcome.dead_lettered("invalid_json"))]

    told.clear()
    late, outcome = raw(topic, example(topic, "least"), 1), Outcome.dead_lettered("original_unknown", "in words")
    received: Any = Received(None, late)  # the event is not read
    await service.late_outcomes("chat_bridge").set_aside([(received, outcome)])
    assert told == [(topic, ids_of(late.value), outcome)]
    assert [message.topic for message in log.messages] == [f"{topic}.dlq"] * 2
