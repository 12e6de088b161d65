"""Words, links and bodies of alerts and digests, by kind of rule and type of channel."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

import pytest

from contracts.instants import DAY
from reporting.alerts.decisions import AlertFinding, Counts, Daily, Subject
from reporting.alerts.digest import digest_of, period_end
from reporting.alerts.messages import Announcement, path_of, text_of, title_of
from reporting.alerts.notifiers import NOTIFIERS, HttpRequest, heading
from reporting.alerts.rules import AlertRule, DeadLetters, Lag, SatisfactionBelow, SatisfactionDropped, Silence
from reporting.alerts.settings_file import (
    AnyChannel,
    EmailChannel,
    Every,
    OpenChannel,
    PagerDutyChannel,
    SlackChannel,
    TeamsChannel,
)
from reporting.queries.selection import HOUR, Project
from reporting.queries.votes import Votes

NOON: Final = 20_000 * DAY + 12 * HOUR
"""2024-10-04 12:00 UTC, a Friday."""
AT: Final = Project("acme", "support & sales")
BELOW: Final = SatisfactionBelow(kind="satisfaction_below", name="low", below=0.805)
DROPPED: Final = SatisfactionDropped(kind="satisfaction_dropped", name="drop", verdicts="machine")
QUIET: Final = Silence(kind="silence", name="quiet", hours=6)
LETTERS: Final = DeadLetters(kind="dead_letters", name="letters")
LAG: Final = Lag(kind="lag", name="lag", more_than=1_000, minutes=3)
SHARE: Final = AlertFinding(Subject("bot", "2"), NOON - DAY, NOON, 1_200, 0.4, 0.8, 0.456, 1_100)
WHOLE: Final = AlertFinding(Subject(), NOON - 6 * HOUR, NOON, 12_000)


@pytest.mark.parametrize(
    ("rule", "found", "title", "text"),
    [
        (BELOW, SHARE, "bot 2: satisfaction is 40%, below 80.5%",
         "People's verdicts since 2024-10-03: 1,200, with 1,100 rejections. "
         "Satisfaction is at most 46% (always-valid confidence bound)."),
        (DROPPED, replace(SHARE, subject=Subject("bot")), "bot: satisfaction dropped from 80% to 40%",
         "Machine verdicts since 2024-10-03: 1,200, with 1,100 rejections. "
         "Satisfaction is at most 46% (always-valid confidence bound)."),
        (QUIET, WHOLE, "All agents: no feedback for 6 hours",
         "There were 12,000 verdicts in the same hours of the previous week."),
        (LAG, WHOLE, "12,000 records are waiting in the log", "More than 1,000 for at least 3 minutes."),
        (LETTERS, replace(WHOLE, number=1), "1 dead letter",
         "Services could not process these records: list them with `agent-feedback dlq list`."),
        (LETTERS, WHOLE, "12,000 dead letters",
         "Services could not process these records: list them with `agent-feedback dlq list`."),
    ],
)  # fmt: skip
def test_a_message_has_the_fact_and_its_figures(rule: AlertRule, found: AlertFinding, title: str, text: str) -> None:
    assert (title_of(rule, found), text_of(rule, found)) == (title, text)


@pytest.mark.parametrize(
    ("rule", "at", "found", "path"),
    [
        (BELOW, AT, SHARE,
         "/dashboard/feedback?at=acme%2Fsupport+%26+sales&agent=bot&version=2&origin=user&reaction=not_ok"
         "&type=verdict&from=2024-10-03T12%3A00&to=2024-10-04T11%3A59&tz=UTC"),
        (DROPPED, AT, replace(SHARE, subject=Subject("bot")),
         "/dashboard/feedback?at=acme%2Fsupport+%26+sales&agent=bot&origin=machine&reaction=not_ok"
         "&type=verdict&from=2024-10-03T12%3A00&to=2024-10-04T11%3A59&tz=UTC"),
        (QUIET, AT, WHOLE, "/dashboard/feedback?at=acme%2Fsupport+%26+sales"
         "&type=verdict&from=2024-09-27T06%3A00&to=2024-09-27T11%3A59&tz=UTC"),
        (LETTERS, None, WHOLE, "/"),
    ],
)  # fmt: skip
def test_a_link_leads_to_the_turns_that_were_counted(
    rule: AlertRule, at: Project | None, found: AlertFinding, path: str
) -> None:
    assert path_of(rule, at, found) == path


ONE: Final = Announcement(
    "key", "fired", "bot <!here> *2*", "First & second.\nThird.", "https://x.example/y", "acme", "support", "low", NOON
)
SLACK: Final = SlackChannel(name="s", type="slack", url_from="SECRET")
TEAMS: Final = TeamsChannel(name="t", type="teams", url_from="SECRET")
PAGER: Final = PagerDutyChannel(name="p", type="pagerduty", key_from="SECRET", url="https://pager.example/enqueue")
MAIL: Final = EmailChannel(
    name="m", type="email", host="mail.example", sender="alerts@feedback.example", to=("a@x.example", "b@x.example")
)


def made(settings: AnyChannel, one: Announcement = ONE) -> Any:
    return NOTIFIERS[type(settings)](OpenChannel(settings, "https://hook.example/secret"), "id", one, NOON)


def body(settings: AnyChannel, one: Announcement = ONE) -> Any:
    request: HttpRequest = made(settings, one)
    assert request.headers["content-type"] == "application/json"
    assert request.url == ("https://pager.example/enqueue" if settings == PAGER else "https://hook.example/secret")
    return json.loads(request.body)


@pytest.mark.parametrize(
    ("state", "first"), [("fired", "Alert: x"), ("over", "Over: x"), ("test", "Test: x"), ("digest", "Digest: x")]
)
def test_the_first_line_names_the_state(state: Any, first: str) -> None:
    assert heading(replace(ONE, state=state, title="x")) == first


def test_slack_gets_its_markup_escaped_and_a_link_if_there_is_one() -> None:
    title = "Alert: bot &lt;!here&gt; *2*"
    text = f"*{title}*\nFirst &amp; second.\nThird."

    def blocks(content: str) -> list[dict[str, Any]]:
        return [{"type": "section", "text": {"type": "mrkdwn", "text": content}}]

    assert body(SLACK) == {"text": title, "blocks": blocks(f"{text}\n<https://x.example/y|Show the turns>")}
    assert body(SLACK, replace(ONE, link=""))["blocks"] == blocks(text)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"state": "fired"}, "Show the turns"),
        ({"state": "over"}, "Show the turns"),
        ({"state": "test"}, "Show the alerts"),
        ({"state": "digest"}, "Show the dashboard"),
        ({"state": "over", "tenant": None, "project": None}, "Show the dashboard"),
    ],
)
def test_the_text_of_the_link_names_its_page(changes: dict[str, Any], text: str) -> None:
    one = replace(ONE, **changes)
    assert body(SLACK, one)["blocks"][0]["text"]["text"].endswith(f"|{text}>")
    assert body(TEAMS, one)["attachments"][0]["content"]["actions"][0]["title"] == text
    assert body(PAGER, one)["links"][0]["text"] == text


def test_teams_gets_a_card_with_escaped_lines() -> None:
    [attachment] = body(TEAMS)["attachments"]
    card = attachment["content"]
    assert [one["text"] for one in card["body"]] == [r"Alert: bot \<\!here\> \*2\*", r"First & second\.", r"Third\."]
    assert all(one["wrap"] for one in card["body"])
    assert [one["url"] for one in card["actions"]] == ["https://x.example/y"]
    assert "actions" not in body(TEAMS, replace(ONE, link=""))["attachments"][0]["content"]


def test_pagerduty_opens_an_incident_and_resolves_it() -> None:
    event = body(PAGER)
    assert (event["event_action"], event["dedup_key"], event["payload"]["severity"]) == ("trigger", "key", "warning")
    assert event["payload"]["source"] == "acme/support"
    assert event["payload"]["timestamp"] == "2024-10-04T12:00:00.000000Z"
    assert event["links"] == [{"href": "https://x.example/y", "text": "Show the turns"}]
    over = body(PAGER, replace(ONE, state="over", tenant=None, project=None, link="", title="x" * 2_000))
    assert (over["event_action"], over["payload"]["severity"], over["payload"]["source"]) == (
        "resolve", "info", "agent-feedback",
    )  # fmt: skip
    assert len(over["payload"]["summary"]) == 1_024
    assert "links" not in over


def test_an_email_has_one_line_of_subject_and_a_thread() -> None:
    mail = made(MAIL, replace(ONE, title="a\r\nBcc: b\u2028c"))
    assert mail["Subject"] == "[agent-feedback] Alert: a  Bcc: b c"
    assert (mail["From"], mail["To"]) == ("alerts@feedback.example", "a@x.example, b@x.example")
    assert (mail["Message-ID"], mail["References"]) == ("<id@feedback.example>", "<key@feedback.example>")
    assert (mail["Date"], mail["Auto-Submitted"]) == ("Fri, 04 Oct 2024 12:00:00 +0000", "auto-generated")
    plain = made(MAIL, replace(ONE, title="x", text="", link="https://x.example/y")).get_content()
    assert plain == "Alert: x\n\nhttps://x.example/y\n"


MONDAY: Final = 20_003 * DAY


@pytest.mark.parametrize(
    ("every", "now", "end"),
    [
        ("day", MONDAY + 6 * HOUR, MONDAY),
        ("day", MONDAY + 6 * HOUR - 1, MONDAY - DAY),
        ("day", MONDAY + DAY, MONDAY),
        ("week", MONDAY + 6 * HOUR, MONDAY),
        ("week", MONDAY + 6 * HOUR - 1, MONDAY - 7 * DAY),
        ("week", MONDAY + 7 * DAY + 6 * HOUR - 1, MONDAY),
    ],
)
def test_a_digest_is_due_six_hours_after_its_period(every: Every, now: int, end: int) -> None:
    assert period_end(every, now) == end


def digest(counts: Counts, every: Every = "day") -> list[str] | None:
    one = digest_of(Project("acme", "support"), every, MONDAY, counts, "https://x.example")
    return None if one is None else one.text.split("\n")


def days(was: Votes, now: Votes) -> Daily:
    last = MONDAY // DAY
    return {last - 2: was, last - 1: now}


def test_a_digest_counts_the_days_of_its_period_and_the_one_before() -> None:
    last = MONDAY // DAY
    daily = {last - ago: Votes(10**ago, 0, 10**ago) for ago in range(4)}
    assert digest({("people", Subject("a")): daily}) == [
        "People: 20 verdicts, 50% satisfied.", "No agent or version changed significantly.",
    ]  # fmt: skip
    weekly = {last - ago: Votes(1, 0, 0) for ago in range(16)} | {last - 8: Votes(0, 0, 100)}
    assert digest({("machine", Subject("a")): weekly}, "week") == [
        "Machine: 7 verdicts, 100% satisfied.", "No agent or version changed significantly.",
    ]  # fmt: skip
    assert digest({("people", Subject("a")): {last: Votes(9, 0, 0), last - 2: Votes(9, 0, 0)}}) is None


def test_a_digest_names_agents_and_versions_with_ten_verdicts_on_both_sides() -> None:
    good, bad = Votes(10, 0, 0), Votes(0, 0, 10)
    counts: Counts = {
        ("people", Subject("a")): days(good, bad),
        ("people", Subject("a", "2")): days(good, bad),
        ("machine", Subject("b")): days(bad, Votes(8, 2, 0)),
        ("people", Subject("few before")): days(Votes(9, 0, 0), bad),
        ("people", Subject("few now")): days(good, Votes(0, 0, 9)),
        ("people", Subject("new")): days(Votes(), bad),
        ("people", Subject("same")): days(good, good),
    }
    assert digest(counts) == [
        "People: 49 verdicts, 20% satisfied.",
        "Machine: 10 verdicts, 80% satisfied.",
        "a 2: 100% to 0% (-100.0 points, people).",
        "a: 100% to 0% (-100.0 points, people).",
        "b: 0% to 80% (+80.0 points, machine).",
    ]
    weekly = {key: {MONDAY // DAY - 7: good} for key in counts}
    one = digest_of(Project("acme", "support"), "week", MONDAY, weekly, "https://x.example")
    assert one is not None
    assert (one.title, one.key) == ("acme / support, the week to 2024-10-06", f"digest-acme-support-{MONDAY}")
    assert one.link == "https://x.example/?at=acme%2Fsupport&from=2024-09-30T00%3A00&to=2024-10-06T23%3A59&tz=UTC"
    assert (one.state, one.rule, one.at) == ("digest", "digest", MONDAY)
