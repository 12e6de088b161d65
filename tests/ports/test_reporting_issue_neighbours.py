"""Issues of an agent beside those of another tenant, project or agent that share every other id."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import asyncpg
import pytest
import pytest_asyncio

from contracts.erasure import Person
from contracts.instants import DAY, SECOND
from reporting.http.conversations import conversations_router
from reporting.http.exports import exports_router
from reporting.http.issues import issues_router
from reporting.issues.store import AgentScope, IssueChange, change, merge, split
from reporting.read_models.erasure import ReportingErasures
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.clock import FixedClock
from tests.support.issue_turns import NOW, TOPICS, issue_job, rejected_turn, rejected_turns
from tests.support.reporting_client import client
from tests.support.reporting_database import empty_read_models
from tests.support.reporting_events import START, batch, feedback

OURS: Final = AgentScope("acme", "support", "bot")
THEIRS: Final[Mapping[str, tuple[AgentScope, dict[str, Any]]]] = {
    "another tenant": (AgentScope("globex", "support", "bot"), {"tenant": "globex"}),
    "another project": (AgentScope("acme", "p2", "bot"), {"project": "p2"}),
    "another agent": (AgentScope("acme", "support", "other"), {"agent": "other", "thread": "d"}),
}
"""Neighbours by what differs. Another agent's conversations are others, with the same turn and message ids."""
TABLES: Final = ("issues", "issue_turns", "issue_agents", "issue_versions", "issue_counts")
PATH: Final = "/conversations/acme/support"


class Side:
    """One of two agents to whom the same things happen in turn, as far as `is_ours` does not say otherwise."""

    def __init__(self, pool: asyncpg.Pool, agent: AgentScope, more: dict[str, Any]) -> None:
        self.pool = pool
        self.agent = agent
        self.is_ours = agent == OURS
        self._more = more

    async def take(self, start: int, count: int, version: str, **more: Any) -> None:
        said = rejected_turns(start, count, version=version, **self._different(), **more)
        await ProjectionHandler(PostgresReadModels(self.pool)).handle(batch(*said))

    async def accepts(self, number: int, version: str) -> None:
        said = list(rejected_turn(number, TOPICS[0], version=version, **self._different()))[:2]
        await ProjectionHandler(PostgresReadModels(self.pool)).handle(batch(*said))

    async def retracts(self, number: int) -> None:
        where = {name: self._more[name] for name in ("tenant", "project", "agent") if name in self._more}
        gone = feedback(
            f"f{number}{'' if self.is_ours else ' of theirs'}", kind="explicit", reaction=None, revision=2,
            turn=f"t{number}", conversation=self.conversation(number), user=f"u{number}", at=1_000, **where,
        )  # fmt: skip
        await ProjectionHandler(PostgresReadModels(self.pool)).handle(batch(gone))

    def conversation(self, number: int) -> str:
        return f"{self._more.get('thread', 'c')}{number}"

    async def by_topic(self) -> list[int]:
        rows = await self.pool.fetch(
            "select issue_id from issue_turns where turn_id in ('t0', 't1', 't2') and tenant = $1 and project = $2 "
            "and agent_id = $3 order by turn_id", *self.agent,
        )  # fmt: skip
        return [row["issue_id"] for row in rows]

    def _different(self) -> dict[str, Any]:
        """Return the differences of the neighbour: other words, and later answers to questions at the same time."""
        if self.is_ours:
            return {}
        return {**self._more, "name": " of theirs", "slow": 3, "about": "Their", "words": "Theirs is wrong."}


