"""Every table with rows about people: an archive has one person's rows, and an erasure leaves those of all others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
import pytest_asyncio

import inference.erasure
from chat_bridge.store import MessageStore
from contracts.erasure import ERASURE_MARGIN, ErasedAt, Erasure, Person
from contracts.instants import format_instant
from feedback.turn_erasures import TurnErasures
from inference.turns.store import TurnIndex
from reporting.read_models.erasure import ReportingErasures
from servicekit.db.database import Database, ErasureLedger
from standalone.programs import PROGRAMS
from tests.support.databases import empty_schema
from tests.support.filled_rows import insert
from tests.support.logs import NOW, example

EVE = Person("acme", "eve")
NAMESAKES = (Person("globex", "eve"), Person("acme", "eva"), Person("acme", "EVE"), Person("acme", "eve "))
"""People that one mistake in a condition would take for EVE."""
LAST = NOW + ERASURE_MARGIN
"""Last moment that an erasure at NOW covers."""
RATING = {"label": "skip", "session_id_opaque": "0" * 64, "source": "api_end", "idempotency_key": None}
ISSUES = count(1)
RowOf = Callable[[Person, int], Mapping[str, Any]]
"""Returns a person's row of a time, in microseconds."""


@dataclass(frozen=True)
class Table:
    """Table of a service. Rows that an erasure leaves `stays`; those up to LAST are covered, or `at_any_time`."""

    row: RowOf
    stays: bool = False
    at_any_time: bool = False
    step: int = 1
    """Resolution of the table's times, in microseconds."""


def named(column: str = "user_id", **more: Any) -> RowOf:
    """Return rows that name their person in a column. The value `at` of another column is the row's time."""
    return lambda person, at: (
        {"tenant": person.tenant, column: person.user_id}
        | {name: at if value == "at" else value for name, value in more.items()}
    )


def message(**more: Any) -> RowOf:
    """Return messages, whose version begins with the time of what they say."""
    return lambda person, at: {**_place(person, at), "version": b"\x01" + at.to_bytes(8, "big") + b"\0", **more}


def _place(person: Person, at: int) -> dict[str, Any]:
    place = {"tenant": person.tenant, "project": "p", "conversation_id": "c1", "sender_id": person.user_id}
    return place | {"message_id": f"{person.user_id} {at}"}


def _turn(person: Person, at: int) -> dict[str, Any]:
    turn = _place(person, at)
    name, who = turn.pop("message_id"), turn.pop("sender_id")
    return turn | {"turn_id": name, "user_message_id": name, "user_id": who, "user_text": "said"}


def _turn_of_expired_messages(person: Person, at: int) -> dict[str, Any]:
    return _turn(person, at) | {"turn_id": f"{person.user_id} {at} alone", "user_message_id": "expired", "at": at}


def _verdict(person: Person, at: int) -> dict[str, Any]:
    return {name: value for name, value in _place(person, at).items() if name != "sender_id"}


def _parked(person: Person, at: int) -> dict[str, Any]:
    said = {"authorId": person.user_id, "tenant": person.tenant, "occurredAt": format_instant(at)}
    row = {"tenant": person.tenant, "topic": "post.commented", "record_key": None, "traceparent": None, "said_at": at}
    return row | {"user_id": person.user_id, "value": example("post.commented", "on_post", **said)}


def _registered(person: Person, at: int) -> dict[str, Any]:
    return {**_place(person, at), "sender_type": "human", "at": at}


def _receipt(person: Person, _: int) -> dict[str, Any]:
    return {"tenant": person.tenant, "receiver": "", "event": json.dumps({"userId": person.user_id})}


def _artifact(person: Person, at: int) -> dict[str, Any]:
    place = {"tenant": person.tenant, "project": "p", "conversation_id": "c1", "state": "current"}
    return place | {"artifact": f"ef:{person.tenant}:p:{person.user_id}:c1:t1:artifact:{at}"}


