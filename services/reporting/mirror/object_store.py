"""Client for the object store, which is a directory or an S3-compatible bucket."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from contracts.extras import install_command
from servicekit.errors import StartError

T = TypeVar("T")
SECONDS: Final = 10
"""Time limit of a request in seconds."""
AT_ONCE: Final = 16
"""Maximum number of concurrent requests."""


class Done(NamedTuple):
    """Result of a batch.

    Attributes:
        names: Names of the objects that were written or deleted.
        failure: Kind of the error that ended the batch, or None.
    """

    names: Sequence[str]
    failure: str | None


class ObjectStore:
    """Object store at a URL. Region, endpoint and credentials of a bucket come from the environment (AWS_*)."""

    def __init__(self, url: str) -> None:
        """Create the client without sending a request.

        Raises:
            StartError: If obstore is not installed, or the URL or the AWS_* variables are invalid.
        """
        try:
            import obstore
            from obstore.store import LocalStore, from_url
        except ImportError:
            raise StartError(
                f"ARTIFACT_STORE_URL needs the extra `artifacts`: {install_command('artifacts')}."
            ) from None
        self.url = url.rstrip("/")
        self._obstore: Any = obstore
        try:
            if url.startswith("file:"):
                folder = Path(unquote(urlsplit(url).path))
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # the objects contain people's text
                self._store: Any = LocalStore(folder)
            else:
                self._store = from_url(
                    self.url,
                    client_options={
                        "timeout": f"{SECONDS} seconds",
                        "default_content_type": "application/json",
                        "allow_http": True,  # for AWS_ENDPOINT_URL; Amazon's own endpoint is https
                    },
                    retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=SECONDS)},
                )
        except Exception as error:
            raise StartError(
                f"ARTIFACT_STORE_URL or the variables AWS_* are not usable: {type(error).__name__}."
            ) from None

    async def put(self, objects: Sequence[tuple[str, bytes]]) -> Done:
        """Write objects, given as names and contents, until one fails."""

        async def write(item: tuple[str, bytes]) -> str:
            await self._obstore.put_async(self._store, item[0], item[1], use_multipart=False)
            return item[0]

        return await self._each(objects, write)

    async def get(self, name: str) -> bytes | None:
        """Return the content of an object, or None if it does not exist."""
        try:
            response = await self._obstore.get_async(self._store, name)
        except FileNotFoundError:
            return None
        return bytes(await response.bytes_async())

    async def delete(self, names: Sequence[str]) -> Done:
        """Delete objects until one fails. Missing objects count as deleted."""

        async def remove(name: str) -> str:
            with contextlib.suppress(FileNotFoundError):
                await self._obstore.delete_async(self._store, name)
            return name

        return await self._each(names, remove)

    async def _each(self, things: Sequence[T], work: Callable[[T], Awaitable[str]]) -> Done:
        done: list[str] = []
        for start in range(0, len(things), AT_ONCE):
            answers = await asyncio.gather(*map(work, things[start : start + AT_ONCE]), return_exceptions=True)
            done += [answer for answer in answers if isinstance(answer, str)]
            failures = [answer for answer in answers if isinstance(answer, BaseException)]
            if failures:  # obstore's own messages contain object names and addresses
                return Done(done, type(failures[0]).__name__)
        return Done(done, None)
