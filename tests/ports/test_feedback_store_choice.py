"""The scheme of FEEDBACK_STORE_URL selects the store."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from feedback.store import Save
from feedback.store_choice import open_store
from feedback.store_mongo import MongoStore
from feedback.store_postgres import PostgresStore
from servicekit.errors import StartError
from servicekit.service import Service, ServiceContext
from tests.support.feedback_events import record


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    service = Service("feedback", ServiceContext(bootstrap="127.0.0.1:1"))
    yield service
    await service.resources.aclose()


async def test_postgres(service: Service, postgres_url: str) -> None:
    store = await open_store(postgres_url, service)
    assert isinstance(store, PostgresStore)


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
