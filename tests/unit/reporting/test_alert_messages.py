"""Words, links and requests of alerts, by kind of rule and of channel."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from standardwebhooks import Webhook

from contracts.instants import DAY, SECOND
from reporting.alerts.channels import AlertChannel
from reporting.alerts.decisions import AlertFinding, Subject
from reporting.alerts.messages import Announcement, path_of, text_of, title_of
from reporting.alerts.requests import heading, request_to
from reporting.alerts.rules import AlertRule, SatisfactionBelow, SatisfactionDropped, Silence
from reporting.model.selection import HOUR, Project

NOON: Final = 20_000 * DAY + 12 * HOUR
"""2024-10-04 12:00 UTC, a Friday."""
AT: Final = Project("acme", "support & sales")
BELOW: Final = SatisfactionBelow(kind="satisfaction_below", name="low", below=0.805)
DROPPED: Final = SatisfactionDropped(kind="satisfaction_dropped", name="drop", verdicts="machine")
QUIET: Final = Silence(kind="silence", name="quiet", hours=6)
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
