"""Periodic evaluation of alert rules, which opens and ends alerts and queues their messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import uuid4

import structlog

from contracts.instants import MINUTE, format_instant
from reporting import metrics
from reporting.alerts.channels import stored_channels
from reporting.alerts.decisions import AlertEvidence, AlertFinding, AlertState, findings
from reporting.alerts.evidence import project_evidence
from reporting.alerts.messages import Announcement, path_of, text_of, title_of
from reporting.alerts.rules import AlertRule
from reporting.alerts.store import AlertRow, AlertTransaction, alert_states, stored_rules
from reporting.model.selection import Project
from reporting.sql import SQL
from servicekit.clock import Clock
from servicekit.db.database import Database

BEHIND: Final = 1_000
"""Maximum number of records waiting in the log. If there are more, the reports are too old to evaluate rules."""
_NEVER: Final = AlertState()
log = structlog.get_logger(part="alerts")


class AlertEvaluator:
    """Evaluator of all alert rules, called every minute. Only one process evaluates at a time.

    Args:
        waiting: Returns the number of records in the log that this service has not read yet.
    """

    def __init__(self, pool: Database, clock: Clock, waiting: Callable[[], Awaitable[int]]) -> None:
        self._pool = pool
        self._clock = clock
        self._waiting = waiting

    async def evaluate(self) -> None:
        """Evaluate the rules of all projects, unless more than BEHIND records are waiting in the log.

        A project whose rules cannot be read, or whose queries fail, is skipped: none of its alerts opens or ends.
        """
        now = self._clock.now() // MINUTE * MINUTE
        if await self._waiting() > BEHIND:
            return
        for row in await self._pool.fetch(*SQL.projects_with_alerts()):
            project = Project(**row)
            try:
                rules = await stored_rules(self._pool, project)
                async with self._pool.acquire() as connection:
                    evidence = await project_evidence(connection, project, rules, now)
                await self._decide(project, rules, evidence)
            except Exception as error:
                metrics.ALERT_EVALUATION_FAILURES.inc()
                # Only the kind of the error, because the text of a ValidationError quotes the rule.
                log.error("alert_evaluation_failed", **project._asdict(), error=type(error).__name__)

    async def _decide(self, project: Project, rules: Sequence[AlertRule], evidence: AlertEvidence) -> None:
        """Open and end the alerts of a project."""
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(*SQL.lock_alerts())
            alerts = AlertTransaction(connection, project)
            rows = await alerts.rows()
            names = {channel.name for channel in await stored_channels(connection, project)}
            # An alert that began later, by another process's clock, must not end before its beginning.
            left = {row.id: row for row in rows if row.over_at is None and row.opened_at <= evidence.now}
            for rule in rules:
                states = alert_states(rows, rule)
                for finding in findings(rule, evidence, states):
                    if states.get(finding.subject, _NEVER).open is None:
                        await _open(alerts, project, rule, finding, names, evidence.now)
                    key = (rule.name, rule.kind, finding.subject)
                    left = {id_: row for id_, row in left.items() if (row.rule, row.kind, row.subject) != key}
            for row in left.values():
                await _end(alerts, project, row, names, evidence.now)


async def _open(
    alerts: AlertTransaction, project: Project, rule: AlertRule, finding: AlertFinding, channels: set[str], now: int
) -> None:
    id_, title, path = uuid4(), title_of(rule, finding), path_of(rule, project, finding)
    await alerts.open(id_, rule, finding, title, path, now)
    text = text_of(rule, finding)
    announcement = Announcement(str(id_), "fired", title, text, path, *project, rule=rule.name, at=now)
    await alerts.announce(announcement, [name for name in rule.channels if name in channels])
    log.info("alert_fired", rule=rule.name, kind=rule.kind)


async def _end(alerts: AlertTransaction, project: Project, row: AlertRow, channels: set[str], now: int) -> None:
    await alerts.end(row, now)
    text = f"It began at {format_instant(row.opened_at)[:16].replace('T', ' ')} UTC."
    announcement = Announcement(str(row.id), "over", row.title, text, row.path, *project, rule=row.rule, at=now)
    await alerts.announce(announcement, [name for name in row.channels if name in channels])
    log.info("alert_over", rule=row.rule, kind=row.kind)
