"""Helpers that give feedback and transfer it to other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.support.running_stack import RunningStack
from tests.support.tool_environment import ROOT, finished

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


async def judge(stack: RunningStack, reaction: str | None, **body: Any) -> None:
    async with stack.client("ann") as http:
        address = "/conversations/acme/support/c1/turns/t1/feedback"
        assert (await http.post(address, json={"reaction": reaction} | body)).status_code == 202
    await stack.quiet()


async def carry(name: str, stack: RunningStack, state: Path, url: str, **environment: str) -> str:
    """Return a bridge's output after it has caught up."""
    bridge = ROOT / "examples" / "bridges" / f"{name}.py"
    options = ("--broker", stack.broker.bootstrap, "--state", str(state), "--url", url, "--once")
    return await finished(sys.executable, str(bridge), *options, **environment)
