"""Feedback figures as Prometheus metrics, so that the operator's monitoring can alert on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from contracts.base import Origin
from contracts.instants import DAY, MINUTE
from reporting import metrics
from reporting.figures.rollup_counts import counted_votes, votes
from reporting.figures.votes import Votes
from reporting.model.selection import Filters, TimeSpan
from reporting.read_models.projects import projects
from reporting.sql import SQL
from servicekit.clock import Clock
from servicekit.db.database import Database

MOST_AGENTS: Final = 100
"""Maximum number of agents with metrics. The agents with the most verdicts are chosen."""
MOST_ALERTS: Final = 1_000
"""Maximum number of open alerts with a metric, oldest first."""
_AHEAD: Final = 10 * MINUTE
_GAUGES: Final = (metrics.SATISFACTION, metrics.VERDICTS, metrics.REJECTION_RATE)


class FeedbackMetrics:
    """Gauges with figures of the last 24 hours for the agents with the most verdicts."""

    def __init__(self, pool: Database, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock
        self._shown: set[tuple[str, ...]] = set()
        self._alerts: set[tuple[str, ...]] = set()

    async def update(self) -> None:
        """Read the figures of all projects and the open alerts, and update the gauges."""
        await self._show_alerts()
        now = self._clock.now()
        span = TimeSpan(now - DAY, now + _AHEAD)
        votes_by_agent: dict[tuple[str, str, str], dict[Origin, Votes]] = defaultdict(dict)
        for project in await projects(self._pool):
            for row in await counted_votes(self._pool, votes(project, span, Filters())):
                votes_by_agent[(*project, row.agent_id or "")][row.origin] = row.votes
        self._publish(votes_by_agent)

    async def _show_alerts(self) -> None:
        rows = await self._pool.fetch(*SQL.list_open_alerts(limit=MOST_ALERTS))
        alerts = {tuple("" if value is None else str(value) for value in row) for row in rows}
        for labels in alerts:
            metrics.ALERTS.labels(*labels).set(1)
        for labels in self._alerts - alerts:
            metrics.ALERTS.remove(*labels)
        self._alerts = alerts

    def _publish(self, votes_by_agent: Mapping[tuple[str, str, str], Mapping[Origin, Votes]]) -> None:
        """Set the gauges of the MOST_AGENTS agents with the most verdicts, and remove those of all other agents."""
        ranked = sorted(
            votes_by_agent, key=lambda agent: (-sum(votes.total for votes in votes_by_agent[agent].values()), agent)
        )
        shown: set[tuple[str, ...]] = set()
        for labels in ranked[:MOST_AGENTS]:
            for origin, counted in votes_by_agent[labels].items():
                row: tuple[str, ...] = (*labels, origin)
                shown.add(row)
                for gauge, value in zip(
                    _GAUGES,
                    (counted.ok / counted.total, counted.total, counted.not_ok / counted.total),
                    strict=True,
                ):
                    gauge.labels(*row).set(value)
        for row in self._shown - shown:
            for gauge in _GAUGES:
                gauge.remove(*row)
        self._shown = shown
        metrics.UNLISTED_AGENTS.set(max(0, len(ranked) - MOST_AGENTS))
