"""Response on the overview and the agent page: as the HTTP API counts it, and left out without answers."""

from __future__ import annotations

import html
import re
from typing import Any

import asyncpg
import httpx

from contracts.feedback import FeedbackImpressionsReceived, ShownTurn
from reporting.api.figures import figures_router
from reporting.dashboard.routes import pages_router
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.clock import FixedClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, batch, feedback, message

NOW = FixedClock(START + 3_600_000_000)


def visitor(read_models: asyncpg.Pool) -> httpx.AsyncClient:
    return client([pages_router(read_models, NOW, None), figures_router(read_models, NOW)], "all")


def rows(page: str) -> dict[str, list[str]]:
    """Return the cells of the section Response, by the heading of the row."""
    section = page.partition('id="response"')[2].partition("</section>")[0]
    found = {}
    for row in re.findall(r"<tr>(.*?)</tr>", section, re.DOTALL):
        cells = [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, re.DOTALL)]
        name, *values = (html.unescape(re.sub(r"\s+", " ", cell)).strip() for cell in cells)
        found[name] = values
    return found


async def four_answers(read_models: asyncpg.Pool, *, shown: bool) -> None:
    """Write three answers of version 1 and one of version 2. Ann rejects one and sees two of version 1, one of 2."""
    events: list[Any] = [feedback("f0", conversation="c0", turn="t0", agent="bot", reaction="not_ok", at=9)]
    events += [
        message(f"a{n}", conversation=f"c{n}", turn=f"t{n}", agent="bot", at=n, agent_version="2" if n == 3 else "1")
        for n in range(4)
    ]
    for n in (0, 1, 3) if shown else ():
        turn = ShownTurn(turn_id=f"t{n}", agent_id="bot", agent_version="2" if n == 3 else "1")
        events.append(
            FeedbackImpressionsReceived(
                event_id=f"shown {n}", occurred_at=START, tenant="acme", project="support",
                conversation_id=f"c{n}", user_id="ann", turns=(turn,),
            )
        )  # fmt: skip
    await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(*events))


async def test_the_overview_and_the_agent_page_show_both_shares(read_models: asyncpg.Pool) -> None:
    await four_answers(read_models, shown=True)
    async with visitor(read_models) as http:
        overview = rows((await http.get("/?period=24h")).text)
        agent = rows((await http.get("/dashboard/agent?agent=bot&period=24h")).text)
        api = (await http.get("/conversations/acme/support/feedback/response-rates")).json()
    assert (api["totals"]["turns"], api["totals"]["responses"], api["totals"]["viewers"]) == (4, 1, 1)
    assert list(overview) == ["Agent", "All"], "one agent is the same as all"
    turns, impressions, viewers = overview["All"]
    assert turns.startswith("25% ") and turns.endswith(" 1 of 4")
    assert impressions.startswith("33% ") and impressions.endswith(" 1 of 3")
    assert viewers == "1"
    assert list(agent) == ["Version", "All", "1", "2"]
    assert [one.rpartition("% ")[2] for one in agent["1"][:2]] == ["1 of 3", "1 of 2"]
    assert [one.rpartition("% ")[2] for one in agent["2"][:2]] == ["0 of 1", "0 of 1"]


async def test_without_impressions_the_pages_show_the_answers_alone(read_models: asyncpg.Pool) -> None:
    await four_answers(read_models, shown=False)
    async with visitor(read_models) as http:
        found = rows((await http.get("/?period=24h")).text)
        assert found["Agent"] == ["Answered turns with people's feedback"]
        assert len(found["All"]) == 1 and found["All"][0].endswith(" 1 of 4")
        hour_before = await http.get("/?from=2026-09-20&to=2026-09-20")
        assert hour_before.status_code == 200 and 'id="response"' not in hour_before.text


async def test_all_time_has_the_answers_before_the_first_feedback(read_models: asyncpg.Pool) -> None:
    await four_answers(read_models, shown=True)
    async with visitor(read_models) as http:
        for page in ("/?period=all", "/dashboard/agent?agent=bot&period=all"):
            turns, impressions, _ = rows((await http.get(page)).text)["All"]
            assert (turns.rpartition("% ")[2], impressions.rpartition("% ")[2]) == ("1 of 4", "1 of 3"), page
        own = await http.get("/?period=all&from=2026-09-22")
        assert 'id="response"' not in own.text, "a range of the viewer's own keeps its start"
