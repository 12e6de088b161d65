"""Sessions while the turn registry or the log does not answer."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_feedback_kit.sessions.backend import MemoryBackend
from feedback.sessions import Sessions
from servicekit.clock import SystemClock


class Unanswered:
    """Turn registry that never answers."""

    async def only_tenant(self, conversation_id: str) -> str | None:
        await asyncio.Event().wait()
        return None


async def test_the_tenant_of_a_thread_is_waited_for_half_of_the_time() -> None:
    """The rest is for storing the rating."""
    ratings: Any = MemoryBackend()
    turns: Any = Unanswered()
    sessions = Sessions(turns, ratings, ratings, lambda: None, SystemClock(), seconds=0.2, days=1)
    looking = asyncio.create_task(sessions.tenant_of("c-1"))
    await asyncio.wait({looking}, timeout=0.2)
    assert looking.done() and looking.result() is None
