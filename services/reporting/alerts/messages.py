"""Messages of alerts: title, figures and link. No I/O.

Messages contain figures and the names of rules and agents, but no text written by people. Issues are identified by
number, because an issue's title contains words from people's questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from contracts.instants import DAY, MINUTE, format_instant
from reporting.alerts.decisions import AlertFinding
from reporting.alerts.rules import (
    AlertRule,
    IssueRuleSettings,
    NewIssue,
    RegressedIssue,
    SatisfactionBelow,
    ShareRuleSettings,
    Silence,
)
from reporting.model.selection import Project

State = Literal["fired", "over", "test"]
_LIST = "/dashboard/feedback"


@dataclass(frozen=True, slots=True)
class Announcement:
    """Message for a channel.

    Attributes:
        key: Identifier shared by the messages about the start and the end of an alert.
        link: Path of the dashboard page.
        at: Time in microseconds.
    """

    key: str
    state: State
    title: str
    text: str
    link: str
    tenant: str
    project: str
    rule: str
    at: int


def title_of(rule: AlertRule, found: AlertFinding) -> str:
    """Return the title of an alert."""
    about = found.subject.agent or "All agents"
    if found.subject.version is not None:
        about += f" {found.subject.version}"
    match rule:
        case ShareRuleSettings():
            assert found.share is not None and found.reference is not None
            share, reference = f"{found.share:.0%}", f"{found.reference:.0%}"
            if isinstance(rule, SatisfactionBelow):
                return f"{about}: satisfaction is {share}, below {100 * rule.below:.4g}%"
            return f"{about}: satisfaction dropped from {reference} to {share}"
        case Silence():
            return f"{about}: no feedback for {rule.hours} hours"
        case NewIssue():
            return f"{about}: new issue {found.subject.issue} affects {_people(found.number)}"
        case RegressedIssue():
            return f"{about}: issue {found.subject.issue} came back"


def text_of(rule: AlertRule, found: AlertFinding) -> str:
    """Return a sentence with the figures that triggered the alert."""
    match rule:
        case ShareRuleSettings():
            by = "People's verdicts" if rule.verdicts == "people" else "Machine verdicts"
            return (
                f"{by} since {format_instant(found.since)[:10]}: {found.number:,}, with {found.rejected:,} rejections. "
                f"Satisfaction is at most {found.bound or 0:.0%} (always-valid confidence bound)."
            )
        case Silence():
            return f"There were {found.number:,} verdicts in the same hours of the previous week."
        case IssueRuleSettings():
            turns = f"{found.rejected:,} rejected turn{'' if found.rejected == 1 else 's'} of {_people(found.number)}"
            day = format_instant(found.since)[:10]
            if isinstance(rule, RegressedIssue):
                return f"Answers were rejected again on {day}, after the issue was resolved. It has {turns} in total."
            return f"It has {turns}, since {day}."


def path_of(rule: AlertRule, at: Project, found: AlertFinding) -> str:
    """Return the path of the dashboard page for a finding.

    Findings about satisfaction or an issue link to the rejected turns. Findings about missing feedback link to the
    verdicts in the same hours a week earlier.
    """
    query: dict[str, str] = {"at": f"{at.tenant}/{at.project}"}
    if found.subject.issue is not None:
        return (
            f"{_LIST}?{urlencode(query | {'issue': str(found.subject.issue), 'reaction': 'not_ok', 'period': 'all'})}"
        )
    if found.subject.agent is not None:
        query["agent"] = found.subject.agent
    if found.subject.version is not None:
        query["version"] = found.subject.version
    since, until = found.since, found.until
    if isinstance(rule, ShareRuleSettings):
        query |= {"origin": "user" if rule.verdicts == "people" else "machine", "reaction": "not_ok"}
    else:
        since, until = (
            since - 7 * DAY,
            until - 7 * DAY,
        )  # show the verdicts of a week before, because there are none since
    query |= {"type": "verdict", "from": _minute(since), "to": _minute(until - MINUTE), "tz": "UTC"}
    return f"{_LIST}?{urlencode(query)}"


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number:,} people"


def _minute(moment: int) -> str:
    return format_instant(moment)[:16]
