"""Runs of the command line in forks: each is a process of its own, like one that a user starts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.warm_command import agent_feedback_warm


async def test_output_errors_and_exit_code_are_those_of_the_run(tmp_path: Path) -> None:
    topics = await agent_feedback_warm("topics", "--json")
    assert (topics.code, topics.err) == (0, "")
    assert "feedback.created" in json.dumps(topics.facts)
    wrong = await agent_feedback_warm("no-such-command")
    assert (wrong.code, wrong.out) == (2, "")
    assert "no-such-command" in wrong.err


async def test_a_run_has_its_own_environment_and_leaves_nothing_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    runs = [
        await agent_feedback_warm("--help"),
        await agent_feedback_warm("--help", COLUMNS="60"),
        await agent_feedback_warm("--help"),
    ]
    widths = [max(map(len, run.out.splitlines())) for run in runs]
    assert widths == [120, 60, 120]


@pytest.mark.parametrize("within", [0, 0.5])
async def test_a_run_that_does_not_end_is_killed(within: float) -> None:
    """The run waits for a broker for 20 s."""
    async with asyncio.timeout(15):
        with pytest.raises(AssertionError, match="did not end within"):
            await agent_feedback_warm("topics", "--create", "--broker", "127.0.0.1:1", within=within)
    assert (await agent_feedback_warm("topics")).code == 0
