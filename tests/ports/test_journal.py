"""The journal of outcomes in PostgreSQL: its rows per record, whose they are, and what it keeps of a dead letter."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

import chat_bridge.service
from contracts.headers import CAUSE
from contracts.where import FOUND_LIMIT
from servicekit.db.pools import open_pool
from servicekit.log.journal import Journal, JournalingHandler, JournalReader
from servicekit.log.outcome import Outcome
from servicekit.log.records import Coordinates, RawRecord, Received
from servicekit.log.slots import Slot
from tests.support.reporting_events import batch, message

SCHEMA = Path(chat_bridge.service.__file__).parent / "sql" / "schema.sql"
ID = "i" * 1_024


@pytest_asyncio.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    opened = await open_pool(postgres_url, "chat_bridge", SCHEMA, size=2)
    await opened.execute("truncate journal")
    yield opened
    await opened.close()


def record(event: Any, offset: int = 0, topic: str = "feedback.reaction.received", *, cause: str = "") -> Received[Any]:
    named = ((CAUSE, cause.encode()),) if cause else ()
    return Received(event, RawRecord(Coordinates(topic, 0, offset), None, b"", named, event.occurred_at))


def unreadable(value: bytes | None, **headers: str) -> Slot:
    named = tuple((name, text.encode()) for name, text in headers.items())
    raw = RawRecord(Coordinates("chat.message.ingested", 2, 7), None, value, named, 0)
    return Slot(raw, None, Outcome.dead_lettered("invalid_event", "content: field required"))


async def found(
    pool: asyncpg.Pool, project: str = "support", tenant: str = "acme", **given: Sequence[str]
) -> list[Any]:
    asked: dict[str, Sequence[str]] = {"events": (), "messages": (), "causes": ()}
    asked |= given
    return [dict(row) for row in await JournalReader(pool).find(tenant, project, **asked)]


async def test_a_row_names_the_record_its_cause_and_its_outcome_and_holds_no_text(pool: asyncpg.Pool) -> None:
    event = message("m1", content="My number is 555-0100.", conversation="c1")
    await Journal(pool).note([record(event, 5, cause="chat.message.ingested:1:9")], [Outcome.ignored("old")])
    [row] = await found(pool, events=[event.event_id])
    assert row.pop("noted_at") > 0
    assert row == {
        "event_id": event.event_id, "at": "feedback.reaction.received:0:5", "cause": "chat.message.ingested:1:9",
        "conversation_id": "c1", "message_id": "m1", "feedback_id": None, "outcome": "ignored", "reason": "old",
        "detail": "",
    }  # fmt: skip


async def test_a_record_is_found_by_event_message_or_cause_in_its_own_project_only(pool: asyncpg.Pool) -> None:
    own = message("m1")
    others = [message("m1", project="sales"), message("m1", tenant="globex")]
    await Journal(pool).note(
        [record(one, number, cause="chat:0:1") for number, one in enumerate((own, *others))], [Outcome.STORED] * 3
    )
    by_event, by_message = await found(pool, events=[own.event_id]), await found(pool, messages=["m1"])
    for rows in (by_event, by_message, await found(pool, causes=["chat:0:1"])):
        assert [row["event_id"] for row in rows] == [own.event_id]
    assert await found(pool, events=["m1"], messages=[own.event_id], causes=[own.event_id]) == []
    [other] = await found(pool, "sales", messages=["m1"])
    assert other["event_id"] == others[0].event_id


async def test_a_chat_record_is_its_own_cause(pool: asyncpg.Pool) -> None:
    event = message("m1")
    await Journal(pool).note([record(event, 4, "chat.message.ingested", cause="other:0:0")], [Outcome.STORED])
    assert [row["cause"] for row in await found(pool, events=[event.event_id])] == ["chat.message.ingested:0:4"]


@pytest.mark.parametrize("later", [Outcome.UNCHANGED, Outcome.STORED])
async def test_of_a_record_that_comes_again_the_outcome_that_says_most_is_shown(
    pool: asyncpg.Pool, later: Outcome
) -> None:
    event, journal = message("m1"), Journal(pool)
    for outcome in (Outcome.ignored("old"), later):
        await journal.note([record(event)], [outcome])
    rows = await found(pool, events=[event.event_id])
    assert [row["outcome"] for row in rows] == ["ignored" if later is Outcome.UNCHANGED else "stored"]


async def test_at_most_the_limit_is_found_the_latest_first(pool: asyncpg.Pool) -> None:
    journal = Journal(pool)
    events = [message(f"m{number}") for number in range(FOUND_LIMIT + 1)]
    records = [record(event, cause="chat:0:1") for event in events]
    for oldest in records[:2]:
        await journal.note([oldest], [Outcome.STORED])
    await journal.note(records[2:], [Outcome.STORED] * len(records[2:]))
    rows = await found(pool, causes=["chat:0:1"])
    assert len(rows) == 200
    assert rows[-1]["event_id"] == events[1].event_id
    assert events[0].event_id not in {row["event_id"] for row in rows}


async def test_what_waited_is_settled_in_its_own_project(pool: asyncpg.Pool) -> None:
    event = message("m1")
    neighbour = message("m1", tenant="globex").model_copy(update={"event_id": event.event_id})
    journal = Journal(pool)
    await journal.note([record(event), record(neighbour)], [Outcome.parked("original_unknown")] * 2)
    await pool.execute("update journal set noted_at = noted_at - interval '1 day'")
    await journal.settle([(event, "feedback.reaction.received:0:0", Outcome.STORED)])
    [own], [other] = [await found(pool, tenant=tenant, messages=["m1"]) for tenant in ("acme", "globex")]
    assert ((own["outcome"], own["reason"]), other["outcome"]) == (("stored", ""), "parked")
    assert own["noted_at"] - other["noted_at"] >= 24 * 3600 * 1_000_000, "it is settled at its own time"


async def test_each_dead_letter_that_names_its_tenant_is_noted_with_the_ids_it_has(pool: asyncpg.Pool) -> None:
    whole = {"tenant": "acme", "project": "support", "eventId": "e1", "conversationId": "c1", "messageId": "m1"}
    kept: list[tuple[dict[str, Any], tuple[str, str | None, str | None]]] = [
        (whole, ("e1", "c1", "m1")),
        (whole | {"eventId": 7, "messageId": "m2"}, ("", "c1", "m2")),
        (whole | {"eventId": "e3", "messageId": None}, ("e3", "c1", None)),
        (whole | {"eventId": "e4", "conversationId": ID + "i"}, ("e4", None, "m1")),
        (whole | {"eventId": "e5", "conversationId": "a\nb"}, ("e5", None, "m1")),
    ]
    dropped: list[Any] = [
        whole | {"eventId": None, "messageId": None}, whole | {"tenant": None}, whole | {"project": "no such name!"},
        whole | {"tenant": "a" * 65}, [whole], "text", None,
    ]  # fmt: skip
    values = [json.dumps(one).encode() for one in (*(sent for sent, _ in kept), *dropped)]
    hostile = [None, b"", b"{", b"\xff", b"[" * 100_000]
    await Journal(pool).note_refused([unreadable(value) for value in (*values, *hostile)])
    rows = await pool.fetch("select event_id, conversation_id, message_id from journal")
    assert sorted(map(tuple, rows), key=str) == sorted((ids for _, ids in kept), key=str)
    [row] = await found(pool, events=["e1"])
    assert (row["outcome"], row["reason"], row["detail"]) == (
        "dead_lettered", "invalid_event", "content: field required"
    )  # fmt: skip
    assert row["at"] == row["cause"] == "chat.message.ingested:2:7"


async def test_a_journal_that_cannot_be_written_stops_nothing(
    pool: asyncpg.Pool, capsys: pytest.CaptureFixture[str]
) -> None:
    event = message("m1")
    await pool.close()
    journal = Journal(pool)
    await journal.note([record(event)], [Outcome.STORED])
    await journal.settle([(event, "a:0:0", Outcome.STORED)])
    logged = capsys.readouterr()
    assert "journal_not_written" in logged.out + logged.err


class Deciding:
    """Handler that gives each record the outcome that it was told, and remembers what it was asked."""

    takes_tombstones = True

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = outcomes
        self.lost: list[Any] = []

    async def handle(self, batch: Sequence[Any]) -> Sequence[Outcome]:
        return self.outcomes

    async def commit_lost(self, batch: Sequence[Any]) -> None:
        self.lost += batch


@pytest.mark.parametrize(
    ("chosen", "noted"),
    [
        ({}, ["ignored", "stored"]),
        ({"is_noted": lambda _: False}, []),
        ({"is_noted": lambda outcome: outcome.kind == "ignored"}, ["ignored"]),
    ],
)
async def test_a_handler_keeps_its_interface_and_the_chosen_outcomes_are_noted(
    pool: asyncpg.Pool, chosen: dict[str, Any], noted: list[str]
) -> None:
    inner = Deciding(Outcome.STORED, Outcome.ignored("old"), Outcome.dead_lettered("invalid_event"))
    handler = JournalingHandler(inner, Journal(pool), **chosen)  # type: ignore[arg-type]
    records = batch(*(message(f"m{number}") for number in range(3)))
    assert await handler.handle(records) == inner.outcomes
    rows = await pool.fetch("select outcome from journal order by outcome")
    assert [row["outcome"] for row in rows] == noted, "a dead letter is noted once it is written"
    await handler.commit_lost(records)
    assert (handler.takes_tombstones, inner.lost) == (True, records)


async def test_a_record_without_an_event_or_a_project_is_not_noted(pool: asyncpg.Pool) -> None:
    tombstone = record(message("m1"))._replace(event=object())
    await Journal(pool).note([tombstone, object()], [Outcome.STORED, Outcome.STORED])
    assert await pool.fetchval("select count(*) from journal") == 0
