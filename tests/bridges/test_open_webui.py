"""The functions for Open WebUI, in Open WebUI's own loader, store, filters and events, against the running stack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.running_stack import running_stack
from tests.support.served import served
from tests.support.tool_environment import ROOT, environment_of, finished

pytestmark = [pytest.mark.bridges, pytest.mark.timeout(900)]
NEEDED = (
    "aiocache==0.12.3", "aiohttp==3.14.5", "aiosqlite==0.22.1", "alembic==1.18.4", "argon2-cffi==25.1.0",
    "authlib==1.7.2", "bcrypt==5.0.0",
    "beautifulsoup4==4.14.3", "cryptography==48.0.1", "fastapi==0.136.3", "httpx==0.28.1",
    "loguru==0.7.3", "markdown==3.10.2", "orjson==3.11.9", "pydantic==2.13.4", "pyjwt==2.13.0",
    "pillow==13.0.0", "python-mimeparse==2.0.0", "python-multipart==0.0.32",
    "python-socketio==5.16.2", "redis==8.0.1", "requests==2.34.2",
    "sqlalchemy[asyncio]==2.0.50", "validators==0.35.0", "typer", "uvicorn==0.54.0",
)  # fmt: skip
"""What Open WebUI's plugins need of its requirements. All of them are gigabytes, PyTorch among them."""


async def test_open_webui_passes_answers_and_ratings_on(postgres_url: str, tmp_path: Path) -> None:
    programs = await environment_of("open-webui", *NEEDED, bare=("open-webui==0.12.4",))
    async with running_stack(postgres_url) as stack, served(stack.app()) as url:
        run = (str(programs / "python"), str(ROOT / "tests/bridges/run_open_webui.py"), url, str(tmp_path))
        printed = await finished(*run)
        await stack.quiet()
        assert json.loads(printed.splitlines()[-1]) == ["It opens at nine.", "REJECTED"]
        async with stack.client() as http:
            found = await http.post("/conversations/acme/support/feedback/search", json={})
        names = ("conversation_id", "turn_id", "origin", "reaction", "text")
        seen = [tuple(row[name] for name in names) for row in found.json()["items"]]
        assert sorted(row for row in seen if row[2] == "user") == [
            ("open_webui", "a1", "user", "not_ok", "It opens at ten."),
            ("open_webui", "a2", "user", "ok", None),
        ]
        assert [row[:4] for row in seen if row[2] != "user"] == [("open_webui", "a1", "machine", "not_ok")]
        stored = await stack.rows("select content from reporting.messages where conversation_id <> 'open_webui'")
        assert stored == []
