"""Object stores that tests can switch off and on: a folder, and an S3 server."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.support.tool_environment import FOLDER, finished
from tests.support.waits import PATIENCE_SECONDS

_SERVER = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
_KEY = "agent-feedback-test"


class FolderStore:
    """Store in a folder; while it is down, a file is in the folder's place."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "objects"
        self._aside = folder / "aside"
        self.url = f"file://{self.root}"

    async def down(self) -> None:
        self.root.rename(self._aside)
        self.root.write_text("in the way", "utf-8")

    async def up(self) -> None:
        self.root.unlink()
        self._aside.rename(self.root)

    def objects(self) -> dict[str, bytes]:
        """Return the stored objects by name."""
        return {str(file.relative_to(self.root)): file.read_bytes() for file in self.root.rglob("*") if file.is_file()}


@dataclass
class S3Store:
    """Bucket of a gateway that stores objects as files, so that tests can read them without a client."""

    program: Path
    folder: Path
    port: int
    url: str = "s3://bucket/artifacts"
    _process: asyncio.subprocess.Process | None = field(default=None, init=False)

    async def down(self) -> None:
        assert self._process is not None
        self._process.kill()
        await self._process.wait()

    async def up(self) -> None:
        own = ("--port", f"127.0.0.1:{self.port}", "--access", _KEY, "--secret", _KEY, "--quiet")
        self._process = await asyncio.create_subprocess_exec(
            self.program, *own, "posix", str(self.folder), stdout=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(PATIENCE_SECONDS), httpx.AsyncClient() as http:
            while True:
                try:
                    await http.get(f"http://127.0.0.1:{self.port}/")
                    return
                except httpx.TransportError:
                    await asyncio.sleep(0.05)

    def objects(self) -> dict[str, bytes]:
        """Return the stored objects by name."""
        root = self.folder / "bucket" / "artifacts"
        return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


AnyStore = FolderStore | S3Store


@asynccontextmanager
async def object_store(kind: str, folder: Path) -> AsyncIterator[AnyStore]:
    """Yield an empty store, `folder` or `s3`, and set the environment for access to the bucket."""
    if kind == "folder":
        yield FolderStore(folder)
        return
    (folder / "s3" / "bucket").mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    store = S3Store(await _gateway(), folder / "s3", port)
    await store.up()
    with _environment(port):
        try:
            yield store
        finally:
            await store.down()


@contextmanager
def _environment(port: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        environment.setenv("AWS_ALLOW_HTTP", "true")
        environment.setenv("AWS_REGION", "us-east-1")
        environment.setenv("AWS_ACCESS_KEY_ID", _KEY)
        environment.setenv("AWS_SECRET_ACCESS_KEY", _KEY)
        yield


async def _gateway() -> Path:
    """Return the program, built once by Go from its module proxy; skip the test if Go is missing."""
    program = FOLDER / "versitygw" / "versitygw"
    if not program.exists():
        if shutil.which("go") is None:
            pytest.skip("S3: no Go, which builds the server from its module proxy")
        await finished("go", "install", _SERVER, GOBIN=str(program.parent), GOFLAGS="-mod=mod")
    assert os.access(program, os.X_OK)
    return program
