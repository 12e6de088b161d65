"""Real conversations with all services in one process: each line has an outcome, each response of a person is stored
once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Ended, agent_feedback, said_in, state_folder
from tests.support.recount import CHAT_EVENTS, HOSTILE, JUDGED_AT, SAMPLES, Said, lines_of, needs_samples, recount

ACCEPTED_STYLES = (
    *(
        "Id is a number",
        "userType missing",
        "userType is an unknown value",
        "content is empty",
        "content is only blanks",
    ),
    "occurredAt: a number of milliseconds",
    # Another text of the same time came in between, and of versions of one time the one that was logged last counts.
    "(sent again by the platform)",
)
"""Ends of the sample's descriptions of lines whose outcome differs from the sample's: chat topics accept them."""
pytestmark = [needs_samples, pytest.mark.samples, pytest.mark.timeout(1_800)]


async def _run(state: Path, *files: Path, outcomes: Path | None = None) -> Ended:
    arguments: list[str | Path] = ["up", "--exit", "--json", "--port", "0", "--state", state, "--now", JUDGED_AT]
    for file in files:
        arguments += ["--replay", file]
    if outcomes is not None:
        arguments += ["--outcomes", outcomes]
    return await agent_feedback(*arguments, within=600)


@pytest.fixture(scope="module")
async def once() -> AsyncIterator[tuple[dict[str, Any], set[Said], Path]]:
    """Replay the sample once; return its report, the live records and the state folder."""
    async with state_folder() as state:
        ended = await _run(state, CHAT_EVENTS)
        assert ended.code == 0, ended.err
        yield ended.facts, await said_in(state), state


async def test_every_line_is_accounted_for(once: tuple[dict[str, Any], set[Said], Path]) -> None:
    facts, *_ = once
    lines = len(lines_of(CHAT_EVENTS))
    assert facts["replayed"] == {"lines": lines, "events": lines, "rejected": []}
    assert sum(facts["topics"][name] for name in facts["topics"] if name.startswith("chat.")) == lines
    assert sum(facts["dead_letters"].values()) == 0
    assert facts["parked"] == 0


async def test_what_people_said_equals_a_recount(once: tuple[dict[str, Any], set[Said], Path]) -> None:
    facts, stored, _ = once
    expected = recount(lines_of(CHAT_EVENTS))
    assert stored == expected
    kinds = Counter(said.kind for said in expected)
    by_type = facts["feedback"]["by_type"]
    assert (by_type["implicit"], by_type["reaction"]) == (kinds["implicit"], kinds["reaction"])
    assert facts["report"]["user"] == kinds["reaction"]
    report = facts["report"]
    assert report["total"] == report["user"] + report["machine"] == sum(report[n] for n in ("ok", "not_ok", "neutral"))


async def test_every_hostile_line_ends_as_it_should(tmp_path: Path) -> None:
    expected = json.loads((SAMPLES / "hostile_expected.json").read_text("utf-8"))["lines"]
    async with state_folder() as state:
        ended = await _run(state, HOSTILE, outcomes=tmp_path / "outcomes.jsonl")
    assert ended.code == 0, ended.err
    fates = [json.loads(line) for line in (tmp_path / "outcomes.jsonl").read_text("utf-8").splitlines()]
    assert [fate["line"] for fate in fates] == list(range(1, len(fates) + 1))
    assert len(fates) == ended.facts["replayed"]["lines"] == len(expected)
    wrong = {}
    for fate in fates:
        line = expected[str(fate["line"])]
        accepted = {"good", "parked"} if line["what"].endswith(ACCEPTED_STYLES) else set()
        if fate["fate"] not in {line["class"], *line.get("also_acceptable", ()), *accepted}:
            wrong[fate["line"]] = (fate["fate"], fate["reason"], line["what"])
    assert wrong == {}
