"""Health requests to a service during a fault."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import httpx

from proofs.chaos.process import TOKEN
from proofs.chaos.service_faults import Scene


async def readiness(scene: Scene, name: str) -> dict[str, Any]:
    """Return the response of `/health/ready`; empty without one."""
    port = scene.fleet.main[name].port
    headers = {"Authorization": f"Bearer {TOKEN}"}
    try:
        async with httpx.AsyncClient(timeout=3, trust_env=False, headers=headers) as client:
            found: dict[str, Any] = (await client.get(f"http://127.0.0.1:{port}/health/ready")).json()
            return found
    except (httpx.HTTPError, ValueError):
        return {}


async def says(scene: Scene, name: str, true: Callable[[dict[str, Any]], bool], what: str, seconds: float) -> None:
    """Wait until the service's readiness meets a condition; otherwise note an error."""
    deadline, answer = time.monotonic() + seconds, dict[str, Any]()
    while time.monotonic() < deadline:
        answer = await readiness(scene, name)
        if true(answer):
            return
        await asyncio.sleep(0.5)
    scene.wrong.append(f"{name} did not say {what} within {seconds:.0f} s, but {answer}")