TABLES: Mapping[str, Table] = {
    "chat_bridge.parked": Table(_parked),
    "feedback.messages": Table(_registered, stays=True),
    "feedback.session_feedback": Table(named("user_id_or_null", **RATING), at_any_time=True),
    "feedback.buckets": Table(named(), at_any_time=True),
    "feedback.erasure_requests": Table(named(), stays=True),
    "feedback.training_choices": Table(named(), stays=True),
    "inference.messages": Table(message(role="human", text="said")),
    "inference.turns": Table(_turn),
    "inference.turns of expired messages": Table(_turn_of_expired_messages),
    "inference.verdicts": Table(_verdict, stays=True),
    "inference.user_reactions": Table(named(at="at")),
    "reporting.messages": Table(message(sender_type="human", content="said")),
    "reporting.feedbacks": Table(named(occurred_at="at", reaction="ok")),
    "reporting.issue_turns": Table(named(occurred_at="at", asker_id="somebody", issue_id=None)),
    "reporting.issue_turns of the asker": Table(named("asker_id", asked_at="at", issue_id=None)),
    "reporting.training_choices": Table(named(), stays=True),
    "reporting.deliveries": Table(named(occurred_at="at", event="{}")),
    "reporting.deliveries of receipts": Table(_receipt, stays=True),  # until the object store has deleted the objects
    "reporting.hosted_artifacts": Table(_artifact, stays=True),  # the mirror deletes them
}
"""Rows of people by table, of docs/data_rights.md. `erasures` are the ledger; `rollups` name nobody."""


def tables_of(service: str) -> Mapping[str, Table]:
    return {name: one for name, one in TABLES.items() if name.startswith(f"{service}.")}


def table_in(name: str) -> str:
    return name.partition(".")[2].partition(" ")[0]


def test_the_table_has_every_place_of_a_subject_access() -> None:
    held = {f"{one.name}.{table}" for one in PROGRAMS for table in one.holds}
    ledgers = {f"{one.name}.erasures" for one in PROGRAMS}
    assert {name.partition(" ")[0] for name in TABLES} == held - ledgers - {"reporting.rollups"}
    assert {f"{one.name}.{table}" for one in PROGRAMS for table in one.leaves} - ledgers <= {
        name for name, one in TABLES.items() if one.stays
    }


@pytest_asyncio.fixture(params=[one.name for one in PROGRAMS])
async def service(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[tuple[str, Database]]:
    async with empty_schema(postgres_url, request.param) as pool:
        yield request.param, pool


async def erase(service: str, pool: Database, erased: ErasedAt) -> None:
    match service:
        case "chat_bridge":
            await MessageStore(pool).erase(erased)
        case "feedback":
            await TurnErasures(pool, lambda person: person.user_id).erase(erased)
        case "inference":
            index = TurnIndex(pool, None)  # type: ignore[arg-type] # no search
            await inference.erasure.erase(pool, index, lambda person: person.user_id, erased)
        case _:
            await ReportingErasures(pool).erase(erased)


async def rows_in(service: str, pool: Database) -> dict[str, set[str]]:
    tables = {table_in(name) for name in tables_of(service)}
    return {table: {row[0] for row in await pool.fetch(f"select t::text from {table} t")} for table in tables}


async def test_an_archive_and_an_erasure_are_about_one_person_of_one_tenant(service: tuple[str, Database]) -> None:
    """In every table: four namesakes, and what the person says a moment after the erasure's margin."""
    name, pool = service
    covered: dict[str, set[str]] = {}
    archived: dict[Person, Counter[str]] = {EVE: Counter(), NAMESAKES[0]: Counter(), Person("acme", "e"): Counter()}
    for place, one in tables_of(name).items():
        table = table_in(place)
        before = (await rows_in(name, pool))[table]
        await insert(pool, table, one.row(EVE, LAST))
        covered[place] = (await rows_in(name, pool))[table] - before
        late = [] if one.stays or one.at_any_time else [one.row(EVE, LAST + one.step)]
        await insert(pool, table, *(one.row(person, NOW) for person in NAMESAKES), *late)
        archived[EVE][table] += 1 + len(late)
        archived[NAMESAKES[0]][table] += 1
    [holds] = [one.holds for one in PROGRAMS if one.name == name]
    for person, counts in archived.items():
        held = {table: await pool.fetch(*select(**person._asdict())) for table, select in holds.items()}
        assert Counter({table: len(rows) for table, rows in held.items()}) == counts, person

    everything = await rows_in(name, pool)
    await ErasureLedger(pool).note([Erasure(EVE, "r", NOW)])
    await erase(name, pool, {EVE: NOW})
    left = await rows_in(name, pool)
    for place, one in tables_of(name).items():
        table = table_in(place)
        assert bool(covered[place] & left[table]) == one.stays, f"{place}: the person's own row"
        own = set().union(*(rows for other, rows in covered.items() if table_in(other) == table))
        assert everything[table] - own <= left[table], f"{place}: rows of others, and later ones"
    for person in (EVE, *NAMESAKES):
        assert len(await pool.fetch(*holds["erasures"](**person._asdict()))) == (person == EVE), person
