"""`agent-feedback up` with an issuer: people with their own tokens, the operator with the printed one."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from standalone.embedded.ports import free_port
from tests.support.command import COMMAND, HANG_SECONDS, state_folder
from tests.support.issuer import issuers_file

EXAMPLE = Path(__file__).parents[2] / "examples" / "issuer.py"


@asynccontextmanager
async def program(
    *arguments: str, stdout: int | None = None, **environment: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *arguments, env={**os.environ, **environment}, stdout=stdout, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        async with asyncio.timeout(20):
            await process.wait()


async def minted(key: Path, *arguments: str) -> dict[str, str]:
    """Return the header with a token of the example issuer."""
    minting = await asyncio.create_subprocess_exec(
        sys.executable, EXAMPLE, "--key", key, "token", *arguments, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await minting.communicate()
    return {"Authorization": f"Bearer {printed.decode().strip()}"}


async def until_ready(http: httpx.AsyncClient, state: Path) -> str:
    """Return the access token of the run when it is ready."""
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            try:
                if (await http.get("/health/ready")).status_code == 200 and (state / "run.json").exists():
                    return str(json.loads((state / "run.json").read_text())["token"])
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)


async def test_people_bring_tokens_of_the_example_issuer(tmp_path: Path) -> None:
    key, keys_port, port = tmp_path / "key.pem", free_port(), free_port()
    ann = await minted(key, "ann", "--tenant", "demo", "--project", "widget")
    keys_url = f"http://127.0.0.1:{keys_port}/jwks.json"
    auth: dict[str, Any] = {"AUTH_ISSUERS": str(issuers_file(tmp_path, "http://127.0.0.1:9100", jwks_url=keys_url))}
    judge = "/conversations/demo/widget/c-1/turns/t-1/feedback"
    async with (
        state_folder() as state,
        program(str(COMMAND), "up", "--port", str(port), "--state", str(state), **auth),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http,
    ):
        operator = {"Authorization": f"Bearer {await until_ready(http, state)}"}
        away = await http.get(judge, headers=ann)
        assert (away.status_code, away.headers["retry-after"]) == (503, "5"), "the issuer does not answer yet"
        assert "issuer" in away.json()["detail"]
        assert (await http.get("/metrics", headers=operator)).status_code == 200
        serve = (sys.executable, str(EXAMPLE), "--key", str(key), "serve", "--port", str(keys_port))
        async with program(*serve, stdout=asyncio.subprocess.PIPE) as serving:
            assert serving.stdout is not None
            async with asyncio.timeout(30):
                assert keys_url in (await serving.stdout.readline()).decode()
                while (own := await http.get(judge, headers=ann)).status_code == 503:
                    await asyncio.sleep(0.2)
            assert own.status_code == 200
            assert (
                await http.post("/conversations/demo/widget/c-1/turns-with-feedbacks", headers=ann, json={})
            ).status_code == 403
            assert (await http.get("/metrics", headers=ann)).status_code == 403
            chat = await minted(key, "chat", "--tenant", "demo", "--project", "widget", "--scope", "ingest")
            event = {
                "topic": "chat.message.ingested",
                "eventId": "e-1",
                "occurredAt": "2026-01-01T10:00:00Z",
                "messageId": "m-1",
                "conversationId": "c-1",
                "turnId": "t-1",
                "senderId": "bot",
                "senderType": "agent",
                "agentId": "bot",
                "content": "It opens at nine.",
            }
            headers = {**chat, "Content-Type": "application/x-ndjson"}
            taken = await http.post("/ingest/demo/widget/events", headers=headers, content=json.dumps(event))
            assert taken.json()["accepted"] == 1
            assert (await http.post(judge, headers=ann, json={"reaction": "ok"})).status_code == 202
            async with asyncio.timeout(20):
                while (await http.get(judge, headers=ann)).json()["reaction"] != "ok":
                    await asyncio.sleep(0.1)
            shown = await http.get("/conversations/demo/widget/feedback/summary", headers=operator)
            assert shown.json()["totals"]["ok"] == 1
