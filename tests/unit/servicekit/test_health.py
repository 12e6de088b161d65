"""Health of a ready process with warnings for the operator."""

from __future__ import annotations

import httpx
import pytest

from servicekit.web.application import application, guarded
from tests.support.running_stack import Tokens

WARNING = "chat_bridge: 900 records of chat.message.ingested were deleted from the log before they were read"


@pytest.mark.parametrize(
    ("why", "warnings", "status", "body"),
    [
        (None, [], 200, {"status": "ready"}),
        (None, [WARNING], 200, {"status": "ready", "warnings": [WARNING]}),
        ("it waits", [WARNING], 503, {"status": "not ready", "why": "it waits", "warnings": [WARNING]}),
    ],
)
async def test_ready_tells_why_not_and_what_else_to_know(
    why: str | None, warnings: list[str], status: int, body: dict[str, object]
) -> None:
    async def not_ready() -> str | None:
        return why

    transport = httpx.ASGITransport(guarded(application(not_ready, lambda: warnings), Tokens()))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as http:
        answer = await http.get("/health/ready")
    assert (answer.status_code, answer.json()) == (status, body)
