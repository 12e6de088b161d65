"""Errors of a feedback store while its server is down, and its recovery afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import pytest
from bson.errors import InvalidDocument
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    DuplicateKeyError,
    ExecutionTimeout,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
    WriteConcernError,
)

from contracts.erasure import Person
from feedback.mongo_connection import client_of, database_of, transient_as_unavailable, wait_until_up
from feedback.parts import SCHEMA, open_store
from feedback.store import Save, Store
from feedback.store_mongo import MongoStore
from feedback.store_postgres import PostgresStore
from servicekit.db.pools import open_pool
from servicekit.error_kinds import is_transient
from servicekit.errors import StartError, Unavailable
from servicekit.service import Service, ServiceContext
from tests.support.feedback_events import record
from tests.support.mongo_server import ADDRESS
from tests.support.waits import PATIENCE_SECONDS


class Line:
    """Connection to a server that can be cut and restored."""

    def __init__(self, connect: Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]) -> None:
        self._connect = connect
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self.port = 0

    async def mend(self) -> None:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await self._connect()
        self._open |= {writer, back}
        await asyncio.gather(_copy(reader, back), _copy(there, writer))
        self._open -= {writer, back}


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
    target.close()


@asynccontextmanager
async def postgres_on_a_line(url: str) -> AsyncIterator[tuple[Store, Line]]:
    folder, port = (parse_qs(urlsplit(url).query).get(name, [""])[0] for name in ("host", "port"))
    line = Line(lambda: asyncio.open_unix_connection(f"{folder}/.s.PGSQL.{port or 5432}"))
    await line.mend()
    pool = await open_pool(f"postgresql://postgres@127.0.0.1:{line.port}/postgres", "feedback", SCHEMA)
    try:
        yield PostgresStore(pool), line
    finally:
        await pool.close()
        await line.cut()


@asynccontextmanager
async def mongo_on_a_line(url: str) -> AsyncIterator[tuple[Store, Line]]:
    where = urlsplit(url)
    line = Line(lambda: asyncio.open_connection(where.hostname, where.port))
    await line.mend()
    options = "directConnection=true&heartbeatFrequencyMS=500"
    client = client_of(f"mongodb://127.0.0.1:{line.port}/line?{options}", select_seconds=0.5)
    try:
        store = MongoStore(database_of(client))
        await until_it_answers(store)
        await store.make_indexes()
        yield store, line
    finally:
        await client.close()
        await line.cut()


@pytest.fixture(params=["postgres", pytest.param("mongo", marks=pytest.mark.real)])
async def line(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[tuple[Store, Line]]:
    """Yield a store and the connection to its server."""
    if request.param == "mongo":
        if ADDRESS in os.environ:
            pytest.skip("the line leads to one server only")
        async with mongo_on_a_line(request.getfixturevalue("mongo_url")) as found:
            yield found
        return
    async with postgres_on_a_line(postgres_url) as found:
        yield found


async def everything_asked(store: Store) -> list[BaseException | None]:
    """Return the exception that each call to the store raises."""

    async def scan() -> None:
        async for _ in store.scan():
            pass

    async def scan_person() -> None:
        async for _ in store.scan_person(Person("acme", "ann")):
            pass

    calls: list[Awaitable[object]] = [
        store.load([record().feedback_id]),
        store.changes({record().feedback_id: 0}, [], []),
        store.save([Save(record(), 0)]),
        store.count(),
        store.changes({}, [Person("acme", "ann")], []),
        scan(),
        scan_person(),
    ]
    raised: list[BaseException | None] = []
    for call in calls:
        (result,) = await asyncio.gather(call, return_exceptions=True)
        raised.append(result if isinstance(result, BaseException) else None)
    return raised


async def test_a_server_that_is_gone_is_an_outage_whatever_is_asked_and_ends_when_it_is_back(
    line: tuple[Store, Line],
) -> None:
    store, wire = line
    await store.count()
    await wire.cut()
    raised = await everything_asked(store)
    assert [type(error) for error in raised if not isinstance(error, Exception)] == []
    assert [error for error in raised if error is None or not is_transient(error)] == []
    await wire.mend()
    await until_it_answers(store)
    assert (await store.save([Save(record("after"), 0)])).ids == {record("after").feedback_id}


async def until_it_answers(store: Store) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                await store.count()
                return
            except Exception as error:
                assert is_transient(error)


def raised_as(error: PyMongoError) -> type[BaseException]:
    with pytest.raises(BaseException) as caught, transient_as_unavailable():
        raise error
    return type(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        AutoReconnect("gone"),
        NotPrimaryError("election"),
        ExecutionTimeout("slow", 50),
        WriteConcernError("too few", 100),
        OperationFailure("no primary", 10107),
        OperationFailure("retry", 1, {"errorLabels": ["RetryableWriteError"]}),
        BulkWriteError({"writeErrors": [], "writeConcernErrors": [{"code": 64}]}),
        BulkWriteError({"writeErrors": [{"code": 11000}, {"code": 189}], "writeConcernErrors": []}),
    ],
    ids=lambda error: f"{type(error).__name__} {getattr(error, 'code', '')}",
)
def test_what_waiting_may_help_is_an_outage(error: PyMongoError) -> None:
    assert raised_as(error) is Unavailable


@pytest.mark.parametrize(
    "error",
    [
        DuplicateKeyError("there", 11000),
        InvalidDocument("no such type"),
        BulkWriteError({"writeErrors": [{"code": 11000}], "writeConcernErrors": []}),
        BulkWriteError({"writeErrors": [{"code": 189}, {"code": 2}], "writeConcernErrors": []}),
    ],
    ids=lambda error: f"{type(error).__name__} {getattr(error, 'code', '')}",
)
def test_what_waiting_cannot_help_stays_what_it_is(error: PyMongoError) -> None:
    assert raised_as(error) is type(error)


async def test_an_outages_error_quotes_no_document(line: tuple[Store, Line]) -> None:
    store, wire = line
    await wire.cut()
    (error,) = await asyncio.gather(store.save([Save(record(text="secret"), 0)]), return_exceptions=True)
    assert "secret" not in str(error)


def test_an_address_that_is_none_of_mongodbs_is_refused_at_start_without_its_password() -> None:
    with pytest.raises(StartError) as caught:
        client_of("mongodb://ann:hush@[/x")
    assert "hush" not in str(caught.value)


@pytest.mark.real
async def test_what_the_address_asks_for_cannot_weaken_a_promise(mongo_url: str) -> None:
    client = client_of(f"{mongo_url}/?w=0&readPreference=secondary&readConcernLevel=local&journal=false")
    try:
        database = database_of(client)
        assert database.name == "agent_feedback"
        assert database.write_concern.document == {"w": "majority", "j": True, "wtimeout": 20_000}
        assert database.read_concern.level == "majority"
        assert database.read_preference.mongos_mode == "primary"
        await wait_until_up(client, mongo_url)
    finally:
        await client.close()


# The scheme of FEEDBACK_STORE_URL selects the store.


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    service = Service("feedback", ServiceContext(bootstrap="127.0.0.1:1"))
    yield service
    await service.resources.aclose()


@pytest.mark.real
async def test_mongo_with_its_indexes_made_once_and_again(service: Service, mongo_url: str) -> None:
    for _ in range(2):
        store = await open_store(f"{mongo_url}/choice", service)
        assert isinstance(store, MongoStore)
        made = store
    assert set(await made._feedback.index_information()) == {"_id_", "key", "person", "turn"}
    assert (await made._feedback.index_information())["key"]["unique"]
    await made.save([Save(record("chosen"), 0)])
    await made._database.client.drop_database("choice")


async def test_any_other_is_refused_at_start(service: Service) -> None:
    with pytest.raises(StartError, match="mysql://"):
        await open_store("mysql://localhost/x", service)
