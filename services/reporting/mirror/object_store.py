"""The object store: a folder, or a bucket that speaks S3."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from servicekit.errors import StartError

T = TypeVar("T")
SECONDS: Final = 10
"""How long one request may take."""
AT_ONCE: Final = 16
"""Requests at the same time."""


class Done(NamedTuple):
    """Objects handled, and the kind of error that ended the batch; None if all were handled."""

    names: Sequence[str]
    failure: str | None


class ObjectStore:
    """Objects below `url`. The bucket's region, endpoint and credentials come from the environment (AWS_*)."""

    def __init__(self, url: str) -> None:
        """Open the store; nothing is sent yet.

        Raises StartError where obstore is not installed, or `url` or the environment names no store.
        """
        try:
            import obstore
            from obstore.store import LocalStore, from_url
        except ImportError:
            raise StartError(
                "ARTIFACT_STORE_URL needs the extra `artifacts`: pip install 'agent-feedback[artifacts]'."
            ) from None
        self.url = url.rstrip("/")
        self._obstore: Any = obstore
        try:
            if url.startswith("file:"):
                folder = Path(unquote(urlsplit(url).path))
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # what people wrote is for nobody else to read
                self._store: Any = LocalStore(folder)
            else:
                self._store = from_url(
                    self.url,
                    client_options={
                        "timeout": f"{SECONDS} seconds",
                        "default_content_type": "application/json",
                        "allow_http": True,  # AWS_ENDPOINT_URL says which; Amazon's own is https
                    },
                    retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=SECONDS)},
                )
        except Exception as error:
            raise StartError(
                f"ARTIFACT_STORE_URL and the variables AWS_* name no store that can be used: {type(error).__name__}."
            ) from None

    async def put(self, objects: Sequence[tuple[str, bytes]]) -> Done:
        """Write objects by name, up to the first failure."""

        async def write(one: tuple[str, bytes]) -> str:
            await self._obstore.put_async(self._store, one[0], one[1], use_multipart=False)
            return one[0]

        return await self._each(objects, write)

    async def delete(self, names: Sequence[str]) -> Done:
        """Delete objects, up to the first failure; one that is not there is deleted."""

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
            if failures:  # obstore's own messages hold names and addresses
                return Done(done, type(failures[0]).__name__)
        return Done(done, None)
