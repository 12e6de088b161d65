"""Alert rules decide by evidence: what fires, what is over, and what is neither."""

from __future__ import annotations

import random
from math import sqrt
from typing import Any

import pytest

from contracts.instants import DAY, MINUTE
from reporting.alerts.decisions import (
    DECISIONS,
    AlertEvidence,
    AlertFinding,
    AlertState,
    AlertStates,
    Daily,
    IssueFacts,
    Subject,
    findings,
)
from reporting.alerts.rules import (
    KINDS,
    AlertRule,
    JudgedBy,
    NewIssue,
    RegressedIssue,
    SatisfactionBelow,
    SatisfactionDropped,
    Silence,
)
from reporting.alerts.sequential import UNKNOWN, below_before, below_level, boundary
from reporting.figures.votes import Votes

TODAY = 20_007
NOW = TODAY * DAY + 12 * 60 * MINUTE
BOT = Subject("bot")
BELOW = SatisfactionBelow(kind="satisfaction_below", name="low", below=0.8)
DROPPED = SatisfactionDropped(kind="satisfaction_dropped", name="dropped")


def judged(share: float, days: range, daily: int = 200) -> dict[int, Votes]:
    ok = round(share * daily)
    return {TODAY - ago: Votes(ok, 0, daily - ok) for ago in days}


def found(rule: AlertRule, daily: Daily, state: AlertState | None = None) -> AlertFinding | None:
    states: AlertStates = {BOT: state} if state else {}
    return next(iter(findings(rule, AlertEvidence(NOW, {("people", BOT): daily}), states)), None)


def test_boundary_is_crossed_by_at_most_two_percent_of_walks() -> None:
    draw = random.Random(7)
    crossed = 0
    for _ in range(500):
        at = 0.0
        crossed += any((at := at + draw.gauss(0, 1)) > boundary(time) for time in range(1, 1_001))
    assert crossed <= 14  # the 95 % quantile of a binomial with 500 walks and 2 %
    assert boundary(250.0) < 3.3 * sqrt(250.0)  # a test that waits for more would find nothing in two days


def test_satisfaction_fires_only_with_its_whole_interval_below_the_level() -> None:
    fired = found(BELOW, judged(0.7, range(3)))
    assert fired is not None and fired.share == pytest.approx(0.7) and fired.reference == pytest.approx(0.8)
    assert (fired.since, fired.until, fired.number, fired.rejected) == ((TODAY - 2) * DAY, NOW, 600, 180)
    assert fired.bound is not None and 0.7 < fired.bound < 0.8
    assert found(BELOW, judged(0.79, range(3))) is None  # below, but not surely
    assert found(BELOW, judged(0.0, range(1), daily=19)) is None  # too few
    assert found(BELOW, judged(0.0, range(1), daily=20)) is not None


def test_a_drop_is_measured_on_the_weekdays_before() -> None:
    good = judged(0.85, range(2, 35))
    fired = found(DROPPED, good | judged(0.7, range(2)))
    assert fired is not None and fired.since == (TODAY - 1) * DAY
    assert fired.difference == pytest.approx(-0.15) and fired.reference == pytest.approx(0.85)
    assert found(DROPPED, good | judged(0.84, range(2))) is None
    assert found(DROPPED, judged(0.7, range(2))) is None  # nothing before it
    weekly = {day: Votes(*((140, 0, 60) if day % 7 == TODAY % 7 else (180, 0, 20))) for day in judged(1, range(35))}
    assert found(DROPPED, weekly) is None  # this weekday is always worse


def test_a_version_is_compared_with_its_whole_agent() -> None:
    rule = DROPPED.model_copy(update={"per": "version"})
    daily: dict[tuple[JudgedBy, Subject], Daily] = {
        ("people", BOT): judged(0.85, range(2, 35)) | judged(0.7, range(2)),
        ("people", Subject("bot", "2")): judged(0.7, range(2)),
        ("machine", Subject("bot", "3")): judged(0.1, range(2)),
    }
    assert [one.subject for one in findings(rule, AlertEvidence(NOW, daily), {})] == [Subject("bot", "2")]
    assert findings(rule.model_copy(update={"agent": "other"}), AlertEvidence(NOW, daily), {}) == []


def test_an_alert_is_over_once_enough_verdicts_no_longer_show_it() -> None:
    fired = found(BELOW, judged(0.6, range(3, 6)))
    assert fired is not None
    state = AlertState(fired)
    assert found(BELOW, judged(0.6, range(1, 6)) | judged(0.8, range(1), daily=10), state) is not None
    assert found(BELOW, judged(0.6, range(1, 6)) | judged(0.8, range(1)), state) is None
    assert found(BELOW, judged(0.6, range(1, 6)) | judged(0.6, range(1)), state) is not None
    assert found(BELOW, {}, state) is None  # neither are there verdicts any more


