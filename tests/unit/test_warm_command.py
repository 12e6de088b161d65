"""Runs of the command line in forks: each is a process of its own, like one that a user starts."""

from __future__ import annotations

import asyncio
import json
import signal
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

import pytest

from tests.support.command import HANG_SECONDS, agent_feedback
from tests.support.waits import PATIENCE_SECONDS
from tests.support.warm_command import warm_command


async def test_output_errors_and_exit_code_are_those_of_the_run(tmp_path: Path) -> None:
    topics = await agent_feedback("topics", "--json")
    assert (topics.code, topics.err) == (0, "")
    assert "feedback.created" in json.dumps(topics.facts)
    wrong = await agent_feedback("no-such-command")
    assert (wrong.code, wrong.out) == (2, "")
    assert "no-such-command" in wrong.err


async def test_a_run_has_its_own_environment_and_leaves_nothing_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    runs = [
        await agent_feedback("--help"),
        await agent_feedback("--help", COLUMNS="60"),
        await agent_feedback("--help"),
    ]
    widths = [max(map(len, run.out.splitlines())) for run in runs]
    assert widths == [120, 60, 120]


@pytest.mark.parametrize("within", [0, 0.5])
async def test_a_run_that_does_not_end_is_killed(within: float) -> None:
    """The run waits for a broker for 20 s."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        with pytest.raises(AssertionError, match="did not end within"):
            await agent_feedback("topics", "--create", "--broker", "127.0.0.1:1", within=within)
    assert (await agent_feedback("topics")).code == 0


async def test_a_run_has_the_folder_of_its_caller(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(
        '{"message": "No, that is wrong.", "label": "rejected", "gate": "not_ok", "source": "x"}\n'
    )
    codes = []
    for name in ("rows.jsonl", "missing.jsonl"):
        command = (*warm_command(), "evaluate", name, "--json")
        process = await asyncio.create_subprocess_exec(*command, cwd=tmp_path, stdout=DEVNULL, stderr=DEVNULL)
        codes.append(await process.wait())
    assert codes == [0, 2]


async def test_a_run_that_a_signal_ends_looks_so_to_its_caller() -> None:
    """SIGUSR1 has no handler, so it ends the fork by itself. A shell's background job would ignore SIGQUIT."""
    arguments = ("topics", "--create", "--broker", "127.0.0.1:1")
    process = await asyncio.create_subprocess_exec(*warm_command(), *arguments, stderr=PIPE)
    assert process.stderr is not None
    async with asyncio.timeout(HANG_SECONDS):
        await process.stderr.readline()
        process.send_signal(signal.SIGUSR1)
        assert await process.wait() == -signal.SIGUSR1
