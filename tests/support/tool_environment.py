"""Separate environments for other projects' tools."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("AGENT_FEEDBACK_BRIDGES", ROOT / ".agent-feedback" / "bridges"))
PHOENIX = "arize-phoenix>=20,<21"


async def environment_of(name: str, *requirements: str, bare: Sequence[str] = ()) -> Path:
    """Return the folder with the programs of an environment with `requirements`; created once, which takes minutes.

    The packages in `bare` are installed without their requirements.
    """
    home = FOLDER / name
    if not (home / "complete").exists():
        await finished(sys.executable, "-m", "venv", str(home))
        await finished(str(home / "bin" / "pip"), "install", "-q", *requirements)
        if bare:
            await finished(str(home / "bin" / "pip"), "install", "-q", "--no-deps", *bare)
        (home / "complete").touch()
    return home / "bin"


async def finished(*command: str, **environment: str) -> str:
    """Run a program and return its output; fail if it exits with an error."""
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=os.environ | environment
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()[-3_000:]
    return out.decode()


@asynccontextmanager
async def server(url: str, log: Path, *command: str, ready: int = 200, **environment: str) -> AsyncIterator[None]:
    """Run a program during the block, from the moment that `url` responds with the status `ready`."""
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=out, stderr=out, env=os.environ | environment, cwd=log.parent
        )
    try:
        async with asyncio.timeout(300), httpx.AsyncClient() as http:
            while True:
                assert process.returncode is None, log.read_text()[-3_000:]
                try:
                    if (await http.get(url)).status_code == ready:
                        break
                except httpx.HTTPError:
                    pass
                await asyncio.sleep(0.2)
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
