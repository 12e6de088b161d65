"""Timeouts, concerns and database of the connection to MongoDB, none of which a server has to answer for."""

from __future__ import annotations

import pytest
from pymongo import ReadPreference

from feedback.mongo_connection import client_of, database_of
from servicekit import StartError

NOWHERE = "mongodb://127.0.0.1:9"


async def test_each_step_has_its_own_timeout() -> None:
    """A command may take 30 s; a server is found, and connected to, within 5 s."""
    async with client_of(f"{NOWHERE}/?timeoutMS=1&socketTimeoutMS=1&connectTimeoutMS=1") as client:
        pool = client.options.pool_options
        assert client.options.server_selection_timeout == 5
        assert (pool.connect_timeout, pool.socket_timeout, pool.wait_queue_timeout) == (5, 30, 30)
        assert client.options.timeout is None
    async with client_of(NOWHERE, select_seconds=0.25) as client:
        assert client.options.server_selection_timeout == 0.25


async def test_what_is_acknowledged_is_never_rolled_back_whatever_the_url_says() -> None:
    async with client_of(f"{NOWHERE}/?w=1&journal=false&readPreference=secondary&readConcernLevel=local") as client:
        database = database_of(client)
        assert database.write_concern.document == {"w": "majority", "wtimeout": 20_000, "j": True}
        assert database.read_concern.level == "majority"
        assert database.read_preference == ReadPreference.PRIMARY


@pytest.mark.parametrize(("path", "name"), [("", "agent_feedback"), ("/", "agent_feedback"), ("/mine", "mine")])
async def test_the_database_is_the_one_in_the_url(path: str, name: str) -> None:
    async with client_of(NOWHERE + path) as client:
        assert database_of(client).name == name


@pytest.mark.parametrize("url", ["http://127.0.0.1", "mongodb://", "mongodb://h:port"])
def test_an_invalid_url_is_named(url: str) -> None:
    with pytest.raises(StartError, match="is not a valid MongoDB URL"):
        client_of(url)
