"""Queries that collect the evidence for alert rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from contracts.instants import DAY, MINUTE
from reporting.alerts.decisions import BEFORE_DAYS, AlertEvidence, Counts, IssueFacts, Subject
from reporting.alerts.rules import AlertRule, IssueRuleSettings, JudgedBy, ShareRuleSettings, Silence
from reporting.figures.rollup_counts import counted_votes, votes
from reporting.figures.votes import Votes
from reporting.model.selection import HOUR, Filters, Project, TimeSpan
from reporting.sql import SQL

_WEEK = 7 * DAY


async def project_evidence(pool: Any, project: Project, rules: Sequence[AlertRule], now: int) -> AlertEvidence:
    """Read the evidence for the rules of a project.

    Args:
        now: Time of the evaluation, a full minute in microseconds.
    """
    days = max((rule.days for rule in rules if isinstance(rule, ShareRuleSettings)), default=0)
    daily = await counts_by_day(pool, project, days + BEFORE_DAYS, now) if days else {}
    silent = {rule.name: await _silent(pool, project, rule, now) for rule in rules if isinstance(rule, Silence)}
    has_issue_rule = any(isinstance(rule, IssueRuleSettings) for rule in rules)
    rows = await pool.fetch(*SQL.issue_facts(**project._asdict())) if has_issue_rule else ()
    return AlertEvidence(now, daily, silent, [IssueFacts(**row) for row in rows])


async def counts_by_day(pool: Any, project: Project, days: int, now: int) -> Counts:
    """Count the verdicts of the last `days` UTC days, including today up to `now`."""
    daily: defaultdict[tuple[JudgedBy, Subject], defaultdict[int, Votes]] = defaultdict(lambda: defaultdict(Votes))
    first = now // DAY - days + 1
    source = votes(project, TimeSpan(first * DAY, now), Filters(origins=("user", "machine")))
    later_days = range((first + 1) * DAY, now + 1, DAY)
    for row in await counted_votes(pool, source, later_days, by_version=True):
        by: JudgedBy = "people" if row.origin == "user" else "machine"
        daily[by, Subject(row.agent_id)][first + row.step] += row.votes
        if row.agent_version is not None:
            daily[by, Subject(row.agent_id, row.agent_version)][first + row.step] += row.votes
    return daily


async def _silent(pool: Any, project: Project, rule: Silence, now: int) -> tuple[int, int]:
    """Count the verdicts in the rule's time window and in the same window a week earlier."""
    span = TimeSpan(now - rule.hours * HOUR, now + 10 * MINUTE)  # timestamps of feedback may be ahead of this clock
    before = TimeSpan(now - rule.hours * HOUR - _WEEK, now - _WEEK)
    return await _count(pool, project, rule, span), await _count(pool, project, rule, before)


async def _count(pool: Any, project: Project, rule: Silence, span: TimeSpan) -> int:
    source = votes(project, span, Filters(agent_id=rule.agent))
    return sum(row.votes.total for row in await counted_votes(pool, source))
