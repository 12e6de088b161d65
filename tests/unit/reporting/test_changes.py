"""Changes that the overview begins with, given hand-written counts."""

from __future__ import annotations

import pytest

from reporting.figures.votes import Votes
from reporting.pages.breakdown import Breakdown, Version
from reporting.pages.overview import significant_changes

LIKED, BAD = Votes(90, 0, 10), Votes(10, 0, 90)


@pytest.mark.parametrize(("version", "listed"), [(BAD, ["2"]), (LIKED, [None])])
def test_an_agent_is_not_listed_beside_the_version_that_explains_its_change(
    version: Votes, listed: list[str | None]
) -> None:
    now, before = Breakdown(), Breakdown()
    now.agents["user", "bot"], before.agents["user", "bot"] = BAD, LIKED
    now.versions["user", Version("bot", "2")] = version
    before.versions["user", Version("bot", "2")] = LIKED
    assert [change.what.name for change in significant_changes(now, before)] == listed
