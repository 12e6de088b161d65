"""The history of the sample: every page has something to show, a command exports it, further runs change nothing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from tests.support.command import agent_feedback, serving, state_folder

AT = "/conversations/demo/support"


async def shown(run: tuple[str, str]) -> dict[str, Any]:
    """Return what a run with this address and token shows."""
    url, token = run
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
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


async def exported(state: Path, folder: Path) -> None:
    """Run `agent-feedback export` against the run with this state folder."""
    where = ("--tenant", "demo", "--project", "support", "--state", state)
    ended = await agent_feedback("export", "kto", "--out", folder / "kto.jsonl", *where, "--json")
    assert ended.code == 0, ended.err
    lines = (folder / "kto.jsonl").read_text("utf-8").splitlines()
    manifest = json.loads((folder / "kto.jsonl.manifest.json").read_text("utf-8"))
    assert manifest == ended.facts
    assert (manifest["examples"], manifest["format"]) == (len(lines), "kto")
    assert len(lines) > 20
    assert {"prompt", "completion", "label"} <= json.loads(lines[0]).keys()
    wrong = await agent_feedback("export", "kto", "--out", folder / "no" / "such.jsonl", *where)
    assert (wrong.code, "cannot be written" in wrong.err) == (1, True)
    nowhere = folder / "nowhere.jsonl"
    ended = await agent_feedback("export", "kto", "--out", nowhere, *where[:3], "no-such", *where[4:])
    assert (ended.code, ended.out) == (1, "")
    assert "The project no-such of the tenant demo has no messages and no feedback." in ended.err
    assert not nowhere.exists()


async def test_pages_and_the_export_have_something_to_show(tmp_path: Path) -> None:
    async with state_folder() as state:
        async with serving(state, "--sample") as run:
            first = await shown(run)
            await exported(state, tmp_path)
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
        async with serving(state, "--sample") as run:
            assert await shown(run) == first
