"""A failed start leaves nothing open, because it may be retried for hours."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_settings import SettingsConfigDict

import servicekit.launcher
from servicekit.definition import Erases, ServiceDefinition
from servicekit.errors import Unavailable
from servicekit.launcher import _started
from servicekit.service import Service
from servicekit.settings import Settings


class SomeSettings(Settings):
    model_config = SettingsConfigDict(env_prefix="SOME_")

    broker: str = "localhost:1"


async def test_what_a_failed_build_has_opened_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    async def no_topics(*_: Any, **__: Any) -> None:
        return None

    async def opens(_: SomeSettings, service: Service) -> None:
        service.resources.callback(closed.append, "pool")
        raise Unavailable("the second database")

    monkeypatch.setattr(servicekit.launcher, "ensure_topics", no_topics)
    with pytest.raises(Unavailable):
        await _started(ServiceDefinition("chat_bridge", SomeSettings, opens, Erases("nothing")))
    assert closed == ["pool"]