async def history(sides: list[Side]) -> None:
    """Reject, group, resolve, merge and split; take back, erase and reject again."""
    pool = sides[0].pool
    for side in sides:
        first, later = ("1", "2") if side.is_ours else ("2", "1")  # theirs had another order of versions
        await side.take(0, 15, first)
        await side.accepts(100, later)
    await issue_job(pool).catch_up()
    for side in sides:
        refund, parcel, password = await side.by_topic()
        solved = IssueChange("resolved", "2", "ann", "Fixed.")
        assert await change(pool, side.agent.at, refund, solved, START + 200 * SECOND)
        if side.is_ours:
            assert await merge(pool, side.agent.at, parcel, password, NOW)
            assert await split(pool, side.agent.at, refund, [("c0", "t0"), ("c3", "t3")], NOW)
        else:
            assert await merge(pool, side.agent.at, refund, parcel, NOW)
            turns = [(side.conversation(number), f"t{number}") for number in (2, 5, 8)]
            assert await split(pool, side.agent.at, password, turns, NOW)
            await side.retracts(4)
            if side.agent.tenant != OURS.tenant:
                await ReportingErasures(pool).erase({Person(side.agent.tenant, "u7"): NOW})
    await issue_job(pool).catch_up()
    for side in sides:
        await side.take(15, 3, "1", at=300)
    await issue_job(pool).catch_up()
    await issue_job(pool, NOW + DAY).catch_up()


async def told(pool: asyncpg.Pool) -> dict[str, Any]:
    """Return the rows and responses about our agent, with its issues numbered from 1."""
    query = "select id from issues where (tenant, project, agent_id) = ($1, $2, $3) order by id"
    ids = [row["id"] for row in await pool.fetch(query, *OURS)]
    number = {id_: n for n, id_ in enumerate(ids, 1)}
    found: dict[str, Any] = {}
    for table in TABLES:
        mine = "issue_id = any($1)" if table == "issue_counts" else "(tenant, project, agent_id) = ($1, $2, $3)"
        rows = await pool.fetch(f"select * from {table} where {mine}", *([ids] if table == "issue_counts" else OURS))
        found[table] = sorted(
            repr({k: number.get(v, v) if k in ("id", "issue_id", "merged_into") else v for k, v in row.items()})
            for row in rows
        )
    clock = FixedClock(NOW + DAY)
    routers = [issues_router(pool, pool, clock), conversations_router(pool, clock), exports_router(pool)]
    async with client(routers) as http:
        listed = (await http.get(f"{PATH}/issues", params={"agent_id": "bot"})).json()
        found["list"] = listed["waiting"], [_numbered(one, number) for one in listed["items"]]
        for id_ in ids:
            one = (await http.get(f"{PATH}/issues/{id_}")).json()
            found[f"issue {number[id_]}"] = one | {"issue": _numbered(one["issue"], number)}
            rejected = (await http.post(f"{PATH}/feedback/search", json={"issue": id_})).json()["items"]
            found[f"feedback of {number[id_]}"] = rejected
            text = (await http.get(f"{PATH}/exports/kto", params={"issue": id_})).text
            found[f"export of {number[id_]}"] = [json.loads(line) for line in text.splitlines()]
    return found


def _numbered(item: dict[str, Any], number: Mapping[int, int]) -> dict[str, Any]:
    return item | {name: number.get(item[name], item[name]) for name in ("id", "merged_into")}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def alone(postgres_url: str) -> AsyncIterator[dict[str, Any]]:
    """Yield what is told of our agent without any neighbour."""
    async with empty_read_models(postgres_url) as pool:
        await history([Side(pool, OURS, {})])
        yield await told(pool)


async def test_the_history_reaches_every_table_and_response(alone: dict[str, Any]) -> None:
    of_the_merged_one = {"feedback of 2", "export of 2"}
    assert {name for name, value in alone.items() if not value} == of_the_merged_one
    assert {one["state"] for one in alone["list"][1]} == {"open", "resolved"}


@pytest.mark.parametrize("kind", THEIRS)
async def test_a_neighbour_with_the_same_ids_changes_nothing(
    postgres_url: str, alone: dict[str, Any], kind: str
) -> None:
    async with empty_read_models(postgres_url) as pool:
        await history([Side(pool, OURS, {}), Side(pool, *THEIRS[kind])])
        beside = await told(pool)
    for name, value in alone.items():
        assert beside[name] == value, name
