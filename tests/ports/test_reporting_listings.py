"""Agents and reasons page by page: each once, in one window, despite concurrent writes."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from reporting.http.figures import figures_router
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from tests.support.hand_clock import HandClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, batch, feedback

BASE = "/conversations/acme/support/feedback"


async def take(read_models: asyncpg.Pool, *events: Any) -> None:
    await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(*events))


async def some(read_models: asyncpg.Pool) -> None:
    """Store nine agents and nine reasons, some of which differ only in their names."""
    await take(
        read_models,
        *(
            feedback(
                f"f{agent}-{vote}",
                kind="explicit",
                agent=f"agent-{agent}",
                turn=f"t{agent}-{vote}",
                reaction="not_ok" if vote % 3 else "ok",
                tags=(f"reason-{agent}",),
                at=vote,
            )
            for agent in range(9)
            for vote in range(1 + agent // 2)
        ),
    )


@pytest.mark.parametrize(("path", "name"), [("agents", "agent_id"), ("reasons", "reason")])
async def test_each_comes_once_and_in_order(read_models: asyncpg.Pool, path: str, name: str) -> None:
    await some(read_models)
    now = HandClock()
    now.forward(START / 1_000_000 - 940)
    async with client([figures_router(read_models, now)]) as http:
        query: dict[str, Any] = {"min_votes": 3} if path == "agents" else {}
        whole = [one[name] for one in (await http.get(f"{BASE}/{path}", params=query)).json()[path]]
        full = (await http.get(f"{BASE}/{path}", params=query | {"limit": len(whole)})).json()
        assert ([one[name] for one in full[path]], full["next_cursor"]) == (whole, None), "a full page may be the last"
        found: list[str] = []
        windows: list[dict[str, str]] = []
        cursor: str | None = None
        while not windows or cursor is not None:
            more: dict[str, str] = {"cursor": cursor} if cursor else {}
            page = await http.get(f"{BASE}/{path}", params=query | {"limit": 2} | more)
            assert page.status_code == 200, page.text
            found += [one[name] for one in page.json()[path]]
            windows.append(page.json()["window"])
            cursor = page.json()["next_cursor"]
            # Later than the first page's window, which all pages keep.
            now.forward(3_600)
            await take(
                read_models, feedback(f"late{len(windows)}", turn="late", agent="agent-late", tags=("late",), at=3_000)
            )
        assert found == whole
        assert len(found) == 9
        assert windows == [windows[0]] * 5
        other = query | {"limit": 2, "origin": "user"}
        first = (await http.get(f"{BASE}/{path}", params=query | {"limit": 2})).json()["next_cursor"]
        assert (await http.get(f"{BASE}/{path}", params=other | {"cursor": first})).status_code == 400
        assert (await http.get(f"{BASE}/{path}", params=query | {"cursor": "x"})).status_code == 400
