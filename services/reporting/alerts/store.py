"""Storage of alert rules and alerts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import asyncpg

from reporting.alerts.decisions import AlertFinding, AlertState, Subject
from reporting.alerts.messages import Announcement
from reporting.alerts.rules import ALERT_RULE, AlertRule
from reporting.model.selection import Project
from reporting.outbox.payload import OutboxMessage
from reporting.outbox.store import Deliveries
from reporting.sql import SQL
from reporting.sql.connection import Connection

_SHOWN: Final = 100


class AlertRow(NamedTuple):
    """Stored alert. Times are in microseconds. `path` is the dashboard page with the alert's turns."""

    id: UUID
    rule: str
    kind: str
    subject: Subject
    opened_at: int
    over_at: int | None
    title: str
    path: str
    channels: Sequence[str]
    finding: AlertFinding


async def stored_rules(pool: Any, project: Project) -> list[AlertRule]:
    """Return a project's rules by name.

    Raises:
        pydantic.ValidationError: If this program cannot read one of them, for example one that a newer version stored.
    """
    rows = await pool.fetch(*SQL.list_alert_rules(**project._asdict()))
    return [ALERT_RULE.validate_json(row["rule"]) for row in rows]


async def alert_rows(pool: Any, project: Project) -> list[AlertRow]:
    """Return up to 100 alerts of a project. Open alerts come first, then the most recent ones."""
    return [_alert(row) for row in await pool.fetch(*SQL.list_alerts(**project._asdict(), limit=_SHOWN))]


class AlertTransaction:
    """Reads and writes the alerts of a project in one transaction."""

    def __init__(self, connection: Connection, project: Project) -> None:
        self._connection = connection
        self._project = project._asdict()

    async def rows(self) -> list[AlertRow]:
        """Return one alert for each rule and subject: the open alert, or the last one if none is open."""
        return [_alert(row) for row in await self._connection.fetch(*SQL.list_alert_states(**self._project))]

    async def open(self, id_: UUID, rule: AlertRule, finding: AlertFinding, title: str, path: str, now: int) -> None:
        values = {
            "rule": rule.name,
            "kind": rule.kind,
            "channels": list(rule.channels),
            "finding": json.dumps(asdict(finding)),
        }
        statement = SQL.open_alert(
            id=id_, **self._project, **values, **finding.subject._asdict(), title=title, path=path, now=now
        )
        await self._connection.execute(*statement)

    async def end(self, row: AlertRow, now: int) -> None:
        await self._connection.execute(*SQL.end_alert(id=row.id, now=now))

    async def announce(self, announcement: Announcement, channels: Sequence[str]) -> None:
        """Queue an announcement for each of the channels. An alert's end is announced after its start."""
        event, key = json.dumps(asdict(announcement)), announcement.key
        deliveries = [
            OutboxMessage(
                receiver=channel,
                subject=f"{key}/{announcement.state}",
                event_id=str(uuid4()),
                topic=f"alert.{announcement.state}",
                revision=0,
                tenant=announcement.tenant,
                user_id=None,
                occurred_at=announcement.at,
                event=event,
                project=announcement.project,
                follows=f"{key}/fired" if announcement.state == "over" else None,
            )
            for channel in channels
        ]
        await Deliveries(self._connection).add(deliveries, announcement.at)


def alert_states(rows: Sequence[AlertRow], rule: AlertRule) -> dict[Subject, AlertState]:
    """Return the state of a rule for each subject that has had an alert."""
    return {
        row.subject: AlertState(row.finding if row.over_at is None else None, row.over_at or 0)
        for row in rows
        if (row.rule, row.kind) == (rule.name, rule.kind)
    }


def _alert(row: asyncpg.Record) -> AlertRow:
    finding, subject = json.loads(row["finding"]), Subject(row["agent"], row["version"], row["issue"])
    return AlertRow(
        row["id"],
        row["rule"],
        row["kind"],
        subject,
        row["opened_at"],
        row["over_at"],
        row["title"],
        row["path"],
        row["channels"],
        AlertFinding(**finding | {"subject": subject}),
    )
