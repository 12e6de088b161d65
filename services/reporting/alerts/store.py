"""Storage of alert rules, alerts and queued messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import asyncpg

from reporting.alerts.decisions import AlertFinding, AlertState, Subject
from reporting.alerts.messages import Announcement
from reporting.alerts.rules import ALERT_RULE, AlertRule
from reporting.model.selection import Project
from reporting.sql import SQL
from reporting.sql.connection import Connection

MOST_RULES: Final = 200
"""Maximum number of rules per project that can be set on the alerts page or through the HTTP API."""
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


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """Announcement that is queued for a channel."""

    id: UUID
    channel: str
    announcement: Announcement
    attempts: int


@dataclass(frozen=True, slots=True)
class ChannelCount:
    """Message counts of a channel. `last_answer` is an HTTP status or the name of an error."""

    waiting: int = 0
    dead: int = 0
    last_answer: str | None = None


async def projects_with_alerts(pool: Any) -> list[Project]:
    """Return the projects that have rules or open alerts."""
    return [Project(**row) for row in await pool.fetch(*SQL.projects_with_alerts())]


async def stored_rules(pool: Any, project: Project) -> list[AlertRule]:
    """Return a project's rules by name.

    Raises:
        pydantic.ValidationError: If this program cannot read one of them, for example one that a newer version stored.
    """
    rows = await pool.fetch(*SQL.list_alert_rules(**project._asdict()))
    return [ALERT_RULE.validate_json(row["rule"]) for row in rows]


async def set_rule(pool: asyncpg.Pool, project: Project, rule: AlertRule, now: int) -> bool:
    """Store a rule, replacing any rule with the same name. Returns False if the project has too many rules."""
    rules = await stored_rules(pool, project)
    if len(rules) >= MOST_RULES and all(stored.name != rule.name for stored in rules):
        return False
    await pool.execute(*SQL.set_alert_rule(**project._asdict(), name=rule.name, rule=rule.model_dump_json(), now=now))
    return True


async def set_rule_channels(
    pool: asyncpg.Pool, project: Project, name: str, channels_of: Callable[[AlertRule], Sequence[str]], now: int
) -> bool:
    """Replace the channels of a stored rule with the result of `channels_of(rule)`.

    The rule is locked meanwhile, so that no concurrent change is lost.

    Returns:
        False if there is no such rule.

    Raises:
        pydantic.ValidationError: If the channels are invalid.
    """
    async with pool.acquire() as connection, connection.transaction():
        stored = await connection.fetchval(*SQL.lock_alert_rule(**project._asdict(), name=name))
        if stored is None:
            return False
        rule = ALERT_RULE.validate_json(stored)
        changed = ALERT_RULE.validate_python({**rule.model_dump(), "channels": channels_of(rule)})
        await connection.execute(
            *SQL.set_alert_rule(**project._asdict(), name=name, rule=changed.model_dump_json(), now=now)
        )
    return True


async def delete_rule(pool: asyncpg.Pool, project: Project, name: str) -> bool:
    """Delete a stored rule. Returns False if there is none."""
    done = await pool.execute(*SQL.delete_alert_rule(**project._asdict(), name=name))
    return not done.endswith(" 0")


async def alert_rows(pool: Any, project: Project) -> list[AlertRow]:
    """Return up to 100 alerts of a project. Open alerts come first, then the most recent ones."""
    return [_alert(row) for row in await pool.fetch(*SQL.list_alerts(**project._asdict(), limit=_SHOWN))]


async def message_counts(pool: Any, project: Project) -> dict[str, ChannelCount]:
    """Return the number of waiting and dead messages of each channel."""
    rows = await pool.fetch(*SQL.count_alert_messages(**project._asdict()))
    return {row["channel"]: ChannelCount(row["waiting"], row["dead"], row["last_answer"]) for row in rows}


class AlertTransaction:
    """Reads and writes the alerts of a project in one transaction."""

    def __init__(self, connection: Connection, project: Project) -> None:
        self._connection = connection
        self._place = project._asdict()

    async def rows(self) -> list[AlertRow]:
        """Return one alert for each rule and subject: the open alert, or the last one if none is open."""
        return [_alert(row) for row in await self._connection.fetch(*SQL.list_alert_states(**self._place))]

    async def open(self, id_: UUID, rule: AlertRule, finding: AlertFinding, title: str, path: str, now: int) -> None:
        values = {
            "rule": rule.name,
            "kind": rule.kind,
            "channels": list(rule.channels),
            "finding": json.dumps(asdict(finding)),
        }
        statement = SQL.open_alert(
            id=id_, **self._place, **values, **finding.subject._asdict(), title=title, path=path, now=now
        )
        await self._connection.execute(*statement)

    async def end(self, row: AlertRow, now: int) -> None:
        await self._connection.execute(*SQL.end_alert(id=row.id, now=now))

    async def announce(self, announcement: Announcement, channels: Sequence[str], now: int) -> None:
        """Queue an announcement for each of the channels."""
        for channel in channels:
            values = {"channel": channel, "key": announcement.key, "message": json.dumps(asdict(announcement))}
            await self._connection.execute(*SQL.add_alert_message(id=uuid4(), **self._place, **values, now=now))


class AlertReceiver(NamedTuple):
    """Channel of a project."""

    channel: str
    tenant: str
    project: str


class AlertMessages:
    """Queue of alert messages."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def due(self, now: int) -> list[AlertReceiver]:
        """Return the channels that have due messages. The channel with the oldest message comes first."""
        return [AlertReceiver(*row) for row in await self._pool.fetch(*SQL.due_alert_receivers(now=now))]

    async def claim(self, of: AlertReceiver, now: int, until: int, limit: int) -> list[WaitingMessage]:
        """Claim up to `limit` due messages of a channel.

        The claim expires at `until`, in microseconds.
        """
        limits = {"now": now, "until": until, "limit": limit}
        rows = await self._pool.fetch(*SQL.claim_alert_messages(**of._asdict(), **limits))
        return [
            WaitingMessage(row["id"], row["channel"], Announcement(**json.loads(row["message"])), row["attempts"])
            for row in rows
        ]

    async def delivered(self, message: WaitingMessage) -> None:
        await self._pool.execute(*SQL.delete_alert_message(id=message.id))

    async def failed(self, message: WaitingMessage, again_at: int | None, answer: str) -> None:
        """Record a failed attempt to send a message.

        Args:
            again_at: Time of the next attempt in microseconds, or None if the message is now dead.
            answer: HTTP status or name of the error.
        """
        statement = SQL.note_alert_failure(
            id=message.id, attempts=message.attempts + 1, next_at=again_at, answer=answer
        )
        await self._pool.execute(*statement)


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
