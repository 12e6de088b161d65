"""Changes that the overview begins with, given hand-written counts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from contracts.instants import DAY
from reporting.figures.votes import Votes
from reporting.issues.reading import Issue
from reporting.issues.resolution import Share
from reporting.pages.changes import growing_issues
from reporting.pages.overview import moved
from reporting.pages.queries.breakdown import Breakdown, Version

NOW = 20_000 * DAY + DAY // 2
LIKED, BAD = Votes(90, 0, 10), Votes(10, 0, 90)


def issue(number: int, days: Sequence[int], first_at: int = 0) -> Issue:
    return Issue(
        id=number, agent_id="bot", words=[], state="open", resolved_in=None, state_at=0, assignee=None, note=None,
        merged_into=None, turns=sum(days), people=1, first_at=first_at, last_at=NOW, versions=[],
        typical_question=None, topic=Share(0, 0), days=days,
    )  # fmt: skip


def test_an_issue_grows_if_its_last_week_has_more_rejections_than_the_week_before() -> None:
    steady, shrinking = issue(1, [1] * 14), issue(2, [2] * 7 + [1] * 7)
    growing, fresh = issue(3, [1] * 7 + [2] * 7), issue(4, [0] * 13 + [30], first_at=NOW - 7 * DAY)
    found = growing_issues([steady, shrinking, growing, fresh], NOW)
    assert [(row.issue.id, row.is_new, row.last_week, row.week_before) for row in found] == [
        (4, True, 30, 0),
        (3, False, 14, 7),
    ]


def test_at_most_six_issues_are_listed() -> None:
    assert len(growing_issues([issue(n, [0] * 13 + [n + 1]) for n in range(9)], NOW)) == 6


@pytest.mark.parametrize(("version", "listed"), [(BAD, ["2"]), (LIKED, [None])])
def test_an_agent_is_not_listed_beside_the_version_that_explains_its_change(
    version: Votes, listed: list[str | None]
) -> None:
    now, before = Breakdown(), Breakdown()
    now.agents["user", "bot"], before.agents["user", "bot"] = BAD, LIKED
    now.versions["user", Version("bot", "2")] = version
    before.versions["user", Version("bot", "2")] = LIKED
    assert [change.what.name for change in moved(now, before)] == listed
