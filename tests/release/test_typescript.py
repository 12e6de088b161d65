"""The TypeScript client on Node with the running stack, and the widget as built from its source."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.running_stack import exchange, running_stack
from tests.support.served import served

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "clients" / "typescript"
SERVED = ROOT / "services" / "feedback" / "widget" / "thumbs.min.js"


async def run(*command: str, **environment: str) -> tuple[int, bytes, bytes]:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=FOLDER,
        env=os.environ | environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, trouble = await process.communicate()
    return process.returncode or 0, out, trouble


@pytest.fixture(scope="module")
async def tools() -> None:
    """Download the packages of the lock file once; skip the tests without Node."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("needs Node 20 and npm")
    _, version, _ = await run("node", "--version")
    if int(version.decode().lstrip("v").partition(".")[0]) < 20:
        pytest.skip("needs Node 20")
    with (FOLDER / ".fetching").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if (FOLDER / "node_modules" / ".package-lock.json").exists():
            return
        code, _, trouble = await run("npm", "ci")
        if code:
            pytest.skip(f"npm cannot fetch the packages: {trouble.decode(errors='replace').splitlines()[-1:]}")


async def made(command: Sequence[str]) -> bytes:
    code, out, trouble = await run(*command)
    assert code == 0, (out + trouble).decode()
    return out


async def test_the_served_widget_is_what_its_source_gives(tools: None) -> None:
    assert await made(["npm", "run", "--silent", "widget"]) == SERVED.read_bytes(), "run `make client`"


def test_the_served_widget_is_small() -> None:
    assert len(SERVED.read_bytes()) < 13_500


async def test_the_client_against_the_running_stack(tools: None, postgres_url: str) -> None:
    await made(["npm", "run", "--silent", "build"])
    async with running_stack(postgres_url) as stack, served(stack.app()) as url:
        await stack.publish(*exchange("c/1 node", "t1"))
        await stack.quiet()
        code, out, trouble = await run(
            *("node", "--test", "--test-reporter=tap", "test/client.test.js"),
            URL=url,
            TOKEN="all",  # the test stack's
            CONVERSATION="c/1 node",
        )
    assert code == 0, (out + trouble).decode()[-4_000:]


def test_the_package_has_no_dependency_and_names_no_registry() -> None:
    lock = (FOLDER / "package-lock.json").read_text("utf-8")
    assert '"dependencies"' not in (FOLDER / "package.json").read_text("utf-8")
    assert "registry" not in lock
