"""The history of the sample: every page has something to show, and further runs change nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from tests.support.command import serving, state_folder

AT = "/conversations/demo/support"


async def shown(state: Path) -> dict[str, Any]:
    """Run the sample, and return what it shows."""
    async with (
        serving(state, "--sample") as (url, token),
        httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
    ):
        issues = (await http.get(f"{AT}/issues")).json()
        alerts = (await http.get(f"{AT}/alerts")).json()
        audit = (await http.get(f"{AT}/audit")).json()
        agents = (await http.get(f"{AT}/feedback/agents")).json()["agents"]
        pairs = (await http.get(f"{AT}/exports/dpo")).raise_for_status().text.splitlines()
        ratings = (await http.post("/conversations/demo/sessions", json={})).json()
    return {
        "issues": Counter(one["state"] for one in issues["items"]),
        "resolved": {
            (one["agent_id"], one["resolved_in"]): one["state"] for one in issues["items"] if one["resolved_in"]
        },
        "alerts": {(one["rule"], one["title"].split(":")[0], one["over_at"] is None) for one in alerts["alerts"]},
        "pairs": len(pairs),
        "sessions": ratings["totals"]["sessions"],
        "reviewed": sum(one["reviewer"] for one in agents),
        "audit": audit["pending"],
    }


async def test_pages_have_issues_alerts_sessions_reviews_and_pairs() -> None:
    async with state_folder() as state:
        first = await shown(state)
        assert set(first["issues"]) == {"open", "resolved", "muted", "regressed"}
        assert first["resolved"] == {
            ("home-support", "0.9.4"): "resolved",
            ("data-analyst", "2.4.1"): "regressed",
            ("trip-planner", "3.2.0"): "resolved",
        }
        # Days of a test begin at midnight, so more alerts open and end on some hours of the day.
        assert {
            ("satisfaction-dropped", "shop-helper", True),
            ("trips-below-70", "trip-planner", False),
            ("fixed-issue-is-back", "data-analyst", True),
        } <= first["alerts"]
        assert sum(is_open for *_, is_open in first["alerts"]) == 2
        assert first["pairs"] > 20
        assert first["sessions"] > 100
        assert first["reviewed"] > 30
        assert first["audit"] > 0
        assert await shown(state) == first
