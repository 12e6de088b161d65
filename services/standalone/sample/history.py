"""History of the sample: HTTP judgements, session ratings, random reviews, changes to issues, and alerts.

Issues and alerts are created by the services' own code, with times within the month of the sample. The history is
written once per state folder (decision 123).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple
from uuid import UUID

from agent_feedback_kit.sessions.record import opaque
from contracts.feedback import FeedbackExplicitReceived, FeedbackSessionCreated
from contracts.ids import derived_id
from contracts.instants import DAY, MINUTE
from contracts.topics import EXPLICIT_RECEIVED, SESSION_CREATED
from reporting.alerts.evaluation import AlertEvaluator
from reporting.alerts.rules import PROJECT_RULE
from reporting.alerts.settings_file import AlertSettings
from reporting.alerts.store import set_rule, stored_rules
from reporting.api.audit.queries import draw, pending
from reporting.issues.job import ISSUE_WORK, is_available
from reporting.issues.store import IssueChange, change, recount
from reporting.parts import SCHEMA
from reporting.queries.selection import Project, TimeSpan
from reporting.settings import ReportingSettings
from reporting.sql import SQL
from servicekit.child_process import ChildProcess
from servicekit.clock import FixedClock
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.log.messages import Message, Producer
from servicekit.settings import read_settings
from standalone.sample.envelope import PROJECT, TENANT
from standalone.sample.month import Month, explicit_bodies

AT: Final = Project(TENANT, PROJECT)
_DRAWN: Final = 72
_REVIEWED: Final = 60
_REVIEWER: Final = "reviewer-ana"
_EVERY: Final = DAY // 2
_POLL_SECONDS: Final = 0.1
_RULES: Final[tuple[dict[str, object], ...]] = (
    {"kind": "satisfaction_dropped", "name": "satisfaction-dropped", "days": 14},
    {
        "kind": "satisfaction_below",
        "name": "trips-below-70",
        "agent": "trip-planner",
        "below": 0.7,
        "days": 14,
    },
    {"kind": "silence", "name": "silence", "hours": 72},
)
_ISSUE_RULES: Final[tuple[dict[str, object], ...]] = (
    {"kind": "regressed_issue", "name": "fixed-issue-is-back"},
    {"kind": "new_issue", "name": "new-issue", "people": 10, "days": 9},
)


class _Handling(NamedTuple):
    """A change that a person makes to an issue in the sample.

    An issue is a group of rejected turns. The changed issue is the one that contains most rejected turns of `topic`.

    Attributes:
        days: Number of days since the change.
        counted: Number of days since the issue's turns were last counted.
    """

    topic: str
    days: float
    change: IssueChange
    counted: float = 0


_HANDLED: Final = (
    _Handling(
        "router-setup",
        13.9,
        IssueChange("resolved", "0.9.4", "ana", "The setup guide covers the Halo 2 and Nimbus routers since 0.9.4."),
    ),
    _Handling(
        "weekly-totals",
        14.9,
        IssueChange("resolved", "2.4.1", "tom", "Weeks begin on Monday in the customer's time zone since 2.4.1."),
        counted=4,
    ),
    _Handling("train-times", 17.9, IssueChange("resolved", "3.2.0", "tom", "3.2.0 reads the current timetable.")),
    _Handling("invoice-amount", 6, IssueChange("open", None, "ana", "Needs access to single items of an invoice.")),
    _Handling("pandas-deprecated", 9, IssueChange("muted", None, "tom", "Waits for a model that knows pandas 2.")),
)


class SampleHistory:
    """Writer of the sample's history.

    Use it after the services have read the chat events of the sample. `pool` is for the reporting schema, and
    `database_url` is the URL of its database.
    """

    def __init__(self, pool: Database, database_url: str, log: Producer, month: Month, now: int) -> None:
        self._pool = pool
        self._database_url = database_url
        self._log = log
        self._month = month
        self._now = now

    async def judge(self) -> None:
        """Publish judgements and session ratings. It is safe to repeat this."""
        await self._log.send(
            [
                Message.of(EXPLICIT_RECEIVED, FeedbackExplicitReceived.model_validate(body))
                for body in explicit_bodies(self._month.judgements)
            ]
        )
        ratings = [
            FeedbackSessionCreated(
                event_id=str(derived_id("sample", "session event", one.conversation_id)),
                occurred_at=one.at,
                tenant=TENANT,
                id=UUID(str(derived_id("sample", "session", one.conversation_id))),
                session_id_opaque=opaque(one.conversation_id),
                user_id_or_null=one.user_id,
                recorded_at=one.at,
                label=one.label,
                turn_count_at_end=1,
                source="api_end",
            )
            for one in self._month.sessions
        ]
        await self._log.send([Message.of(SESSION_CREATED, rating) for rating in ratings])

    async def review(self) -> None:
        """Draw random answers for the review queue, and publish reviews of most of them.

        The others stay in the queue.
        """
        answers = {(one.conversation_id, one.turn_id): one for one in self._month.answers}
        async with self._pool.acquire() as connection:
            await connection.execute("select setseed(0.1)")
            await draw(connection, AT, TimeSpan(self._now - 30 * DAY, self._now), _DRAWN, self._now - DAY)
        drawn = [answers.get((one.conversation_id, one.turn_id)) for one in await pending(self._pool, AT, 0, _DRAWN)]
        reviews = [
            one.judged(_REVIEWER, self._now - DAY // 2, "not_ok" if one.is_bad else "ok", review=True)
            for one in drawn[:_REVIEWED]
            if one is not None
        ]
        events = [FeedbackExplicitReceived.model_validate(body) for body in explicit_bodies(reviews)]
        await self._log.send([Message.of(EXPLICIT_RECEIVED, event) for event in events])

    async def handle_issues(self) -> None:
        """Group rejected turns into issues, and change the issues as people would.

        Does nothing if the extra `issues` is not installed. The caller must hold the issue lock.
        """
        if not is_available():
            return
        options = {"sentence_encoder": read_settings(ReportingSettings).sentence_encoder}
        child = ChildProcess(ISSUE_WORK, FixedClock(self._now), self._database_url, "reporting", SCHEMA, options)
        try:
            await child.run(is_locked=True)
        finally:
            await child.close()
        issues = await self._issues_of_topics()
        for one in _HANDLED:
            if (issue := issues.get(one.topic)) is not None:
                await change(self._pool, AT, issue, one.change, self._now - round(one.days * DAY))
                async with self._pool.acquire() as connection, connection.transaction():
                    await recount(connection, AT, [issue], self._now - round(one.counted * DAY))

    async def _issues_of_topics(self) -> dict[str, int]:
        """Return an issue id for each topic: the issue that contains the largest number of the topic's turns."""
        topics = {(one.conversation_id, one.turn_id): one.topic for one in self._month.answers}
        agents = {one.provenance["agentId"] for one in self._month.answers}
        counted: Counter[tuple[str, int]] = Counter()
        for agent in sorted(agents):
            for row in await self._pool.fetch(*SQL.placed_turns(**AT._asdict(), agent_id=agent)):
                topic = topics.get((row["conversation_id"], row["turn_id"]))
                if topic is not None:
                    counted[topic, row["issue_id"]] += 1
        return {topic: issue for (topic, issue), _ in reversed(counted.most_common())}

    async def raise_alerts(self) -> None:
        """Set alert rules and evaluate them for every half day of the month, unless there are rules already."""
        if await stored_rules(self._pool):
            return
        for rule in _RULES:
            await set_rule(self._pool, AT, PROJECT_RULE.validate_python(rule), self._now - 30 * DAY)
        for at in range(self._now - 29 * DAY, self._now, _EVERY):
            await self._evaluate(at)
        for rule in _ISSUE_RULES:
            await set_rule(self._pool, AT, PROJECT_RULE.validate_python(rule), self._now - 30 * DAY)
        await self._evaluate(self._now - MINUTE)

    async def gather_statistics(self) -> None:
        """Run `analyze` on the tables.

        The first exports may run before autovacuum, and would otherwise be planned for empty tables.
        """
        await self._pool.execute("analyze")

    async def _evaluate(self, at: int) -> None:
        async def none_waiting() -> int:
            return 0

        await AlertEvaluator(self._pool, AlertSettings(), FixedClock(at), None, none_waiting).evaluate()


@asynccontextmanager
async def issues_held(database_url: str, say: Callable[[str], None]) -> AsyncIterator[Database]:
    """Open the reporting database and hold the issue lock, waiting while another process groups turns.

    Without the lock, another process could group only half of the sample, which would split its issues.
    """
    pool = await open_pool(database_url, "reporting", SCHEMA, size=4, say=say)
    try:
        async with pool.acquire() as connection:
            while not await connection.fetchval(*SQL.lock_issues()):
                await asyncio.sleep(_POLL_SECONDS)
            try:
                yield pool
            finally:
                await connection.execute(*SQL.unlock_issues())
    finally:
        await pool.close()
