"""Sessions while the turn registry or the log does not answer."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest

from agent_feedback_kit.sessions.backend import MemoryBackend
from feedback import sessions
from servicekit.clock import SystemClock


class Unanswered:
    """Turn registry that never answers."""

    async def only_tenant(self, conversation_id: str) -> str | None:
        raise AssertionError("it is not awaited")


async def test_the_tenant_of_a_thread_is_waited_for_half_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is for storing the rating."""
    waited = []

    async def within(seconds: float, work: Coroutine[Any, Any, str | None]) -> str | None:
        work.close()
        waited.append(seconds)
        raise TimeoutError

    monkeypatch.setattr(sessions, "within", within)
    ratings: Any = MemoryBackend()
    turns: Any = Unanswered()
    of_service = sessions.Sessions(turns, ratings, ratings, lambda: None, SystemClock(), seconds=0.2, days=1)
    assert await of_service.tenant_of("c-1") is None
    assert waited == [0.1]
