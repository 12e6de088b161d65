"""Deliveries of webhooks in PostgreSQL."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Final

import asyncpg
import pytest

from reporting.outbox.endpoints import EndpointSettings, WebhookEndpoint
from reporting.outbox.handlers import WebhookHandler
from reporting.outbox.payload import WebhookDelivery
from reporting.outbox.store import Count, Deliveries
from servicekit.clock import FixedClock
from servicekit.log.outcome import Outcome
from servicekit.log.records import Coordinates, RawRecord, Received
from tests.support.reporting_events import feedback, feedback_id

NOW: Final = 1_790_000_000_000_000
ONE: Final = WebhookDelivery("hook", "s1", "e1", "feedback.created", 5, "acme", "ann", NOW, '{"n": 1}')


async def claimed(
    deliveries: Deliveries, endpoint: str = "hook", now: int = NOW, limit: int = 10
) -> list[WebhookDelivery]:
    return sorted(await deliveries.claim(endpoint, now, now + 10, limit), key=lambda one: one.subject)


@pytest.mark.parametrize(("revision", "is_newer"), [(6, True), (5, False), (4, False)])
async def test_a_later_revision_replaces_all_of_an_earlier_one(
    read_models: asyncpg.Pool, revision: int, is_newer: bool
) -> None:
    deliveries = Deliveries(read_models)
    await deliveries.add([ONE], NOW - 9)
    await deliveries.failed(replace(ONE, attempts=3), None, "410")
    later = replace(ONE, event_id="e2", revision=revision, user_id="bob", occurred_at=NOW + 1, event='{"n": 2}')
    await deliveries.add([later], NOW)
    assert await claimed(deliveries) == ([later] if is_newer else [])
    dead = {"hook": Count(0, 1, NOW - 9, "410")}
    assert await deliveries.counts("acme") == ({"hook": Count(1, 0, NOW, None)} if is_newer else dead)


async def test_a_delivery_is_claimed_by_one_courier_when_it_is_due(read_models: asyncpg.Pool) -> None:
    deliveries = Deliveries(read_models)
    await deliveries.add([ONE, replace(ONE, endpoint="other")], NOW)
    assert await claimed(deliveries, now=NOW - 1) == []
    assert await claimed(deliveries) == [ONE]
    assert await claimed(deliveries, now=NOW + 9) == [], "another courier has it"
    assert await claimed(deliveries, now=NOW + 10) == [ONE]
    assert await claimed(deliveries, "other") == [replace(ONE, endpoint="other")]


async def test_a_delivery_that_is_being_claimed_is_left_to_the_other_courier(read_models: asyncpg.Pool) -> None:
    deliveries = Deliveries(read_models)
    await deliveries.add([ONE, replace(ONE, subject="s2")], NOW)
    async with read_models.acquire() as connection, connection.transaction():
        await connection.execute("select from deliveries where subject = 's1' for update")
        async with asyncio.timeout(10):
            assert [one.subject for one in await claimed(deliveries)] == ["s2"]


async def test_the_longest_due_is_claimed_first_and_at_most_so_many(read_models: asyncpg.Pool) -> None:
    deliveries = Deliveries(read_models)
    for number, due in enumerate((NOW - 1, NOW - 3, NOW - 2)):
        await deliveries.add([replace(ONE, subject=f"s{number}")], due)
    assert [one.subject for one in await claimed(deliveries, limit=2)] == ["s1", "s2"]


async def test_a_failed_delivery_is_due_again_or_dead_until_it_is_replayed(read_models: asyncpg.Pool) -> None:
    deliveries = Deliveries(read_models)
    await deliveries.add([ONE, replace(ONE, subject="s2"), replace(ONE, tenant="globex", subject="s3")], NOW)
    await deliveries.failed(ONE, NOW + 50, "503")
    await deliveries.failed(replace(ONE, revision=4), None, "an earlier revision")
    await deliveries.failed(replace(ONE, subject="s2"), None, "410")
    assert await deliveries.counts("acme") == {"hook": Count(1, 1, NOW, "503")}, "the answer to the latest attempt"
    assert [one.subject for one in await claimed(deliveries, now=NOW + 49)] == ["s3"]
    [again] = await claimed(deliveries, now=NOW + 50)
    assert again == replace(ONE, attempts=1)
    await deliveries.delivered(replace(again, revision=4))
    assert (await deliveries.counts("acme"))["hook"].waiting == 1, "an earlier revision was delivered"
    assert await deliveries.replay("acme", "other", NOW) == 0
    assert await deliveries.replay("acme", "hook", NOW + 20) == 2
    assert [(one.subject, one.attempts) for one in await claimed(deliveries, now=NOW + 20)] == [("s1", 0), ("s2", 0)]
    await deliveries.delivered(ONE)
    assert await deliveries.counts("acme") == {"hook": Count(1, 0, NOW, "410")}
    assert set(await deliveries.counts("globex")) == {"hook"}


@pytest.mark.parametrize(("ended", "left"), [(("s1", 4), 2), (("s1", 5), 1), (("s1", 6), 1), (("s9", 9), 2)])
async def test_the_end_of_a_subject_drops_its_revisions_so_far(
    read_models: asyncpg.Pool, ended: Any, left: int
) -> None:
    deliveries = Deliveries(read_models)
    await deliveries.add([ONE, replace(ONE, subject="s2")], NOW)
    await deliveries.drop([ended])
    assert (await deliveries.counts("acme"))["hook"].waiting == left


@pytest.mark.parametrize("revisions", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
async def test_of_several_revisions_in_a_batch_the_last_is_delivered(
    read_models: asyncpg.Pool, revisions: tuple[int, ...]
) -> None:
    def hook(name: str, **fields: Any) -> WebhookEndpoint:
        url = "https://hooks.example/"
        settings = EndpointSettings(name=name, url=url, tenant="acme", secrets=["HOOK_SECRET"], **fields)
        return WebhookEndpoint(settings=settings, keys=(b"k" * 24,))

    deliveries = Deliveries(read_models)
    handler = WebhookHandler([hook("hook"), hook("sales", project="sales")], deliveries, FixedClock(NOW))
    events = [feedback("f1", revision=one) for one in revisions]
    events += [feedback("g1", tenant="globex"), feedback("f2", user="bob", at=5)]
    batch: list[Any] = [
        Received(event, RawRecord(Coordinates("feedback.created", 0, at), None, b"", (), event.occurred_at))
        for at, event in enumerate(events)
    ]
    stored, unwanted = Outcome.STORED, Outcome.ignored("no_webhook")
    assert await handler.handle(batch) == [stored, stored, stored, unwanted, stored]
    found = {one.subject: one for one in await claimed(deliveries, now=NOW)}
    assert {subject: (one.revision, one.event_id, one.user_id) for subject, one in found.items()} == {
        str(feedback_id("f1")): (3, "f1-3", "ann"),
        str(feedback_id("f2")): (1, "f2-1", "bob"),
    }
    assert found[str(feedback_id("f2"))].occurred_at == events[-1].occurred_at
    assert await claimed(deliveries, "sales", now=NOW) == []
