"""A start that fails half way leaves nothing open: it is tried again, maybe for hours."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_settings import SettingsConfigDict

import servicekit.launcher
from servicekit.errors import Unavailable
from servicekit.launcher import Program, _started
from servicekit.service import Service, ServiceContext
from servicekit.settings import Settings


class SomeSettings(Settings):
    model_config = SettingsConfigDict(env_prefix="SOME_")

    broker: str = "localhost:1"


async def test_what_a_failed_build_has_opened_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    async def no_topics(*_: Any, **__: Any) -> None:
        return None

    async def build(_: SomeSettings, context: ServiceContext) -> Service:
        service = Service("chat_bridge", context)
        service.resources.callback(closed.append, "pool")
        raise Unavailable("the second database")

    monkeypatch.setattr(servicekit.launcher, "ensure_topics", no_topics)
    with pytest.raises(Unavailable):
        await _started(Program("chat_bridge", SomeSettings, build))
    assert closed == ["pool"]
