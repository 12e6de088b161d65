"""Erasure of a person over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.running_stack import RunningStack
from tests.support.waits import PATIENCE_SECONDS


async def erased(stack: RunningStack, user: str, token: str = "all") -> dict[str, Any]:
    """Erase the person; return the status when every service has confirmed it."""
    async with stack.client(token) as http:
        accepted = await http.delete(f"/tenants/acme/users/{user}")
        assert accepted.status_code == 202, accepted.text
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                status = await http.get(accepted.json()["status_url"])
                if status.status_code == 200 and status.json()["complete"]:
                    return dict(status.json())
                await asyncio.sleep(0.05)
