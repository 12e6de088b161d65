"""Session ratings in the reports: from the log, by day and by length, of one tenant, without people."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_OID, uuid5

import asyncpg
import pytest

from agent_feedback_kit.answers import Label
from contracts.feedback import FeedbackSessionCreated
from contracts.scopes import ALL_SCOPES
from reporting.http.figures import figures_router
from reporting.pages.routes import pages_router
from reporting.pages.visits import PageSources
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.log.outcome import Outcome
from servicekit.web.auth import Caller
from tests.support.hand_clock import FixedClock
from tests.support.reporting_client import CALLERS, client
from tests.support.reporting_events import START, batch, feedback

NOW = FixedClock(START + 7_200_000_000)
DAY = 86_400.0


@pytest.fixture(autouse=True)
def _whole_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CALLERS, "tenant", Caller("ann", tenant="acme", scopes=ALL_SCOPES))


def rated(name: str, label: Label, *, turns: int = 3, at: float = 0, tenant: str = "acme") -> FeedbackSessionCreated:
    return FeedbackSessionCreated(
        event_id=f"{tenant}-{name}",
        occurred_at=START + int(at * 1_000_000),
        tenant=tenant,
        id=uuid5(NAMESPACE_OID, f"{tenant} {name}"),
        session_id_opaque="0" * 64,
        user_id_or_null="ann",
        recorded_at=START + int(at * 1_000_000),
        label=label,
        turn_count_at_end=turns,
        source="api_end",
    )


SAID = (
    rated("s1", "positive", turns=1, at=-DAY),
    rated("s2", "negative", turns=2),
    rated("s3", "positive", turns=3, at=60),
    rated("s4", "skip", turns=40, at=120),
    rated("s5", "negative", turns=0, at=-90 * DAY),
    rated("s1", "negative", turns=1, tenant="globex"),
)


async def take(read_models: asyncpg.Pool, *events: Any) -> Any:
    return await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(*events))


async def ask(read_models: asyncpg.Pool, token: str = "tenant", tenant: str = "acme", **body: Any) -> Any:
    async with client([figures_router(read_models, NOW)], token) as http:
        return await http.post(f"/conversations/{tenant}/sessions", json=body)


async def test_ratings_are_counted_by_day_and_length(read_models: asyncpg.Pool) -> None:
    assert set(await take(read_models, *SAID, feedback("f1"))) == {Outcome.STORED}
    assert await take(read_models, SAID[0], feedback("f1"), SAID[1]) == [Outcome.UNCHANGED] * 3
    found = (await ask(read_models)).json()
    assert found["totals"] == {"sessions": 4, "positive": 2, "negative": 1, "skipped": 1, "share": 2 / 3}
    assert [(one["start"][:10], one["sessions"], one["share"]) for one in found["buckets"]] == [
        ("2026-09-20", 1, 1.0),
        ("2026-09-21", 3, 0.5),
    ]
    assert [(one["turns_from"], one["turns_to"], one["sessions"], one["share"]) for one in found["by_length"]] == [
        (1, 1, 1, 1.0),
        (2, 3, 2, 0.5),
        (32, None, 1, None),
    ]
    whole = (await ask(read_models, start="2026-01-01T00:00:00Z", bucket="week")).json()
    assert (whole["totals"]["sessions"], whole["by_length"][0]["turns_to"]) == (5, 0)
    assert (await ask(read_models, start="2026-01-02T00:00:00Z", end="2026-01-01T00:00:00Z")).status_code == 422


async def test_they_are_a_tenants_and_nobody_is_named(read_models: asyncpg.Pool) -> None:
    await take(read_models, *SAID)
    assert (await ask(read_models, "globex", "globex")).json()["totals"]["sessions"] == 1
    assert (await ask(read_models, "acme")).status_code == 403
    assert (await ask(read_models, "tenant", "globex")).status_code == 403
    assert (await ask(read_models, "all", "nowhere")).json()["totals"]["share"] is None
    assert "ann" not in str([tuple(row) for row in await read_models.fetch("select s::text from sessions s")])


async def test_the_page_shows_them_to_who_reaches_the_tenant(read_models: asyncpg.Pool) -> None:
    await take(read_models, *SAID, feedback("f1"), feedback("g1", tenant="globex"))
    address = "/dashboard/sessions?at=acme/support&period=all"
    async with client([pages_router(PageSources(read_models, read_models, NOW))], "tenant") as http:
        page = (await http.get("/dashboard/sessions?at=acme/support&period=30d")).text
        assert '<p class="figure">67%</p>' in page
        assert "2 to 3" in page and "32 or more" in page and "2026-09-20" in page
        empty = (await http.get("/dashboard/sessions?at=acme/support&from=2020-01-01&to=2020-02-01")).text
        assert "No session was rated in this period" in empty
        assert (await http.get("/dashboard/sessions?at=globex/support")).status_code == 404
    async with client([pages_router(PageSources(read_models, read_models, NOW))], "acme") as http:
        refused = await http.get(address)
        assert (refused.status_code, "only some of its projects" in refused.text) == (404, True)
