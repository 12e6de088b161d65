"""URLs that can be saved as a view."""

from __future__ import annotations

import pytest

from reporting.dashboard.comparison import VALUE_COLUMNS
from reporting.dashboard.overview import AGENT_COLUMNS
from reporting.dashboard.reading import VERSION_COLUMNS
from reporting.dashboard.savable import SORTED_BY, NotSavable, SavablePage, savable_page, url_of
from reporting.issues.reading import ISSUE_COLUMNS
from reporting.queries.selection import Project

HERE = Project("acme", "support")


@pytest.mark.parametrize(
    ("url", "query"),
    [
        ("/dashboard/feedback?at=globex/x&tenant=globex&project=x&agent=a%26b", "agent=a%26b"),
        ("/dashboard/feedback?cursor=1-2-x&stamp=9&sort=oldest&period=7d", "period=7d&sort=oldest"),
        ("/dashboard/feedback?evil=1&reaction=not_ok&agent=", "reaction=not_ok"),
        ("/dashboard/feedback?from=2026-01-01&to=2026-01-02T09:30&tz=Europe/Berlin", None),
        ("/dashboard/feedback?attributes.lang=de&issue=7&judged=ok&intent=two+words", None),
        ("/dashboard/compare?dimension=model&a=x&b=y&sort=-rejected&issue=7", "dimension=model&a=x&b=y&sort=-rejected"),
        ("/dashboard/issues?state=all&id=c1&turn=t1&feedback=", "state=all"),
        ("/?period=7d&every=1&queue=1&last=c1&last_turn=t1", "period=7d&every=1"),
        ("/?sort=-people", "sort=-people"),
        ("/dashboard/review?sort=anything", ""),
        ("/", ""),
    ],
)
def test_known_filters_are_kept_and_nothing_else(url: str, query: str | None) -> None:
    page = savable_page(url, HERE)
    assert page.path == url.partition("?")[0]
    if query is not None:
        assert sorted(page.query.split("&")) == sorted(query.split("&"))
    again = savable_page(url_of(page, HERE), HERE)
    assert (again.path, sorted(again.query.split("&"))) == (page.path, sorted(page.query.split("&")))
    assert url_of(page, HERE).startswith(f"{page.path}?at=acme%2Fsupport")


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/",
        "//evil.example/",
        "//evil.example/dashboard/feedback",
        "/\\evil.example/",
        "\\\\evil.example",
        " /dashboard/feedback",
        "\t//evil.example/",
        "javascript:alert(1)",
        "dashboard/feedback",
        "/dashboard/feedback/../../x",
        "/dashboard/feedback.csv",
        "/dashboard/conversation?id=c1",
        "/sign-out",
        "/dashboard/views",
        "",
        "http://[::1/",
        "/dashboard/feedback?user=ann",
        "/dashboard/feedback?conversation=c1",
        "/dashboard/feedback?thread=h1",
        "/dashboard/feedback?q=ann@shop.example",
        "/dashboard/feedback?period=nonsense",
        "/dashboard/feedback?sort=-oldest",
        "/dashboard/feedback?sort=turns",
        "/dashboard/issues?sort=rejected",
        "/dashboard/agent?agent=a&sort=--people",
        "/?sort=value",
        "/dashboard/feedback?agent=%00",
        "/?" + "&".join(f"p{n}=1" for n in range(90)),
        "/dashboard/feedback?" + "&".join(f"attributes.{n}={'x' * 250}" for n in range(9)),
    ],
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(NotSavable):
        savable_page(url, HERE)


def test_a_page_is_built_from_its_parts() -> None:
    assert url_of(SavablePage("/", ""), HERE) == "/?at=acme%2Fsupport"


def test_the_columns_are_those_of_the_pages_tables() -> None:
    assert {
        "/": AGENT_COLUMNS.keys(),
        "/dashboard/issues": ISSUE_COLUMNS,
        "/dashboard/compare": VALUE_COLUMNS.keys(),
        "/dashboard/agent": VERSION_COLUMNS.keys(),
    } == SORTED_BY
