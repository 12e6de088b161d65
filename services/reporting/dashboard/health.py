"""Cached health of all services, for the dashboard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from agent_feedback_kit.deadlines import within
from contracts.instants import SECOND
from servicekit import Clock

Health = Callable[[], Awaitable[dict[str, Any]]]
"""Function that returns `{"lag": {group: records}, "parked": events, "dead_letters": {reason: letters},
"warnings": [sentence]}`; any key may be missing."""

_SECONDS = 2.0
_BEHIND = 1_000
log = structlog.get_logger(part="reporting")


@dataclass(frozen=True, slots=True)
class HealthFacts:
    """Health of the platform.

    Attributes:
        known: False if the service runs alone.
        failed: True if the health could not be read.
        lag: Number of waiting records by consumer group, largest first.
        parked: Number of parked events, or None if unknown.
        dead_letters: Number of dead letters by reason, largest first.
    """

    known: bool = True
    failed: bool = False
    lag: dict[str, int] = field(default_factory=dict)
    parked: int | None = None
    dead_letters: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def total_lag(self) -> int:
        return sum(self.lag.values())

    @property
    def total_dead_letters(self) -> int:
        return sum(self.dead_letters.values())

    @property
    def behind(self) -> bool:
        return self.total_lag > _BEHIND


class SharedHealth:
    """Cache of the platform's health, shared by all viewers.

    It is refreshed at most once every `seconds`, by a single request at a time.
    """

    def __init__(self, health: Health | None, clock: Clock, seconds: float = 3.0) -> None:
        self._health = health
        self._clock = clock
        self._microseconds = round(seconds * SECOND)
        self._asked: asyncio.Future[HealthFacts] | None = None
        self._answered_at = 0

    async def facts(self) -> HealthFacts:
        """Return the health of the platform, at most a few seconds old.

        Waits at most two seconds and never raises.
        """
        old = self._clock.now() - self._answered_at
        if self._asked is None or (self._asked.done() and not 0 <= old < self._microseconds):
            self._asked = asyncio.ensure_future(self._ask())
        return await asyncio.shield(self._asked)

    async def _ask(self) -> HealthFacts:
        facts = await health_facts(self._health)
        self._answered_at = self._clock.now()
        return facts


async def health_facts(health: Health | None) -> HealthFacts:
    """Read the health of the platform.

    Waits at most two seconds and never raises. A failure is reported in the result.
    """
    if health is None:
        return HealthFacts(known=False)
    try:
        answer = await within(_SECONDS, health())
        return HealthFacts(
            lag=_counts(answer.get("lag")),
            parked=answer.get("parked"),
            dead_letters=_counts(answer.get("dead_letters")),
            warnings=tuple(map(str, answer.get("warnings", ()))),
        )
    except Exception as error:
        log.warning("health_unknown", error=type(error).__name__)
        return HealthFacts(failed=True)


def _counts(answer: Any) -> dict[str, int]:
    if not isinstance(answer, Mapping):
        return {}
    return dict(sorted(((str(name), int(count)) for name, count in answer.items()), key=lambda one: (-one[1], one[0])))
