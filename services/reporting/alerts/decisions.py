"""Evaluation of alert rules: computes the findings of each rule from evidence. No I/O.

A satisfaction rule runs one test for each recent day. The test covers all verdicts from that day until now, so that
older verdicts cannot hide a recent change. The tests remain valid however often they are repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from contracts.instants import DAY, MINUTE
from reporting.alerts.rules import (
    AlertRule,
    IssueRule,
    JudgedBy,
    NewIssue,
    RegressedIssue,
    SatisfactionBelow,
    SatisfactionDropped,
    ShareRule,
    Silence,
)
from reporting.alerts.sequential import ShareTest, below_before, below_level
from reporting.figures.votes import Votes

BEFORE_DAYS: Final = 28
"""Length of the reference period for a drop, in days. In whole weeks, each weekday occurs equally often."""
LEAST_VOTES: Final = 20
"""Minimum number of verdicts in a test that raises an alert."""
_WEEK: Final = 7
_NO_VOTES: Final = Votes()


class Subject(NamedTuple):
    """Agent, version or issue that an alert is about. All fields are None for an alert about a whole project."""

    agent: str | None = None
    version: str | None = None
    issue: int | None = None


class IssueFacts(NamedTuple):
    """Open or regressed issue. Times are in microseconds; `state_at` is when the issue entered its current state."""

    id: int
    agent_id: str
    is_regressed: bool
    state_at: int
    first_at: int
    turns: int
    people: int


Daily = Mapping[int, Votes]
"""Verdicts by UTC day, counted from the epoch."""
Counts = Mapping[tuple[JudgedBy, Subject], Daily]
"""Verdicts by judge, subject (agent or version) and day."""


@dataclass(frozen=True, slots=True)
class AlertEvidence:
    """Evidence for evaluating the rules of a project. Times are in microseconds.

    Attributes:
        now: Time of the evaluation.
        silent: Maps the name of each silence rule to a pair: the number of verdicts in the rule's time window, and the
            number in the same window a week earlier.
    """

    now: int
    daily: Counts = field(default_factory=dict)
    silent: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    issues: Sequence[IssueFacts] = ()


@dataclass(frozen=True, slots=True)
class AlertFinding:
    """Finding of an alert rule.

    Attributes:
        since: Start of the time window in microseconds.
        until: End of the time window in microseconds.
        number: The number that the rule counts. Satisfaction rules count verdicts, and silence rules count the verdicts
            a week earlier. Issue rules count people.
        share: Satisfaction, 0 to 1.
        reference: Value that `share` is compared with, 0 to 1.
        bound: Always-valid upper confidence bound of `share`.
        rejected: Number of rejections. For an issue, the number of rejected turns.
    """

    subject: Subject
    since: int
    until: int
    number: int
    share: float | None = None
    reference: float | None = None
    bound: float | None = None
    rejected: int = 0

    @property
    def difference(self) -> float:
        """`share` minus `reference`, or 0 for a finding without a share."""
        return 0.0 if self.share is None or self.reference is None else self.share - self.reference


class AlertState(NamedTuple):
    """State of a rule for one subject.

    Attributes:
        open: Finding of the open alert, or None if no alert is open.
        ended_at: Time in microseconds at which the last alert ended, or 0.
    """

    open: AlertFinding | None = None
    ended_at: int = 0


AlertStates = Mapping[Subject, AlertState]
_NEVER: Final = AlertState()


def find_low_shares(rule: ShareRule, evidence: AlertEvidence, states: AlertStates) -> Iterator[AlertFinding]:
    """Yield a finding for each agent or version whose satisfaction is too low."""
    side: JudgedBy = rule.verdicts
    for (by, subject), daily in evidence.daily.items():
        is_tested = (subject.version is not None) == (rule.per == "version") and rule.agent in (None, subject.agent)
        if by == side and is_tested:
            finding = _low(rule, subject, daily, evidence, states.get(subject, _NEVER))
            if finding is not None:
                yield finding


def _low(
    rule: ShareRule, subject: Subject, daily: Daily, evidence: AlertEvidence, state: AlertState
) -> AlertFinding | None:
    """Return a finding if the satisfaction with an agent or version is too low, otherwise None.

    If the tests for several start days are significant, the strongest finding is returned. An open alert stays
    open until the ordinary 95 % confidence interval no longer shows low satisfaction.
    """
    today = evidence.now // DAY
    before = evidence.daily.get((rule.verdicts, Subject(subject.agent)), {})
    # A test of verdicts from before the end of the last alert would report the same drop again.
    first = max(today - rule.days + 1, -(-state.ended_at // DAY))
    open_ = state.open
    if open_ is not None:
        first = max(first, open_.since // DAY)
    # From the newest day back: each test adds one day's verdicts to those of the previous test.
    tested = list(_tests(rule, daily, before, range(today, first - 1, -1)))
    if open_ is None:
        low = [window for window in tested if window.votes.total >= LEAST_VOTES and window.test.is_below]
        best = min(low, key=lambda window: window.test.bound, default=None)
    else:
        telling = (window for window in tested if window.test.could_show(open_.difference))
        best = next(telling, tested[-1] if tested else None)
        if best is not None and best.test.plain >= 0:
            best = None
    if best is None:
        return None
    share = best.votes.ok / best.votes.total
    return AlertFinding(
        subject,
        best.first * DAY,
        evidence.now,
        best.votes.total,
        share,
        share - best.test.difference,
        share - best.test.difference + best.test.bound,
        best.votes.not_ok,
    )


class _Tested(NamedTuple):
    """Result of a test of all verdicts since the day `first`."""

    first: int
    votes: Votes
    test: ShareTest


def _tests(rule: ShareRule, daily: Daily, before: Daily, days: Sequence[int]) -> Iterator[_Tested]:
    votes = _NO_VOTES
    now: dict[int, Votes] = {}
    for first in days:
        votes += daily.get(first, _NO_VOTES)
        now[first % _WEEK] = now.get(first % _WEEK, _NO_VOTES) + daily.get(first, _NO_VOTES)
        match rule:
            case SatisfactionBelow():
                test = below_level(votes, rule.below)
            case SatisfactionDropped():
                test = below_before(now, _by_weekday(before, first))
        yield _Tested(first, votes, test)


def _by_weekday(daily: Daily, end: int) -> dict[int, Votes]:
    """Return the verdict counts by weekday over the BEFORE_DAYS days that precede the day `end`."""
    votes: dict[int, Votes] = {}
    for day in range(end - BEFORE_DAYS, end):
        if day in daily:
            votes[day % _WEEK] = votes.get(day % _WEEK, _NO_VOTES) + daily[day]
    return votes


def find_silence(rule: Silence, evidence: AlertEvidence, states: AlertStates) -> Iterator[AlertFinding]:
    """Yield a finding if there were no verdicts in the last `rule.hours` hours.

    An alert starts only if there were enough verdicts in the same hours a week earlier. It stays open until a verdict
    arrives.
    """
    subject = Subject(rule.agent)
    now, week_before = evidence.silent.get(rule.name, (1, 0))
    is_open = states.get(subject, _NEVER).open is not None
    if now == 0 and (is_open or week_before >= rule.least):
        yield AlertFinding(subject, evidence.now - rule.hours * 60 * MINUTE, evidence.now, week_before)


def find_issues(rule: IssueRule, evidence: AlertEvidence, states: AlertStates) -> Iterator[AlertFinding]:
    """Yield a finding for each issue that matches the rule.

    A new issue is reported only once, and a regressed issue once per regression.
    """
    for issue in evidence.issues:
        subject = Subject(issue.agent_id, issue=issue.id)
        state = states.get(subject, _NEVER)
        if rule.agent in (None, issue.agent_id) and _is_reported(rule, issue, state, evidence.now):
            since = issue.state_at if issue.is_regressed else issue.first_at
            yield AlertFinding(subject, since, evidence.now, issue.people, rejected=issue.turns)


def _is_reported(rule: IssueRule, issue: IssueFacts, state: AlertState, now: int) -> bool:
    match rule:
        case RegressedIssue():
            return issue.is_regressed
        case NewIssue():
            is_new = not state.ended_at and issue.people >= rule.people and issue.first_at >= now - rule.days * DAY
            return not issue.is_regressed and (state.open is not None or is_new)


DECISIONS: Final[Mapping[type[AlertRule], Any]] = {
    SatisfactionBelow: find_low_shares,
    SatisfactionDropped: find_low_shares,
    Silence: find_silence,
    NewIssue: find_issues,
    RegressedIssue: find_issues,
}
"""Functions that yield the findings of a rule, by kind of rule."""


def findings(rule: AlertRule, evidence: AlertEvidence, states: AlertStates) -> list[AlertFinding]:
    """Return the findings of a rule.

    The caller has to end open alerts for which there is no finding.
    """
    return list(DECISIONS[type(rule)](rule, evidence, states))
