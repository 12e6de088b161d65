"""Decisions of alert rules: evidence in, findings out. Pure.

A rule about satisfaction tests the verdicts since each of the last days, so a test is at most some days old and a
change in the middle of a week is not diluted. Each test is always valid, so the number of looks does not matter
(decision 132).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from contracts.instants import DAY, MINUTE
from reporting.alerts.rules import (
    AlertRule,
    DeadLetters,
    IssueRule,
    JudgedBy,
    Lag,
    NewIssue,
    RegressedIssue,
    SatisfactionBelow,
    SatisfactionDropped,
    ShareRule,
    Silence,
)
from reporting.alerts.sequential import ShareTest, below_before, below_level
from reporting.queries.votes import Votes

BEFORE_DAYS: Final = 28
"""Days of the period that a drop is compared with: whole weeks, so that each weekday is in it equally often."""
LEAST_VOTES: Final = 20
"""Fewest verdicts that a test of a share needs."""
_WEEK: Final = 7
_NO_VOTES: Final = Votes()


class Subject(NamedTuple):
    """Agent, one version of it or one of its issues that an alert is about; all None for a project or the platform."""

    agent: str | None = None
    version: str | None = None
    issue: int | None = None


class IssueFacts(NamedTuple):
    """Issue that is open or regressed. Times are in microseconds; its state is that since `state_at`."""

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
"""Verdicts by judge, agent or version, and day."""


@dataclass(frozen=True, slots=True)
class AlertEvidence:
    """Facts that the rules of a project, or of the platform, are decided by. `now` is in microseconds.

    `silent` has the verdicts in a silence rule's hours, and in the same hours a week before, by the rule's name. `lag`
    is the number of waiting records, and `lagging_since` the time since when there have been any number of them.
    """

    now: int
    daily: Counts = field(default_factory=dict)
    silent: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    issues: Sequence[IssueFacts] = ()
    dead_letters: int = 0
    lag: int = 0
    lagging_since: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AlertFinding:
    """Fact that an alert reports. Its verdicts are those from `since` to `until`, in microseconds.

    `share` and `reference` are satisfaction and the value that it is compared with, 0 to 1; `bound` is the upper
    always-valid confidence bound of `share`. `number` counts verdicts, or people, letters or records; `rejected` counts
    the verdicts that reject, or an issue's turns.
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
        """Return share minus reference, 0 if there are none."""
        return 0.0 if self.share is None or self.reference is None else self.share - self.reference


class AlertStanding(NamedTuple):
    """State of a rule for one subject: the open alert's finding, or None; and the end of the last alert, 0 for none."""

    open: AlertFinding | None = None
    ended_at: int = 0


AlertStandings = Mapping[Subject, AlertStanding]
_NEVER: Final = AlertStanding()


def of_share(rule: ShareRule, evidence: AlertEvidence, standings: AlertStandings) -> Iterator[AlertFinding]:
    """Yield a finding for each agent or version whose satisfaction is too low."""
    whose: JudgedBy = rule.verdicts
    for (by, subject), daily in evidence.daily.items():
        is_tested = (subject.version is not None) == (rule.per == "version") and rule.agent in (None, subject.agent)
        if by == whose and is_tested:
            found = _low(rule, subject, daily, evidence, standings.get(subject, _NEVER))
            if found is not None:
                yield found


def _low(
    rule: ShareRule, subject: Subject, daily: Daily, evidence: AlertEvidence, standing: AlertStanding
) -> AlertFinding | None:
    """Return the strongest finding, or that of an open alert which is not over; None if there is none."""
    today = evidence.now // DAY
    before = evidence.daily.get((rule.verdicts, Subject(subject.agent)), {})
    # A test that begins before the end of the last alert would report the same drop again.
    first = max(today - rule.days + 1, -(-standing.ended_at // DAY))
    open_ = standing.open
    if open_ is not None:
        first = max(first, open_.since // DAY)
    # From the newest day back: the verdicts of a test are those of the test before, and one day's more.
    tested = list(_tests(rule, daily, before, range(today, first - 1, -1)))
    if open_ is None:
        found = [one for one in tested if one.votes.total >= LEAST_VOTES and one.test.is_below]
        best = min(found, key=lambda one: one.test.bound, default=None)
    else:
        telling = (one for one in tested if one.test.could_show(open_.difference))
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
    """Test of the verdicts since the day `first`."""

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
    """Return the verdicts of the period before the day `end`, by weekday."""
    found: dict[int, Votes] = {}
    for day in range(end - BEFORE_DAYS, end):
        if day in daily:
            found[day % _WEEK] = found.get(day % _WEEK, _NO_VOTES) + daily[day]
    return found


def of_silence(rule: Silence, evidence: AlertEvidence, standings: AlertStandings) -> Iterator[AlertFinding]:
    """Yield a finding if nobody judged anything in the rule's hours."""
    subject = Subject(rule.agent)
    now, week_before = evidence.silent.get(rule.name, (1, 0))
    is_open = standings.get(subject, _NEVER).open is not None
    if now == 0 and (is_open or week_before >= rule.least):
        yield AlertFinding(subject, evidence.now - rule.hours * 60 * MINUTE, evidence.now, week_before)


def of_issues(rule: IssueRule, evidence: AlertEvidence, standings: AlertStandings) -> Iterator[AlertFinding]:
    """Yield a finding for each issue in the rule's state. A new issue is reported once, a regressed one each time."""
    for one in evidence.issues:
        subject = Subject(one.agent_id, issue=one.id)
        standing = standings.get(subject, _NEVER)
        if rule.agent in (None, one.agent_id) and _is_reported(rule, one, standing, evidence.now):
            since = one.state_at if one.is_regressed else one.first_at
            yield AlertFinding(subject, since, evidence.now, one.people, rejected=one.turns)


def _is_reported(rule: IssueRule, one: IssueFacts, standing: AlertStanding, now: int) -> bool:
    match rule:
        case RegressedIssue():
            return one.is_regressed
        case NewIssue():
            is_new = not standing.ended_at and one.people >= rule.people and one.first_at >= now - rule.days * DAY
            return not one.is_regressed and (standing.open is not None or is_new)


def of_dead_letters(rule: DeadLetters, evidence: AlertEvidence, _: AlertStandings) -> Iterator[AlertFinding]:
    """Yield a finding if there are more dead letters than the rule allows."""
    if evidence.dead_letters > rule.more_than:
        yield AlertFinding(Subject(), evidence.now, evidence.now, evidence.dead_letters)


def of_lag(rule: Lag, evidence: AlertEvidence, _: AlertStandings) -> Iterator[AlertFinding]:
    """Yield a finding if more records than the rule allows have been waiting for long enough."""
    since = evidence.lagging_since.get(rule.name)
    if since is not None and evidence.now - since >= rule.minutes * MINUTE:
        yield AlertFinding(Subject(), since, evidence.now, evidence.lag)


DECISIONS: Final[Mapping[type[AlertRule], Any]] = {
    SatisfactionBelow: of_share,
    SatisfactionDropped: of_share,
    Silence: of_silence,
    NewIssue: of_issues,
    RegressedIssue: of_issues,
    DeadLetters: of_dead_letters,
    Lag: of_lag,
}
"""Function that yields the findings of each kind of rule from evidence and standings."""


def findings(rule: AlertRule, evidence: AlertEvidence, standings: AlertStandings) -> list[AlertFinding]:
    """Return the findings of a rule. A subject with an open alert and without a finding is over."""
    return list(DECISIONS[type(rule)](rule, evidence, standings))
