"""MongoDB connection with timeouts, and with majority read and write concerns."""

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

from feedback.mongo_errors import transient_as_unavailable
from servicekit.errors import StartError, Unavailable

Client = AsyncMongoClient[dict[str, Any]]
_SELECT_SECONDS = 5.0
_COMMAND_SECONDS = 30.0
_MAJORITY_SECONDS = 20.0
_DEFAULT_DATABASE = "agent_feedback"
_REFUSED = {11, 13, 18}
"""Error codes of rejected credentials: UserNotFound, Unauthorized, AuthenticationFailed."""


def client_of(url: str, select_seconds: float = _SELECT_SECONDS) -> Client:
    """Return an unconnected client for a MongoDB URL.

    Each step has its own timeout, and a command that takes more than 30 s counts as an outage. With a single timeout
    for the whole operation (`timeoutMS`), PyMongo would keep retrying until it expires, and report outages late.

    Raises:
        StartError: The URL is invalid.
    """
    try:
        return AsyncMongoClient(
            url,
            appname="agent-feedback",
            serverSelectionTimeoutMS=int(select_seconds * 1_000),
            connectTimeoutMS=int(_SELECT_SECONDS * 1_000),
            socketTimeoutMS=int(_COMMAND_SECONDS * 1_000),
            waitQueueTimeoutMS=int(_COMMAND_SECONDS * 1_000),
            timeoutMS=None,
        )
    except (InvalidURI, ConfigurationError, ValueError) as error:
        raise StartError(f"{url} is not a valid MongoDB URL: {type(error).__name__}.") from None


def database_of(client: Client) -> AsyncDatabase[dict[str, Any]]:
    """Return the database named in the URL, or `agent_feedback`.

    The URL's read and write options are overridden. A write is acknowledged after a majority of the servers has written
    it to their journals. A read returns only data that a majority has stored. Neither can be rolled back when the
    primary changes.
    """
    return client.get_default_database(_DEFAULT_DATABASE).with_options(
        codec_options=CodecOptions(uuid_representation=UuidRepresentation.STANDARD),
        read_preference=ReadPreference.PRIMARY,
        read_concern=ReadConcern("majority"),
        write_concern=WriteConcern("majority", wtimeout=int(_MAJORITY_SECONDS * 1_000), j=True),
    )


async def wait_until_up(client: Client, url: str, say: Callable[[str], None] = lambda _: None) -> None:
    """Wait until the server responds.

    Args:
        say: Called with the reason for waiting, every few seconds.

    Raises:
        StartError: The server rejects the user or the password.
    """
    tries = 0
    while True:
        try:
            with transient_as_unavailable():
                await database_of(client).command("ping")
                return
        except Unavailable as error:
            if isinstance(error.__cause__, OperationFailure) and error.__cause__.code in _REFUSED:
                raise StartError(f"The MongoDB at {url} rejects the user or password.") from None
            if tries % 5 == 0:
                say(f"Waiting for the MongoDB of the feedback store ({error.__cause__.__class__.__name__}) ...")
            tries += 1
            await asyncio.sleep(1)
