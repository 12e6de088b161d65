"""Storage of alert rules, alerts and their messages in PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal
from uuid import UUID, uuid5

import asyncpg
import pytest

from contracts.instants import DAY
from reporting.alerts.administration import AlertAdministration
from reporting.alerts.decisions import AlertFinding, Subject
from reporting.alerts.messages import Announcement
from reporting.alerts.rules import Silence
from reporting.alerts.sending import AlertSender
from reporting.alerts.store import (
    AlertTransaction,
    alert_rows,
    alert_states,
    stored_rules,
)
from reporting.model.selection import Project
from reporting.outbox.endpoints import WebhookEndpoint
from reporting.outbox.handlers import WebhookHandler
from reporting.outbox.payload import OutboxMessage
from reporting.outbox.sending import CheckedHttp
from reporting.outbox.store import Count, Deliveries, Receiver
from reporting.sql import SQL
from servicekit.errors import RequestRefused
from servicekit.log.outcome import Outcome
from servicekit.log.records import Coordinates, RawRecord, Received
from tests.support.hand_clock import FixedClock
from tests.support.reporting_events import feedback, feedback_id
from tests.support.waits import PATIENCE_SECONDS

AT: Final = Project("acme", "support")


ELSEWHERE: Final[Sequence[Project]] = (Project("globex", "support"), Project("acme", "sales"))


NOW: Final = 20_000 * DAY


ALL: Final = Subject()


RULE: Final = Silence(kind="silence", name="quiet", channels=("hook",))


def id_of(name: str) -> UUID:
    return uuid5(UUID(int=0), name)


async def opened(pool: asyncpg.Pool, name: str, at: Project = AT, moment: int = NOW, subject: Subject = ALL) -> UUID:
    """Open an alert of RULE, and return its id."""
    found = AlertFinding(subject, moment - 5, moment, 7, 0.25, 0.5, 0.375, 3)
    async with pool.acquire() as connection:
        await AlertTransaction(connection, at).open(id_of(name), RULE, found, name, f"/{name}", moment)
    return id_of(name)


async def ended(pool: asyncpg.Pool, name: str, at: Project = AT, moment: int = NOW) -> None:
    [row] = [one for one in await alert_rows(pool, at) if one.id == id_of(name)]
    async with pool.acquire() as connection:
        await AlertTransaction(connection, at).end(row, moment)


async def test_the_standing_of_a_rule_is_its_open_alert_or_else_the_last_one(read_models: asyncpg.Pool) -> None:
    for name, over_at in (("first", NOW + 1), ("second", NOW + 9), ("third", NOW + 5)):
        await opened(read_models, name)
        await ended(read_models, name, moment=over_at)
    async with read_models.acquire() as connection:
        [row] = await AlertTransaction(connection, AT).rows()
    assert (row.title, row.over_at) == ("second", NOW + 9)
    standing = alert_states([row], RULE)[Subject()]
    assert (standing.open, standing.ended_at) == (None, NOW + 9)
    await opened(read_models, "fourth")
    async with read_models.acquire() as connection:
        [row] = await AlertTransaction(connection, AT).rows()
    assert (row.title, alert_states([row], RULE)[Subject()]) == ("fourth", (row.finding, 0))
    assert alert_states([row], RULE.model_copy(update={"name": "other"})) == {}


@pytest.mark.parametrize("elsewhere", ELSEWHERE, ids=str)
async def test_each_project_has_its_own_rules_alerts_and_messages(
    read_models: asyncpg.Pool, elsewhere: Project
) -> None:
    clock = FixedClock(NOW)
    sender = AlertSender(read_models, CheckedHttp(), clock)
    administration = AlertAdministration(read_models, read_models, sender, clock)

    async def told(at: Project) -> tuple[Any, ...]:
        rules = await stored_rules(read_models, at)
        async with read_models.acquire() as connection:
            standing = await AlertTransaction(connection, at).rows()
        return rules, standing, await alert_rows(read_models, at), await Deliveries(read_models).counts(*at)

    async def fill(at: Project, name: str) -> None:
        await administration.set_rule(at, RULE.model_copy(update={"hours": len(name), "channels": ()}), "ann")
        await opened(read_models, name, at)
        await announced(read_models, name, at=at)

    await fill(AT, "ours")
    before = await told(AT)
    await fill(elsewhere, "theirs")
    assert await told(AT) == before
    theirs = await told(elsewhere)
    assert [one.title for one in theirs[2]] == ["theirs"]
    assert {tuple(row) for row in await read_models.fetch(*SQL.projects_with_alerts())} == {AT, elsewhere}
    await administration.remove_rule(elsewhere, "quiet", "ann")
    with pytest.raises(RequestRefused, match="no rule"):
        await administration.remove_rule(elsewhere, "quiet", "ann")
    assert await told(AT) == before


async def announced(
    pool: asyncpg.Pool,
    key: str,
    channels: Sequence[str] = ("hook",),
    at: Project = AT,
    moment: int = NOW,
    state: Literal["fired", "over"] = "fired",
) -> None:
    one = Announcement(key, state, key, "", "", at.tenant, at.project, "quiet", moment)
    async with pool.acquire() as connection:
        await AlertTransaction(connection, at).announce(one, channels)


HOOK: Final = Receiver("hook", *AT)


MAIL: Final = Receiver("mail", *AT)

FIRED: Final[Sequence[tuple[str, Literal["fired", "over"]]]] = (("a", "fired"), ("b", "fired"), ("a", "over"))


async def claimed(pool: asyncpg.Pool, now: int, until: int = NOW + 1_000, limit: int = 10) -> list[str]:
    return [one.subject for one in await Deliveries(pool).claim(HOOK, now, until, limit)]


async def test_channels_with_due_messages_are_listed_by_project(read_models: asyncpg.Pool) -> None:
    deliveries = Deliveries(read_models)
    await deliveries.add([ONE], NOW - 9)
    places = [*ELSEWHERE, AT]
    for number, at in enumerate(places):
        await announced(read_models, "a", at=at, moment=NOW - number)
        await announced(read_models, "b", at=at, moment=NOW - number)
    await announced(read_models, "later", ("mail",), moment=NOW + 1)
    expected = [Receiver("hook", at.tenant, at.project) for at in reversed(places)]
    assert await deliveries.due_channels(NOW) == expected
    for receiver in expected:
        assert len(await deliveries.claim(receiver, NOW, NOW + 10, 10)) == 2
    assert await deliveries.due_channels(NOW) == []
    assert await deliveries.due_channels(NOW + 1) == [MAIL]


async def test_the_end_of_a_dead_message_is_sent(read_models: asyncpg.Pool) -> None:
    deliveries = Deliveries(read_models)
    for key, state in FIRED:
        await announced(read_models, key, state=state)
    first = await deliveries.claim(HOOK, NOW, NOW + 10, 10)
    begin = next(one for one in first if one.subject == "a/fired")
    await deliveries.failed(begin, NOW + 5, "503")
    assert await deliveries.counts(*AT) == {"hook": Count(3, 0, NOW, "503")}
    assert await claimed(read_models, NOW + 4) == []
    [again] = await deliveries.claim(HOOK, NOW + 5, NOW + 20, 10)
    assert (again.subject, again.attempts) == ("a/fired", 1)
    await deliveries.failed(again, None, "410")
    assert await deliveries.counts(*AT) == {"hook": Count(2, 1, NOW, "410")}
    assert await claimed(read_models, NOW + 5) == ["a/over"]
    assert await deliveries.counts("acme") == {}, "of endpoints"


# Deliveries of webhooks in PostgreSQL.

DELIVERY_TIME: Final = 1_790_000_000_000_000


ONE: Final = OutboxMessage("hook", "s1", "e1", "feedback.created", 5, "acme", "ann", DELIVERY_TIME, '{"n": 1}')


async def claimed_delivery(
    deliveries: Deliveries, endpoint: str = "hook", now: int = DELIVERY_TIME, limit: int = 10, tenant: str = "acme"
) -> list[OutboxMessage]:
    return sorted(await deliveries.claim(Receiver(endpoint, tenant), now, now + 10, limit), key=lambda one: one.subject)


@pytest.mark.parametrize(("revision", "is_newer"), [(6, True), (5, False), (4, False)])
async def test_a_later_revision_replaces_all_of_an_earlier_one(
    read_models: asyncpg.Pool, revision: int, is_newer: bool
) -> None:
    deliveries = Deliveries(read_models)
    await deliveries.add([ONE], DELIVERY_TIME - 9)
    await deliveries.failed(replace(ONE, attempts=3), None, "410")
    later = replace(
        ONE, event_id="e2", revision=revision, user_id="bob", occurred_at=DELIVERY_TIME + 1, event='{"n": 2}'
    )
    await deliveries.add([later], DELIVERY_TIME)
    assert await claimed_delivery(deliveries) == ([later] if is_newer else [])
    dead = {"hook": Count(0, 1, DELIVERY_TIME - 9, "410")}
    assert await deliveries.counts("acme") == ({"hook": Count(1, 0, DELIVERY_TIME, None)} if is_newer else dead)


async def test_a_delivery_is_claimed_by_one_courier_when_it_is_due(read_models: asyncpg.Pool) -> None:
    deliveries = Deliveries(read_models)
    await deliveries.add([ONE, replace(ONE, receiver="other")], DELIVERY_TIME)
    assert await claimed_delivery(deliveries, now=DELIVERY_TIME - 1) == []
    assert await claimed_delivery(deliveries) == [ONE]
    assert await claimed_delivery(deliveries, now=DELIVERY_TIME + 9) == [], "another courier has it"
    assert await claimed_delivery(deliveries, now=DELIVERY_TIME + 10) == [ONE]
    assert await claimed_delivery(deliveries, "other") == [replace(ONE, receiver="other")]


async def test_a_delivery_that_is_being_claimed_is_left_to_the_other_courier(read_models: asyncpg.Pool) -> None:
    deliveries = Deliveries(read_models)
    await deliveries.add([ONE, replace(ONE, subject="s2")], DELIVERY_TIME)
    async with read_models.acquire() as connection, connection.transaction():
        await connection.execute("select from deliveries where subject = 's1' for update")
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert [one.subject for one in await claimed_delivery(deliveries)] == ["s2"]


async def test_the_longest_due_is_claimed_first_and_at_most_so_many(read_models: asyncpg.Pool) -> None:
    deliveries = Deliveries(read_models)
    for number, due in enumerate((DELIVERY_TIME - 1, DELIVERY_TIME - 3, DELIVERY_TIME - 2)):
        await deliveries.add([replace(ONE, subject=f"s{number}")], due)
    assert [one.subject for one in await claimed_delivery(deliveries, limit=2)] == ["s1", "s2"]


async def test_a_failed_delivery_is_due_again_or_dead_until_it_is_replayed(read_models: asyncpg.Pool) -> None:
    deliveries = Deliveries(read_models)
    await deliveries.add([ONE, replace(ONE, subject="s2"), replace(ONE, tenant="globex", subject="s3")], DELIVERY_TIME)
    await deliveries.failed(ONE, DELIVERY_TIME + 50, "503")
    await deliveries.failed(replace(ONE, revision=4), None, "an earlier revision")
    await deliveries.failed(replace(ONE, subject="s2"), None, "410")
    assert await deliveries.counts("acme") == {"hook": Count(1, 1, DELIVERY_TIME, "503")}, (
        "the answer to the latest attempt"
    )
    assert await claimed_delivery(deliveries, now=DELIVERY_TIME + 49) == []
    assert [one.subject for one in await claimed_delivery(deliveries, tenant="globex")] == ["s3"]
    [again] = await claimed_delivery(deliveries, now=DELIVERY_TIME + 50)
    assert again == replace(ONE, attempts=1)
    await deliveries.delivered(replace(again, revision=4))
    assert (await deliveries.counts("acme"))["hook"].waiting == 1, "an earlier revision was delivered"
    assert await deliveries.replay(Receiver("other", "acme"), DELIVERY_TIME) == 0
    assert await deliveries.replay(Receiver("hook", "acme"), DELIVERY_TIME + 20) == 2
    assert [(one.subject, one.attempts) for one in await claimed_delivery(deliveries, now=DELIVERY_TIME + 20)] == [
        ("s1", 0),
        ("s2", 0),
    ]
    await deliveries.delivered(ONE)
    assert await deliveries.counts("acme") == {"hook": Count(1, 0, DELIVERY_TIME, "410")}
    assert set(await deliveries.counts("globex")) == {"hook"}


@pytest.mark.parametrize(("ended", "left"), [(("s1", 4), 2), (("s1", 5), 1), (("s1", 6), 1), (("s9", 9), 2)])
async def test_the_end_of_a_subject_drops_its_revisions_so_far(
    read_models: asyncpg.Pool, ended: Any, left: int
) -> None:
    deliveries = Deliveries(read_models)
    await deliveries.add([ONE, replace(ONE, subject="s2")], DELIVERY_TIME)
    await deliveries.drop([ended])
    assert (await deliveries.counts("acme"))["hook"].waiting == left


@pytest.mark.parametrize("revisions", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
async def test_of_several_revisions_in_a_batch_the_last_is_delivered(
    read_models: asyncpg.Pool, revisions: tuple[int, ...]
) -> None:
    def hook(name: str, **fields: Any) -> WebhookEndpoint:
        url = "https://hooks.example/"
        return WebhookEndpoint(name=name, url=url, tenant="acme", secrets=["HOOK_SECRET"], **fields)

    deliveries = Deliveries(read_models)
    handler = WebhookHandler([hook("hook"), hook("sales", project="sales")], deliveries, FixedClock(DELIVERY_TIME))
    events = [feedback("f1", revision=one) for one in revisions]
    events += [feedback("g1", tenant="globex"), feedback("f2", user="bob", at=5)]
    batch: list[Any] = [
        Received(event, RawRecord(Coordinates("feedback.created", 0, at), None, b"", (), event.occurred_at))
        for at, event in enumerate(events)
    ]
    stored, unwanted = Outcome.STORED, Outcome.ignored("no_webhook")
    assert await handler.handle(batch) == [stored, stored, stored, unwanted, stored]
    found = {one.subject: one for one in await claimed_delivery(deliveries, now=DELIVERY_TIME)}
    assert {subject: (one.revision, one.event_id, one.user_id) for subject, one in found.items()} == {
        str(feedback_id("f1")): (3, "f1-3", "ann"),
        str(feedback_id("f2")): (1, "f2-1", "bob"),
    }
    assert found[str(feedback_id("f2"))].occurred_at == events[-1].occurred_at
    assert await claimed_delivery(deliveries, "sales", now=DELIVERY_TIME) == []
