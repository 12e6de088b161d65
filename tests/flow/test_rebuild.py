"""`agent-feedback rebuild reporting` builds next to the current tables, then replaces them at once, without erased
people."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import asyncpg
import pytest

from feedback.parts import SCHEMA
from feedback.store_postgres import PostgresStore
from reporting.read_models.generation import Generation
from servicekit.db.pools import open_pool
from servicekit.errors import StartError
from standalone.operations.rebuild import rebuild_reporting
from tests.support.command import COMMAND, HANG_SECONDS, agent_feedback_beside
from tests.support.erasures import erased
from tests.support.feedback_memory import MemoryStore
from tests.support.running_stack import RunningStack, exchange, message, reply

BASE = "/conversations/acme/support"


async def judged(stack: RunningStack, conversation: str, *people: str) -> None:
    await stack.publish(*exchange(conversation, "t1"))
    said = {"content": "And on Sundays?", "occurredAt": "2026-01-01T10:02:00Z"}
    replies = [message(f"reply of {one}", conversation, senderId=one, **said) for one in people]
    await stack.publish(*(reply(one, "t1-answer") for one in replies))
    await stack.quiet()
    async with stack.client() as http:
        for person in people:
            body = {"reaction": "ok", "text": f"{person} says so", "user_id": person}
            answer = await http.post(f"{BASE}/{conversation}/turns/t1/feedback", json=body)
            assert answer.status_code == 202
    await stack.quiet()


async def found(stack: RunningStack) -> list[dict[str, Any]]:
    async with stack.client() as http:
        answer = await http.post(f"{BASE}/feedback/search", json={"limit": 500})
    return sorted(answer.json()["items"], key=lambda one: str(one["feedback_id"]))


async def totals(stack: RunningStack) -> Any:
    async with stack.client() as http:
        query = {"start": "2020-01-01T00:00:00Z", "end": "2099-01-01T00:00:00Z"}
        return (await http.get(f"{BASE}/feedback/summary", params=query)).json()["totals"]


async def damaged(stack: RunningStack, conversation: str) -> None:
    """Damage the reports in a way that no service does."""
    connection = await asyncpg.connect(stack.database_url, server_settings={"search_path": "reporting"})
    try:
        here = f"conversation_id = '{conversation}'"
        await connection.execute(f"delete from feedbacks where {here} and user_id = 'bob'")
        await connection.execute(
            "update feedbacks set reaction = 'not_ok', revision = revision + 9 "
            f"where {here} and user_id = 'dan' and reaction is not null"
        )
        await connection.execute(
            "create temp table two as (select * from feedbacks where reaction is not null limit 1) "
            "union all (select * from feedbacks where feedback_type = 'implicit' limit 1); "
            "update two set feedback_id = gen_random_uuid(), slot = gen_random_uuid(), user_id = 'nobody'; "
            "insert into feedbacks select * from two"
        )
        await connection.execute("update rollups set ok = ok + 7")
    finally:
        await connection.close()


def command(stack: RunningStack) -> tuple[str, ...]:
    return ("ledger", "rebuild", "--store", stack.database_url, "--database", stack.database_url, "--json")


async def test_damaged_reports_become_what_the_store_holds(stack: RunningStack) -> None:
    await judged(stack, "b-1", "bob", "dan", "eva")
    before, counts = await found(stack), await totals(stack)
    await damaged(stack, "b-1")
    assert await found(stack) != before
    ended = await agent_feedback_beside(*command(stack))
    assert ended.code == 0, ended.err
    assert ended.facts["removed"] == 2
    assert ended.facts["replaced"] == 3
    assert await found(stack) == before
    assert await totals(stack) == counts
    again = await agent_feedback_beside(*command(stack))
    assert (again.facts["removed"], again.facts["replaced"]) == (0, 0)


async def test_a_rebuild_that_is_killed_leaves_what_serves(stack: RunningStack) -> None:
    await judged(stack, "b-2", "bob", "dan")
    await damaged(stack, "b-2")
    serving = await found(stack)
    holder = await asyncpg.connect(stack.database_url, server_settings={"search_path": "reporting"})
    process = None
    try:
        async with holder.transaction():
            await holder.execute("lock table erasures in row exclusive mode")  # the switch has to wait
            process = await asyncio.create_subprocess_exec(COMMAND, *command(stack), stdout=asyncio.subprocess.DEVNULL)
            async with asyncio.timeout(HANG_SECONDS):
                while not await holder.fetchval(
                    "select exists (select from pg_locks where relation = 'erasures'::regclass and not granted)"
                ):
                    await asyncio.sleep(0.05)
            process.kill()
            await process.wait()
    finally:
        if process is not None and process.returncode is None:
            process.kill()
        await holder.close()
    assert await found(stack) == serving
    # PostgreSQL notices the lost client after the wait, and releases the rebuild's lock.
    async with asyncio.timeout(HANG_SECONDS):
        while (ended := await agent_feedback_beside(*command(stack))).code == 3:
            await asyncio.sleep(0.1)
    assert ended.code == 0, ended.err
    assert "nobody" not in json.dumps(await found(stack))


async def test_the_erased_stay_erased_and_what_came_meanwhile_stays(stack: RunningStack) -> None:
    await judged(stack, "b-3", "ida", "jon")
    connection = await asyncpg.connect(stack.database_url, server_settings={"search_path": "reporting,public"})
    try:
        generation = Generation(connection)
        await generation.begin()
        assert await connection.fetch("select from feedbacks where conversation_id = 'b-3' and user_id = 'ida'")
        await connection.execute("insert into feedbacks_rebuilt select * from feedbacks")
        await erased(stack, "ida")
        await judged(stack, "b-4", "kim")
        await stack.quiet()
        await generation.switch()
    finally:
        await connection.close()
    people = {one["user_id"] for one in await found(stack)}
    assert {"jon", "kim"} <= people
    assert "ida" not in people
    ended = await agent_feedback_beside(*command(stack))
    assert ended.code == 0, ended.err
    assert {one["user_id"] for one in await found(stack)} == people


async def test_an_empty_store_empties_nothing_and_two_do_not_build_at_once(stack: RunningStack) -> None:
    await judged(stack, "b-5", "bob")
    empty = MemoryStore()
    with pytest.raises(StartError, match="store is empty"):
        await rebuild_reporting(empty, stack.database_url, print)
    pool = await open_pool(stack.database_url, "feedback", SCHEMA, size=1)
    other = await asyncpg.connect(stack.database_url, server_settings={"search_path": "reporting"})
    try:
        await Generation(other).begin()
        with pytest.raises(StartError, match="Another rebuild"):
            await rebuild_reporting(PostgresStore(pool), stack.database_url, print)
    finally:
        await other.close()
        await pool.close()
