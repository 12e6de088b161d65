"""Guarded writes: none of an erased person's words is written, and an erasure waits for writes in progress."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, NamedTuple, cast

import pytest

from chat_bridge.model import ParkedEvent, ParkedKey
from chat_bridge.model import indexed as bridged
from chat_bridge.store import MessageStore
from contracts.detectors import DetectorVersion
from contracts.erasure import Erasure, Person
from contracts.message_fields import MessageKey
from contracts.versions import version_of
from detector.encoders.embedder import WordLlamaEmbedder
from feedback.registry import PostgresRegistry, registered
from feedback.store import Save
from feedback.store_postgres import PostgresStore
from inference.handlers import indexed
from inference.store import ConversationStore
from inference.turns.facts import facts_of
from inference.turns.store import TurnIndex
from inference.turns.vectors import TurnVectors
from reporting.model.projection import message_row
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.db.database import Database
from servicekit.log.handler import PersonErased, guarded
from tests.support.command import HANG_SECONDS
from tests.support.databases import OneConnection, empty_schema
from tests.support.feedback_events import record
from tests.support.reporting_events import message

EVE, BOB = Person("acme", "eve"), Person("acme", "bob")
SAID = message("m1", sender="eve")
WAITS = "select exists (select from pg_locks where relation = 'erasures'::regclass and not granted)"


class Guarded(NamedTuple):
    """A guarded write of Eve's message: its pool, the write on a pool or connection, and the table that gets it."""

    pool: Database
    write: Callable[[Any], Awaitable[object]]
    table: str

    async def rows(self) -> int:
        return int(await self.pool.fetchval(f"select count(*) from {self.table}"))


class OnConnection:
    """Stand-in for a pool, whose calls run on one connection."""

    call, batched = staticmethod(Database.call), Database.batched

    def __init__(self, connection: Any) -> None:
        self.fetch = connection.fetch


@pytest.fixture(
    params=["messages of the bridge", "messages of inference", "turns of inference", "read models", "message registry"]
)
async def write(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[Guarded]:
    vectors = TurnVectors(WordLlamaEmbedder())

    async def project(pool: Any) -> None:
        one: Any = pool if hasattr(pool, "acquire") else OneConnection(pool)
        await PostgresReadModels(one).apply([message_row(SAID)])

    async def take(pool: Any) -> None:
        await TurnIndex(pool, vectors).take([facts_of(SAID, version_of(SAID))], [], DetectorVersion(1, 0, "00000000"))

    async def register(pool: Any) -> None:
        connection = pool if isinstance(pool, Database) else OnConnection(pool)
        await PostgresRegistry(cast("Database", connection)).add([registered(SAID)])

    writes: dict[str, tuple[str, Callable[[Any], Awaitable[object]], str]] = {
        "messages of the bridge": (
            "chat_bridge",
            lambda pool: MessageStore(pool).index([bridged(SAID, "acme", "support", version_of(SAID))]),
            "messages",
        ),
        "messages of inference": (
            "inference",
            lambda pool: ConversationStore(pool).index([indexed(SAID)]),
            "messages",
        ),
        "turns of inference": ("inference", take, "turns"),
        "message registry": ("feedback", register, "messages"),
        "read models": ("reporting", project, "messages"),
    }
    schema, call, table = writes[request.param]
    async with AsyncExitStack() as parts:
        pool = await parts.enter_async_context(empty_schema(postgres_url, schema))
        await call(pool)  # creates the function
        await pool.execute(f"delete from {table}")
        yield Guarded(pool, call, table)


async def waiting(pool: Database) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not await pool.fetchval(WAITS):
            await asyncio.sleep(0.01)


async def test_a_write_of_an_erased_persons_words_fails(write: Guarded) -> None:
    await write.pool.ledger.note([Erasure(EVE, "q", 1)])
    with pytest.raises(PersonErased), guarded([BOB, EVE]):
        await write.write(write.pool)
    assert await write.rows() == 0


@pytest.mark.parametrize("people", [[], [BOB], [Person("globex", "eve")]], ids=["unguarded", "others", "elsewhere"])
async def test_a_write_of_other_peoples_words_succeeds(write: Guarded, people: list[Person]) -> None:
    await write.pool.ledger.note([Erasure(EVE, "q", 1)])
    with guarded(people):
        await write.write(write.pool)
    assert await write.rows() == 1


async def test_a_write_sees_an_erasure_that_is_committed_while_it_waits(write: Guarded) -> None:
    async with write.pool.acquire() as other:
        noting = other.transaction()
        await noting.start()
        await other.execute("insert into erasures values ('acme', 'eve', 'q', 1)")
        with guarded([EVE]):
            writing = asyncio.ensure_future(write.write(write.pool))
        await waiting(write.pool)
        await noting.commit()
    with pytest.raises(PersonErased):
        await writing
    assert await write.rows() == 0


async def test_an_erasure_waits_for_a_write_in_progress_and_finds_its_rows(write: Guarded) -> None:
    async with write.pool.acquire() as connection:
        writing = connection.transaction()
        await writing.start()
        with guarded([EVE]):
            await write.write(connection)
        noting = asyncio.create_task(write.pool.ledger.note([Erasure(EVE, "q", 1)]))
        await waiting(write.pool)
        await writing.commit()
    assert await noting == {EVE}
    assert await write.rows() == 1


async def test_an_erasure_waits_for_a_save_of_feedback_and_finds_its_records(postgres_url: str) -> None:
    said = record(user="eve")
    async with empty_schema(postgres_url, "feedback") as pool:
        store = PostgresStore(pool)
        await store.save([], [EVE])  # creates the function
        async with pool.acquire() as connection:
            writing = connection.transaction()
            await writing.start()
            saving = PostgresStore(cast("Database", OnConnection(connection)))
            assert await saving.save([Save(said, 0)], [EVE]) == ({said.feedback_id}, {})
            noting = asyncio.create_task(store.note_erasures([Erasure(EVE, "q", 1)]))
            await waiting(pool)
            await writing.commit()
        assert await noting == {EVE}
        assert [page async for page in store.scan_person(EVE)] == [[said]]


@pytest.mark.parametrize("step", ["find", "park"])
async def test_the_bridge_neither_reads_for_nor_parks_an_erased_persons_event(postgres_url: str, step: str) -> None:
    key = MessageKey("acme", "support", "c1", "m1")
    parked = ParkedEvent(ParkedKey("acme", "support", "t", "e"), key, b"k", b"{}", "t:0:1", None, "eve", 1, 1, 1)
    given = {"find": [key], "park": [parked]}
    async with empty_schema(postgres_url, "chat_bridge") as pool:
        call = getattr(MessageStore(pool), step)
        await pool.ledger.note([Erasure(EVE, "q", 1)])
        with guarded([EVE]), pytest.raises(PersonErased):
            await call(given[step])
        assert await pool.fetchval("select count(*) from parked") == 0
        with guarded([BOB]):
            assert await call(given[step]) is not None