def test_an_ended_alert_does_not_report_the_same_verdicts_again() -> None:
    daily = judged(0.6, range(1, 6)) | judged(0.8, range(1))
    assert found(BELOW, daily) is not None
    assert found(BELOW, daily, AlertState(None, ended_at=NOW - 1)) is None
    assert found(BELOW, judged(0.6, range(2)), AlertState(None, ended_at=(TODAY - 1) * DAY)) is not None


def test_silence_needs_feedback_a_week_before() -> None:
    rule = Silence(kind="silence", name="quiet", hours=6)

    def silent(now: int, before: int, state: AlertState | None = None) -> list[AlertFinding]:
        states = {Subject(): state} if state else {}
        return findings(rule, AlertEvidence(NOW, silent={"quiet": (now, before)}), states)

    [fired] = silent(0, 10)
    assert (fired.since, fired.number) == (NOW - 6 * 60 * MINUTE, 10)
    assert silent(1, 100) == [] and silent(0, 9) == []
    assert silent(0, 0, AlertState(fired)) != []  # open until feedback arrives
    assert silent(1, 0, AlertState(fired)) == []


def issue_found(rule: AlertRule, facts: dict[str, Any], state: AlertState | None = None) -> AlertFinding | None:
    whole: dict[str, Any] = {"id": 7, "agent_id": "bot", "is_regressed": False, "state_at": NOW - DAY} | facts
    one = IssueFacts(**whole)
    states = {Subject("bot", issue=7): state} if state else {}
    return next(iter(findings(rule, AlertEvidence(NOW, issues=[one]), states)), None)


def test_a_new_issue_fires_once_for_enough_people() -> None:
    rule = NewIssue(kind="new_issue", name="new", people=3, days=7)
    recent = {"first_at": NOW - 7 * DAY, "turns": 5, "people": 3}
    fired = issue_found(rule, recent)
    assert fired is not None and (fired.number, fired.rejected, fired.since) == (3, 5, NOW - 7 * DAY)
    assert fired.subject == Subject("bot", issue=7)
    assert issue_found(rule, recent | {"people": 2}) is None
    assert issue_found(rule, recent | {"first_at": NOW - 7 * DAY - 1}) is None  # an old issue that grew
    assert issue_found(rule, recent | {"is_regressed": True}) is None
    assert issue_found(rule.model_copy(update={"agent": "other"}), recent) is None
    later = recent | {"first_at": NOW - 30 * DAY, "people": 1}
    assert issue_found(rule, later, AlertState(fired)) is not None  # open until its state changes
    assert issue_found(rule, later | {"is_regressed": True}, AlertState(fired)) is None
    assert issue_found(rule, recent, AlertState(None, ended_at=NOW - 1)) is None  # reported before


def test_a_regressed_issue_fires_each_time() -> None:
    rule = RegressedIssue(kind="regressed_issue", name="back")
    facts = {"first_at": NOW - 90 * DAY, "turns": 5, "people": 1}
    assert issue_found(rule, facts) is None
    fired = issue_found(rule, facts | {"is_regressed": True})
    assert fired is not None and fired.since == NOW - DAY
    assert issue_found(rule, facts | {"is_regressed": True}, AlertState(None, ended_at=NOW - 1)) is not None
    assert issue_found(rule, facts, AlertState(fired)) is None


def test_every_kind_of_rule_has_a_decision() -> None:
    assert set(DECISIONS) == set(KINDS.values())


def test_shares_without_verdicts_are_unknown() -> None:
    assert below_level(Votes(), 0.8) == UNKNOWN
    assert below_before({1: Votes(5, 0, 5)}, {2: Votes(5, 0, 5)}) == UNKNOWN
    assert not UNKNOWN.is_below and not UNKNOWN.could_show(1.0)


@pytest.mark.parametrize("total", [1, 20, 1_000])
def test_equal_shares_of_none_and_of_all_are_no_drop_and_equally_uncertain(total: int) -> None:
    none, all_ok = (below_before({1: one}, {1: one}) for one in (Votes(0, 0, total), Votes(total, 0, 0)))
    assert (none.difference, all_ok.difference) == (0, 0)
    assert 0 < none.error == pytest.approx(all_ok.error)
    assert none.bound == pytest.approx(all_ok.bound)
    assert not none.is_below


def test_a_drop_has_the_error_of_the_pooled_share_with_one_more_verdict_of_each_kind() -> None:
    found = below_before({1: Votes(10, 0, 10), 2: Votes(7, 0, 3)}, {1: Votes(18, 0, 2), 3: Votes(5, 0, 5)})
    share = (28 + 1) / (40 + 2)  # the weekdays 2 and 3 have verdicts in one period only
    assert found.difference == pytest.approx(-0.4)
    assert found.error == pytest.approx(sqrt(share * (1 - share) / 10))
