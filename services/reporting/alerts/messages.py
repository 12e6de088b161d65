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


def title_of(rule: AlertRule, finding: AlertFinding) -> str:
    """Return the title of an alert."""
    about = finding.subject.agent or "All agents"
    if finding.subject.version is not None:
        about += f" {finding.subject.version}"
    match rule:
        case ShareRuleSettings():
            assert finding.share is not None and finding.reference is not None
            share, reference = f"{finding.share:.0%}", f"{finding.reference:.0%}"
            if isinstance(rule, SatisfactionBelow):
                return f"{about}: satisfaction is {share}, below {100 * rule.below:.4g}%"
            return f"{about}: satisfaction dropped from {reference} to {share}"
        case Silence():
            return f"{about}: no feedback for {rule.hours} hours"
        case NewIssue():
            return f"{about}: new issue {finding.subject.issue} affects {_people(finding.number)}"
        case RegressedIssue():
            return f"{about}: issue {finding.subject.issue} came back"


def text_of(rule: AlertRule, finding: AlertFinding) -> str:
    """Return a sentence with the figures that triggered the alert."""
    match rule:
        case ShareRuleSettings():
            by = "People's verdicts" if rule.verdicts == "people" else "Machine verdicts"
            return (
                f"{by} since {format_instant(finding.since)[:10]}: {finding.number:,}, "
                f"with {finding.rejected:,} rejections. "
                f"Satisfaction is at most {finding.bound or 0:.0%} (always-valid confidence bound)."
            )
        case Silence():
            return f"There were {finding.number:,} verdicts in the same hours of the previous week."
        case IssueRuleSettings():
            turns = (
                f"{finding.rejected:,} rejected turn{'' if finding.rejected == 1 else 's'} of {_people(finding.number)}"
            )
            day = format_instant(finding.since)[:10]
            if isinstance(rule, RegressedIssue):
                return f"Answers were rejected again on {day}, after the issue was resolved. It has {turns} in total."
            return f"It has {turns}, since {day}."


def path_of(rule: AlertRule, project: Project, finding: AlertFinding) -> str:
    """Return the path of the dashboard page for a finding.

    Findings about satisfaction or an issue link to the rejected turns. Findings about missing feedback link to the
    verdicts in the same hours a week earlier.
    """
    query: dict[str, str] = {"at": f"{project.tenant}/{project.project}"}
    if finding.subject.issue is not None:
        return (
            f"{_LIST}?{urlencode(query | {'issue': str(finding.subject.issue), 'reaction': 'not_ok', 'period': 'all'})}"
        )
    if finding.subject.agent is not None:
        query["agent_id"] = finding.subject.agent
    if finding.subject.version is not None:
        query["agent_version"] = finding.subject.version
    since, until = finding.since, finding.until
    if isinstance(rule, ShareRuleSettings):
        query |= {"origin": "user" if rule.verdicts == "people" else "machine", "reaction": "not_ok"}
    else:
        since, until = (
            since - 7 * DAY,
            until - 7 * DAY,
        )  # show the verdicts of a week before, because there are none since
    query |= {"feedback_type": "verdict", "from": _minute(since), "to": _minute(until - MINUTE), "tz": "UTC"}
    return f"{_LIST}?{urlencode(query)}"


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number:,} people"


def _minute(moment: int) -> str:
    return format_instant(moment)[:16]
