"""The connection to MongoDB, and the promises that it is opened with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from bson.binary import UuidRepresentation
from bson.codec_options import CodecOptions
from pymongo import AsyncMongoClient, ReadPreference
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ConfigurationError, InvalidURI, OperationFailure
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from feedback.mongo_failures import told_apart
from servicekit.db.pools import COMMAND_SECONDS, shown
from servicekit.errors import StartError, Unavailable

Client = AsyncMongoClient[dict[str, Any]]
_SELECT_SECONDS = 5.0
_MAJORITY_SECONDS = 20.0
_DEFAULT_DATABASE = "agent_feedback"
_REFUSED = {11, 13, 18}
"""UserNotFound, Unauthorized, AuthenticationFailed."""


def client_of(url: str, select_seconds: float = _SELECT_SECONDS) -> Client:
    """A client for `url`, not connected yet. A command that takes longer than COMMAND_SECONDS counts as an outage.

    Each step has its own limit: under one limit for the whole (`timeoutMS`), PyMongo tries again by itself until it
    is over, and whoever waits learns of an outage that much later.

    Raises StartError where the address is none of MongoDB's.
    """
    try:
        return AsyncMongoClient(
            url,
            appname="agent-feedback",
            serverSelectionTimeoutMS=int(select_seconds * 1_000),
            connectTimeoutMS=int(_SELECT_SECONDS * 1_000),
            socketTimeoutMS=int(COMMAND_SECONDS * 1_000),
            waitQueueTimeoutMS=int(COMMAND_SECONDS * 1_000),
            timeoutMS=None,
        )
    except (InvalidURI, ConfigurationError, ValueError) as error:
        raise StartError(f"{shown(url)} is no address of a MongoDB: {type(error).__name__}.") from None


def database_of(client: Client) -> AsyncDatabase[dict[str, Any]]:
    """The database that the address names, or `agent_feedback`, whatever else the address asks for.

    What is acknowledged is in the journals of a majority, and what is read is what a majority holds: neither can be
    rolled back when the primary changes.
    """
    return client.get_default_database(_DEFAULT_DATABASE).with_options(
        codec_options=CodecOptions(uuid_representation=UuidRepresentation.STANDARD),
        read_preference=ReadPreference.PRIMARY,
        read_concern=ReadConcern("majority"),
        write_concern=WriteConcern("majority", wtimeout=int(_MAJORITY_SECONDS * 1_000), j=True),
    )


async def wait_until_up(client: Client, url: str, say: Callable[[str], None] = lambda _: None) -> None:
    """Wait as long as the server does not answer, and say so every few seconds.

    Raises StartError where it refuses the user.
    """
    tries = 0
    while True:
        try:
            with told_apart():
                await database_of(client).command("ping")
                return
        except Unavailable as error:
            if isinstance(error.__cause__, OperationFailure) and error.__cause__.code in _REFUSED:
                raise StartError(f"The MongoDB at {shown(url)} refuses the user or password.") from None
            if tries % 5 == 0:
                say(f"Waiting for the MongoDB at {shown(url)} ({error.__cause__.__class__.__name__}) ...")
            tries += 1
            await asyncio.sleep(1)
