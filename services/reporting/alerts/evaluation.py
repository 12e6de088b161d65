"""Periodic evaluation of alert rules, which opens and ends alerts and queues their messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar
from uuid import uuid4

import structlog

from agent_feedback_kit.deadlines import within
from contracts.instants import MINUTE, format_instant
from reporting.alerts.decisions import AlertEvidence, AlertFinding, AlertState, findings
from reporting.alerts.digest import DAYS, digest_of, period_end
from reporting.alerts.evidence import counts_by_day, project_evidence
from reporting.alerts.messages import Announcement, path_of, text_of, title_of
from reporting.alerts.rules import AlertRule, Lag, ProjectRule
from reporting.alerts.settings_file import AlertSettings, DigestSettings
from reporting.alerts.store import AlertRow, AlertTransaction, alert_states, stored_rules
from reporting.queries.selection import Project
from reporting.sql import SQL
from servicekit import Clock, Database

BEHIND: Final = 1_000
"""Maximum number of records waiting in the log. If there are more, the reports are too old to evaluate rules."""
_HEALTH_SECONDS: Final = 5.0
_LETTER_MINUTES: Final = 60
_NEVER: Final = AlertState()
T = TypeVar("T")
log = structlog.get_logger(part="alerts")


class AlertEvaluator:
    """Evaluator of all alert rules, called every minute. Only one process evaluates at a time.

    Args:
        health: Returns the health of all services of the platform. None if this service runs alone.
        waiting: Returns the number of records in the log that this service has not read yet.
    """

    def __init__(
        self,
        pool: Database,
        settings: AlertSettings,
        clock: Clock,
        health: Callable[[], Awaitable[Mapping[str, Any]]] | None,
        waiting: Callable[[], Awaitable[int]],
    ) -> None:
        self._pool = pool
        self._settings = settings
        self._clock = clock
        self._health = health
        self._waiting = waiting
        self._letters: deque[int] = deque([0], maxlen=_LETTER_MINUTES + 1)
        """Total number of dead letters since the start, at each evaluation of the last hour."""
        self._lagging_since: dict[str, int] = {}

    async def evaluate(self) -> None:
        """Evaluate all rules and queue the digests that are due.

        Project rules and digests are skipped while more than BEHIND records are waiting in the log.
        """
        now = self._clock.now() // MINUTE * MINUTE
        platform = self._settings.rules.get(None, ())
        if platform and self._health is not None:
            await self._decide(None, platform, await self._platform_evidence(platform, now))
        if await self._waiting() > BEHIND:
            return
        for at, rules in (await self._project_rules()).items():
            await self._decide(at, rules, await self._read(project_evidence, at, rules, now))
        for at, digest in self._settings.digests.items():
            await self._digest(at, digest, now)

    async def _project_rules(self) -> Mapping[Project, Sequence[ProjectRule]]:
        """Return the rules of each project that has rules or open alerts.

        A rule in the alerts file replaces a stored rule with the same name.
        """
        found: dict[Project, dict[str, Any]] = {
            Project(row["tenant"], row["project"]): {}
            for row in await self._pool.fetch(*SQL.list_alert_places())
            if row["tenant"] is not None
        }
        for at, stored in (await stored_rules(self._pool)).items():
            found.setdefault(at, {}).update({rule.name: rule for rule in stored})
        for place, rules in self._settings.rules.items():
            if place is not None:
                found.setdefault(place, {}).update({rule.name: rule for rule in rules})
        return {at: list(rules.values()) for at, rules in found.items()}

    async def _platform_evidence(self, rules: Sequence[AlertRule], now: int) -> AlertEvidence:
        assert self._health is not None
        health = await within(_HEALTH_SECONDS, self._health())
        lag = sum(health.get("lag", {}).values())
        self._letters.append(sum(health.get("dead_letters", {}).values()))
        for rule in rules:
            if isinstance(rule, Lag):
                if lag > rule.more_than:
                    self._lagging_since.setdefault(rule.name, now)
                else:
                    self._lagging_since.pop(rule.name, None)
        letters = self._letters[-1] - self._letters[0]
        return AlertEvidence(now, dead_letters=letters, lag=lag, lagging_since=self._lagging_since)

    async def _decide(self, at: Project | None, rules: Sequence[AlertRule], evidence: AlertEvidence) -> None:
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(*SQL.lock_alerts())
            alerts = AlertTransaction(connection, at)
            rows = await alerts.rows()
            # An alert that began later, by another process's clock, must not end before its beginning.
            left = {row.id: row for row in rows if row.over_at is None and row.opened_at <= evidence.now}
            for rule in rules:
                states = alert_states(rows, rule)
                for found in findings(rule, evidence, states):
                    if states.get(found.subject, _NEVER).open is None:
                        await self._open(alerts, at, rule, found, evidence.now)
                    held = [row for row in left.values() if (row.rule, row.subject) == (rule.name, found.subject)]
                    for row in held:
                        if row.kind == rule.kind:
                            del left[row.id]
            for row in left.values():
                await self._end(alerts, at, row, evidence.now)

    async def _open(
        self, alerts: AlertTransaction, at: Project | None, rule: AlertRule, found: AlertFinding, now: int
    ) -> None:
        id_, title, path = uuid4(), title_of(rule, found), path_of(rule, at, found)
        await alerts.open(id_, rule, found, title, path, now)
        place = {"tenant": at and at.tenant, "project": at and at.project}
        one = Announcement(
            str(id_),
            "fired",
            title,
            text_of(rule, found),
            self._settings.address + path,
            **place,
            rule=rule.name,
            at=now,
        )
        await alerts.announce(one, await self._channels(at, rule.channels), now)
        log.info("alert_fired", rule=rule.name, kind=rule.kind)

    async def _end(self, alerts: AlertTransaction, at: Project | None, row: AlertRow, now: int) -> None:
        await alerts.end(row, now)
        place = {"tenant": at and at.tenant, "project": at and at.project}
        text = f"It began at {format_instant(row.opened_at)[:16].replace('T', ' ')} UTC."
        link = self._settings.address + row.path
        one = Announcement(str(row.id), "over", row.title, text, link, **place, rule=row.rule, at=now)
        await alerts.announce(one, await self._channels(at, row.channels), now)
        log.info("alert_over", rule=row.rule, kind=row.kind)

    async def _digest(self, at: Project, digest: DigestSettings, now: int) -> None:
        end = period_end(digest.every, now)
        counts = await self._read(counts_by_day, at, 3 * DAYS[digest.every] + 1, now)
        one = digest_of(at, digest.every, end, counts, self._settings.address)
        if one is None:
            return
        async with self._pool.acquire() as connection, connection.transaction():
            alerts = AlertTransaction(connection, at)
            if await alerts.begin_digest(end):
                await alerts.announce(one, digest.channels, now)

    async def _read(self, query: Callable[..., Awaitable[T]], *given: Any) -> T:
        """Run a query that reads many rows.

        The connection's planner settings, which favour index scans, do not apply to it.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            await self._pool.plan_freely(connection)
            return await query(connection, *given)

    async def _channels(self, at: Project | None, named: Sequence[str]) -> list[str]:
        """Return the channels in `named` that still exist."""
        known = {one.settings.name for one in self._settings.channels_of(at)}
        if at is not None and not known.issuperset(named):
            rows = await self._pool.fetch(*SQL.list_alert_channels(tenant=at.tenant, project=at.project))
            known |= {row["name"] for row in rows}
        return [name for name in named if name in known]
