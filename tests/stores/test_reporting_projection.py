"""Any order, duplication or replay of the same announcements gives the same read model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.feedback import FeedbackCreated
from reporting.figures.counts import totals
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.log.records import Received
from tests.support.reporting_database import empty_read_models
from tests.support.reporting_events import Event, batch, feedback, message, reply

_REACTIONS = st.sampled_from(["ok", "not_ok", "neutral", None])


@st.composite
def ledgers(draw: st.DrawFn) -> list[Event]:
    """Generate a log: several revisions of each feedback, each always announced identically, and some messages."""
    events: list[Event] = []
    for name in draw(st.lists(st.sampled_from("abcdef"), unique=True, min_size=1, max_size=5)):
        fixed: dict[str, Any] = {
            "kind": draw(st.sampled_from(["reaction", "explicit", "inferred", "implicit"])),
            "user": draw(st.sampled_from(["ann", "bob"])),
            "turn": draw(st.sampled_from(["t1", "t2"])),
            "conversation": draw(st.sampled_from(["c1", "c2"])),
        }
        for revision in range(1, 1 + draw(st.integers(1, 3))):
            said: dict[str, Any] = {
                "reaction": draw(_REACTIONS),
                "live": draw(st.booleans()),
                "at": draw(st.integers(0, 3)),
            }
            events.append(feedback(f"f{name}", revision=revision, **said, **fixed))
    for name in draw(st.lists(st.sampled_from("xyz"), unique=True, max_size=3)):
        for at in range(draw(st.integers(1, 2))):
            events.append(message(name, content=f"{name} as of {at}", at=at))
        if draw(st.booleans()):
            events.append(message(name, content="in another conversation", conversation="c2"))
        if draw(st.booleans()):
            events.append(reply(name, f"{name} as a reply", at=draw(st.integers(0, 3))))
    return events


def expected_totals(events: list[Event]) -> dict[str, int]:
    """Return the counts by the documented rules, one feedback record after the other."""
    held: dict[UUID, FeedbackCreated] = {}
    for event in events:
        if isinstance(event, FeedbackCreated) and event.feedback_type != "implicit":
            known = held.get(event.feedback_id)
            held[event.feedback_id] = event if known is None or event.revision > known.revision else known
    counted = [event for event in held.values() if event.origin == "machine" and event.reaction]
    people: dict[tuple[str, ...], list[FeedbackCreated]] = {}
    for event in held.values():
        if event.origin == "user" and (event.feedback_type == "explicit" or event.reaction):
            people.setdefault((event.conversation_id, event.turn_id, event.user_id), []).append(event)
    for said in people.values():
        newest = max(said, key=lambda event: (event.occurred_at, event.feedback_id))
        counted += [newest] if newest.reaction else []
    return {
        "reviewer": 0,
        "conversations": len({event.conversation_id for event in counted}),
        "total": len(counted),
        "user": sum(event.origin == "user" for event in counted),
        "machine": sum(event.origin == "machine" for event in counted),
        "ok": sum(event.reaction == "ok" for event in counted),
        "not_ok": sum(event.reaction == "not_ok" for event in counted),
        "neutral": sum(event.reaction == "neutral" for event in counted),
    }


@pytest.fixture(scope="module")
def runner(postgres_url: str) -> Iterator[tuple[asyncio.Runner, asyncpg.Pool]]:
    # Hypothesis drives plain functions, so the database gets a loop of its own.
    with asyncio.Runner() as running:
        opened = empty_read_models(postgres_url)
        pool = running.run(opened.__aenter__())
        yield running, pool
        running.run(opened.__aexit__(None, None, None))


async def _projected(pool: asyncpg.Pool, batches: list[list[Received[Any]]]) -> tuple[Any, Any, dict[str, int]]:
    await pool.execute("truncate feedbacks, messages, exchanges")
    projector = ProjectionHandler(PostgresReadModels(pool))
    for records in batches:
        await projector.handle(records)
    feedbacks = await pool.fetch("select * from feedbacks order by feedback_id")
    messages = await pool.fetch("select * from messages order by conversation_id, message_id")
    shown = [{key: value for key, value in row.items() if key != "written_by"} for row in feedbacks]
    return shown, [dict(row) for row in messages], await totals(pool)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_order_duplication_or_replay_gives_the_same_read_model(
    runner: tuple[asyncio.Runner, asyncpg.Pool], data: st.DataObject
) -> None:
    running, pool = runner
    events = data.draw(ledgers())
    records = batch(*events)
    straight = running.run(_projected(pool, [[record] for record in records]))
    repeated = data.draw(st.permutations(records + data.draw(st.lists(st.sampled_from(records), max_size=5))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(repeated)), max_size=4)))
    batches = [repeated[a:b] for a, b in zip([0, *cuts], [*cuts, len(repeated)], strict=True) if a < b]
    assert running.run(_projected(pool, batches)) == straight
    assert straight[2] == expected_totals(events)
