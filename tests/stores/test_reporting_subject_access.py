"""Reporting's rows of a person whose table does not name them, and the counts that precede an erasure."""

from __future__ import annotations

from typing import Any, Final

import asyncpg
import pytest

from reporting.sql import SQL
from tests.support.filled_rows import insert

PLACE: Final = {"tenant": "acme", "project": "support"}
TURN: Final = {**PLACE, "conversation_id": "c1", "turn_id": "t1"}
EVE: Final = {"tenant": "acme", "user_id": "eve"}
ELSEWHERE: Final = [{"tenant": "globex"}, {"project": "sales"}, {"user_id": "eva"}]
"""One difference each from what eve says."""


async def held(pool: asyncpg.Pool, name: str) -> list[asyncpg.Record]:
    return await pool.fetch(*getattr(SQL, name)(**EVE))


def artifact(**different: Any) -> dict[str, Any]:
    row = {"artifact": "acme:support:c1:t1:artifact:turn.log", "state": "current"}
    return {**TURN, **row, **different}


@pytest.mark.parametrize("state", ["writing", "current"])
async def test_a_log_of_a_turn_is_held_of_whoever_judged_the_turn(read_models: asyncpg.Pool, state: str) -> None:
    await insert(read_models, "feedbacks", {**TURN, "user_id": "eve"})
    await insert(read_models, "hosted_artifacts", artifact(state=state))
    assert len(await held(read_models, "held_hosted_artifacts")) == 1


@pytest.mark.parametrize("different", [*ELSEWHERE, {"conversation_id": "c2"}, {"turn_id": "t2"}], ids=str)
async def test_a_log_of_another_turn_is_not_held(read_models: asyncpg.Pool, different: dict[str, Any]) -> None:
    await insert(read_models, "feedbacks", {**TURN, "user_id": "eve", **different})
    await insert(read_models, "hosted_artifacts", artifact())
    assert await held(read_models, "held_hosted_artifacts") == []


COUNTED: Final = {**PLACE, "grain": "reason hour", "kind": "tag", "reason": "slow"}


@pytest.mark.parametrize("different", [{}, {"grain": "reason day"}], ids=str)
async def test_counts_of_a_reason_are_held_of_whoever_wrote_it(
    read_models: asyncpg.Pool, different: dict[str, Any]
) -> None:
    await insert(read_models, "feedbacks", {**PLACE, "user_id": "eve", "tags": ["rude", "slow"]})
    await insert(read_models, "rollups", {**COUNTED, **different})
    assert len(await held(read_models, "held_rollups")) == 1


async def test_the_counts_before_an_erasure_are_of_one_person_in_the_named_projects(read_models: asyncpg.Pool) -> None:
    """Two messages, two verdicts and a reply in three projects. No other row counts."""
    said = {**PLACE, "sender_id": "eve", "sender_type": "human"}
    others = ({"tenant": "globex"}, {"sender_id": "eva"}, {"sender_type": "agent"})
    await insert(read_models, "messages", *(said | more for more in ({}, {"project": "sales"}, *others)))
    verdict = {**PLACE, "user_id": "eve", "reaction": "ok"}
    unknown = {"project": "unnamed"}
    more: list[dict[str, Any]] = [{}, {}, {"tenant": "globex"}, {"user_id": "eva"}, unknown, {"reaction": None}]
    await insert(read_models, "feedbacks", *(verdict | one for one in more))
    reply = {"tenant": "acme", "project": "shop", "user_id": "eve", "value": 0.4, "feedback_type": "implicit"}
    more = [{}, {"tenant": "globex"}, {"user_id": "eva"}, unknown, {"value": None}]
    await insert(read_models, "feedbacks", *(reply | one for one in more))
    [row] = await read_models.fetch(*SQL.count_of_person(**EVE, projects=["support", "sales", "shop"]))
    assert dict(row) == {"messages": 2, "feedback": 3, "projects": 3}
