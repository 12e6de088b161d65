"""How the platform is, as its composition tells the dashboard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from servicekit.logging import logger

Health = Callable[[], Awaitable[dict[str, Any]]]
"""Gives `{"lag": {group: records}, "parked": events, "dead_letters": {reason: letters}}`; any may be missing."""

_SECONDS = 2.0
_BEHIND = 1_000
log = logger("reporting")


@dataclass(frozen=True, slots=True)
class HealthFacts:
    """`known` is False where nobody tells, `failed` True where whoever tells could not."""

    known: bool = True
    failed: bool = False
    lag: dict[str, int] = field(default_factory=dict)
    parked: int | None = None
    dead_letters: dict[str, int] = field(default_factory=dict)

    @property
    def total_lag(self) -> int:
        return sum(self.lag.values())

    @property
    def total_dead_letters(self) -> int:
        return sum(self.dead_letters.values())

    @property
    def behind(self) -> bool:
        return self.total_lag > _BEHIND


async def health_facts(health: Health | None) -> HealthFacts:
    """What there is to show. Never raises, never waits for more than two seconds."""
    if health is None:
        return HealthFacts(known=False)
    try:
        told = await asyncio.wait_for(health(), _SECONDS)
        return HealthFacts(
            lag=_counts(told.get("lag")), parked=told.get("parked"), dead_letters=_counts(told.get("dead_letters"))
        )
    except Exception as error:
        log.warning("health_unknown", error=type(error).__name__)
        return HealthFacts(failed=True)


def _counts(told: Any) -> dict[str, int]:
    if not isinstance(told, Mapping):
        return {}
    return dict(sorted(((str(name), int(count)) for name, count in told.items()), key=lambda one: (-one[1], one[0])))
