"""Alert rules decide by evidence: what fires, what is over, and what is neither."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from math import sqrt
from typing import Any, Final

import pytest
from standardwebhooks import Webhook

from contracts.instants import DAY, MINUTE, SECOND
from reporting.alerts.channels import AlertChannel
from reporting.alerts.decisions import (
    AlertEvidence,
    AlertFinding,
    AlertState,
    AlertStates,
    Daily,
    IssueFacts,
    Subject,
    findings,
)
from reporting.alerts.messages import Announcement, path_of, text_of, title_of
from reporting.alerts.requests import heading, request_to
from reporting.alerts.rules import (
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
from reporting.model.selection import HOUR, Project

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


# Words, links and requests of alerts, by kind of rule and of channel.

NOON: Final = 20_000 * DAY + 12 * HOUR
"""2024-10-04 12:00 UTC, a Friday."""


AT: Final = Project("acme", "support & sales")


BELOW_RULE: Final = SatisfactionBelow(kind="satisfaction_below", name="low", below=0.805)


DROPPED_RULE: Final = SatisfactionDropped(kind="satisfaction_dropped", name="drop", verdicts="machine")


QUIET: Final = Silence(kind="silence", name="quiet", hours=6)


SHARE: Final = AlertFinding(Subject("bot", "2"), NOON - DAY, NOON, 1_200, 0.4, 0.8, 0.456, 1_100)


WHOLE: Final = AlertFinding(Subject(), NOON - 6 * HOUR, NOON, 12_000)


@pytest.mark.parametrize(
    ("rule", "found", "title", "text"),
    [
        (BELOW_RULE, SHARE, "bot 2: satisfaction is 40%, below 80.5%",
         "People's verdicts since 2024-10-03: 1,200, with 1,100 rejections. "
         "Satisfaction is at most 46% (always-valid confidence bound)."),
        (DROPPED_RULE, replace(SHARE, subject=Subject("bot")), "bot: satisfaction dropped from 80% to 40%",
         "Machine verdicts since 2024-10-03: 1,200, with 1,100 rejections. "
         "Satisfaction is at most 46% (always-valid confidence bound)."),
        (QUIET, WHOLE, "All agents: no feedback for 6 hours",
         "There were 12,000 verdicts in the same hours of the previous week."),
    ],
)  # fmt: skip
def test_a_message_has_the_fact_and_its_figures(rule: AlertRule, found: AlertFinding, title: str, text: str) -> None:
    assert (title_of(rule, found), text_of(rule, found)) == (title, text)


@pytest.mark.parametrize(
    ("rule", "at", "found", "path"),
    [
        (BELOW_RULE, AT, SHARE,
         "/dashboard/feedback?at=acme%2Fsupport+%26+sales&agent_id=bot&agent_version=2&origin=user&reaction=not_ok"
         "&feedback_type=verdict&from=2024-10-03T12%3A00&to=2024-10-04T11%3A59&tz=UTC"),
        (DROPPED_RULE, AT, replace(SHARE, subject=Subject("bot")),
         "/dashboard/feedback?at=acme%2Fsupport+%26+sales&agent_id=bot&origin=machine&reaction=not_ok"
         "&feedback_type=verdict&from=2024-10-03T12%3A00&to=2024-10-04T11%3A59&tz=UTC"),
        (QUIET, AT, WHOLE, "/dashboard/feedback?at=acme%2Fsupport+%26+sales"
         "&feedback_type=verdict&from=2024-09-27T06%3A00&to=2024-09-27T11%3A59&tz=UTC"),
    ],
)  # fmt: skip
def test_a_link_leads_to_the_turns_that_were_counted(
    rule: AlertRule, at: Project, found: AlertFinding, path: str
) -> None:
    assert path_of(rule, at, found) == path


ALERT: Final = Announcement("key", "fired", "bot <!here> *2*", "First & second.", "/y", "acme", "support", "low", NOON)


SECRET: Final = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


URL: Final = "https://hook.example/secret"


SLACK: Final = AlertChannel("s", "slack", URL, "", "https://x.example", False)


TEAMS: Final = replace(SLACK, kind="teams")


HOOK: Final = replace(SLACK, kind="webhook", secret=SECRET)


def body(channel: AlertChannel, announcement: Announcement = ALERT) -> Any:
    request = request_to(channel, "id", announcement, NOON)
    assert request.headers["content-type"] == "application/json"
    assert b"hook.example" not in request.body and SECRET.encode() not in request.body
    return json.loads(request.body)


@pytest.mark.parametrize(("state", "first"), [("fired", "Alert: x"), ("over", "Over: x"), ("test", "Test: x")])
def test_the_first_line_names_the_state(state: Any, first: str) -> None:
    assert heading(replace(ALERT, state=state, title="x")) == first


def test_slack_gets_its_markup_escaped_and_a_link() -> None:
    title = "Alert: bot &lt;!here&gt; *2*"
    content = f"*{title}*\nFirst &amp; second.\n<https://x.example/y|Show the turns>"
    assert body(SLACK) == {
        "text": title,
        "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": content}}],
    }


@pytest.mark.parametrize(
    ("state", "text"), [("fired", "Show the turns"), ("over", "Show the turns"), ("test", "Show the alerts")]
)
def test_the_text_of_the_link_names_its_page(state: Any, text: str) -> None:
    announcement = replace(ALERT, state=state)
    assert body(SLACK, announcement)["blocks"][0]["text"]["text"].endswith(f"|{text}>")
    assert body(TEAMS, announcement)["attachments"][0]["content"]["actions"][0]["title"] == text


def test_teams_gets_a_card_with_escaped_lines() -> None:
    [attachment] = body(TEAMS)["attachments"]
    card = attachment["content"]
    assert [block["text"] for block in card["body"]] == [r"Alert: bot \<\!here\> \*2\*", r"First & second\."]
    assert all(block["wrap"] for block in card["body"])
    assert [action["url"] for action in card["actions"]] == ["https://x.example/y"]


def test_a_webhook_gets_a_signed_event() -> None:
    request = request_to(HOOK, "id", ALERT, NOON)
    signed = Webhook(SECRET).sign("id", datetime.fromtimestamp(NOON // SECOND, UTC), request.body.decode())
    assert request.headers["webhook-signature"] == signed
    event = body(HOOK)
    assert (event["type"], event["data"]["link"]) == ("alert.fired", "https://x.example/y")
    assert event["data"]["at"] == event["timestamp"] == "2024-10-04T12:00:00.000000Z"


def test_no_text_form_of_a_channel_has_its_secrets() -> None:
    assert "hook.example" not in repr(HOOK) and SECRET not in repr(HOOK)
