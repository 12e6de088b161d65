"""`agent-feedback erase` against a serving run."""

from __future__ import annotations

from pathlib import Path

from tests.support.command import agent_feedback, serving, state_folder
from tests.support.databases import SCHEMA_FILES


async def test_the_command_erases_waits_and_says_so(tmp_path: Path) -> None:
    async with state_folder() as state, serving(state) as (url, _):
        ended = await agent_feedback(
            *("erase", "--tenant", "demo", "--user", "nobody", "--yes", "--json", "--state", state)
        )
        assert ended.code == 0, ended.err
        assert ended.facts["complete"] is True
        assert {receipt["service"] for receipt in ended.facts["receipts"]} == set(SCHEMA_FILES)
        again = await agent_feedback(
            *("erase", "--tenant", "demo", "--status", ended.facts["request_id"], "--state", state)
        )
        assert again.code == 0
        assert "complete" in again.out
        wrong = await agent_feedback(
            *("erase", "--url", url, "--token", "wrong", "--tenant", "demo", "--user", "x", "--yes")
        )
        assert (wrong.code, "401" in wrong.err) == (1, True)
    nothing = await agent_feedback("erase", "--tenant", "demo", "--user", "x", "--yes", "--state", tmp_path)
    assert nothing.code == 3
