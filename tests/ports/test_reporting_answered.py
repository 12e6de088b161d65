"""Answered turns by agent, and those that people have judged."""

from __future__ import annotations

import asyncpg
import pytest

from reporting.figures.answered import AnsweredTurns, answered_by_agent
from reporting.model.selection import ALWAYS, Filters, Project
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from tests.support.reporting_events import batch, feedback, message

AT = Project("acme", "support")
EVENTS = [
    *(message(f"a{n}", turn=f"t{n}", agent="bot", agent_version=str(n % 2), at=n) for n in range(4)),
    message("late", turn="t3", agent="other", at=9),
    message("elsewhere", conversation="c2", turn="t0", agent="bot", agent_version="0", at=5),
    feedback("person", turn="t0", reaction="ok", kind="explicit", at=20),
    feedback("twice", turn="t0", user="bob", reaction="not_ok", kind="explicit", at=21),
    feedback("machine", turn="t1", reaction="ok", kind="inferred", at=20),
    feedback("critic", turn="t1", user_type="agent", user="critic", reaction="ok", kind="explicit", at=20),
    feedback("taken back", turn="t2", reaction=None, kind="explicit", at=20),
    feedback("on the other", turn="t3", reaction="ok", kind="explicit", at=20),
]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), {"bot": AnsweredTurns(4, 1), "other": AnsweredTurns(1, 1)}),
        (Filters(agent_version="0"), {"bot": AnsweredTurns(3, 1)}),
        (Filters(agent_id="other"), {"other": AnsweredTurns(1, 1)}),
        (Filters(model="none"), {}),
    ],
)
async def test_turns_count_once_for_the_agent_of_the_last_answer(
    read_models: asyncpg.Pool, filters: Filters, expected: dict[str, AnsweredTurns]
) -> None:
    await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(*EVENTS))
    assert await answered_by_agent(read_models, AT, ALWAYS, filters) == expected


async def test_only_the_newest_answers_are_read(read_models: asyncpg.Pool) -> None:
    await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(*EVENTS))
    assert await answered_by_agent(read_models, AT, ALWAYS, Filters(), scanned=1) == {"other": AnsweredTurns(1, 1)}
