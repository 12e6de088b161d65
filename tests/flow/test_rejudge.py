"""`agent-feedback rejudge` next to running services, also after a stop, and the pages of a group with two detectors."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg

from tests.support.command import COMMAND, HANG_SECONDS, Ended, agent_feedback
from tests.support.running_stack import RunningStack, exchange, message

SINCE = "2026-01-01T00:00:00Z"
WRONG, QUESTION = "No, that is wrong.", "And when does it close?"


def command(stack: RunningStack, *more: str) -> tuple[str, ...]:
    return ("rejudge", "--broker", stack.broker.bootstrap, "--database", stack.database_url, "--json", *more)


async def judged(stack: RunningStack, conversation: str) -> None:
    """Publish a question, an answer, and a message that rejects it."""
    said = message("said", conversation, turn="t2", content=WRONG, occurredAt="2026-01-01T10:00:09Z")
    await stack.publish(*exchange(conversation, "t1"), said)
    await stack.quiet()


async def reword(stack: RunningStack, conversation: str, text: str) -> None:
    """Change the stored message, so that the stored verdict is not the present detector's."""
    connection = await asyncpg.connect(stack.database_url, server_settings={"search_path": "inference"})
    try:
        where = "where message_id = 'said' and conversation_id = $2"
        assert await connection.execute(f"update messages set text = $1 {where}", text, conversation) == "UPDATE 1"
    finally:
        await connection.close()


async def verdicts(stack: RunningStack, conversation: str) -> list[dict[str, Any]]:
    async with stack.client() as http:
        body = {"conversation_id": conversation, "origin": "machine"}
        answer = await http.post("/conversations/acme/support/feedback/search", json=body)
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def counts(ended: Ended) -> dict[str, int]:
    assert ended.code == 0, ended.err
    return {name: ended.facts[name] for name in ("withdrawn", "added", "reversed", "moved")}


NOTHING = {"withdrawn": 0, "added": 0, "reversed": 0, "moved": 0}


async def test_a_comparison_and_a_second_judgement_retract_what_no_longer_holds(stack: RunningStack) -> None:
    await judged(stack, "j-1")
    await judged(stack, "j-2")
    (before,) = await verdicts(stack, "j-1")
    assert (before["reaction"], before["decided_by"]) == ("not_ok", "rules")
    assert counts(await agent_feedback(*command(stack, "--since", SINCE, "--dry-run"))) == NOTHING
    await reword(stack, "j-1", QUESTION)
    compared = await agent_feedback(*command(stack, "--since", SINCE, "--dry-run"))
    assert counts(compared) == NOTHING | {"withdrawn": 1}
    (example,) = compared.facts["examples"]
    assert (example["difference"], example["message_id"], example["conversation_id"]) == ("withdrawn", "said", "j-1")
    assert (example["before"], example["after"]) == ({"verdict": "rejected", "turn_id": "t1"}, None)
    assert QUESTION not in compared.out
    assert (await verdicts(stack, "j-1"), compared.facts["epoch"]) == ([before], None)

    done = await agent_feedback(*command(stack, "--since", SINCE))
    assert counts(done) == NOTHING | {"withdrawn": 1}
    assert done.facts["detector"] == before["detector"]
    await stack.quiet()
    assert await verdicts(stack, "j-1") == []
    assert len(await verdicts(stack, "j-2")) == 1
    await reword(stack, "j-1", WRONG)
    again = await agent_feedback(*command(stack, "--since", SINCE))
    assert counts(again) == NOTHING | {"added": 1}
    assert again.facts["epoch"] > done.facts["epoch"]
    await stack.quiet()
    (after,) = await verdicts(stack, "j-1")
    assert after["feedback_id"] == before["feedback_id"]


async def test_a_run_that_is_killed_goes_on(stack: RunningStack) -> None:
    await judged(stack, "j-3")
    await reword(stack, "j-3", QUESTION)
    holder = await asyncpg.connect(stack.database_url, server_settings={"search_path": "inference"})
    process = None
    try:
        async with holder.transaction():
            await holder.execute("lock table verdicts in share mode")  # verdicts have to wait
            process = await asyncio.create_subprocess_exec(
                COMMAND, *command(stack, "--since", SINCE), stdout=asyncio.subprocess.DEVNULL
            )
            async with asyncio.timeout(HANG_SECONDS):
                while not await holder.fetchval(
                    "select exists (select from pg_locks where relation = 'verdicts'::regclass and not granted)"
                ):
                    await asyncio.sleep(0.05)
            process.kill()
            await process.wait()
            epoch = await holder.fetchval("select epoch from rejudgements where finished_at is null")
            assert epoch is not None
    finally:
        if process is not None and process.returncode is None:
            process.kill()
        await holder.close()
    async with asyncio.timeout(HANG_SECONDS):
        while (ended := await agent_feedback(*command(stack))).code == 3:  # PostgreSQL notices that its client is gone
            await asyncio.sleep(0.1)
    # PostgreSQL carries out the call of a client that is gone. The verdict is stored then; this run announces it.
    assert counts(ended) == NOTHING
    assert (ended.facts["epoch"], "Going on with epoch" in ended.err) == (epoch, True)
    await stack.quiet()
    assert await verdicts(stack, "j-3") == []
    assert (await agent_feedback(*command(stack))).code == 3, "there is nothing to go on with"


async def test_a_group_with_two_detectors_is_shown_and_not_judged_again_by_accident(stack: RunningStack) -> None:
    service = stack.stack.services["inference"]
    (look,) = [one.work for one in service._periodics if one.name == "detectors"]
    await judged(stack, "j-4")
    await look()
    assert "detectors have judged" not in " ".join(service.warnings)
    await stack.rows("insert into inference.detectors (version) values ('2026-01-01.00000000')")
    await look()
    assert "2 detectors have judged in the last 5 minutes (2026-01-01.00000000, " in " ".join(service.warnings)
    async with stack.client() as http:
        shown = (await http.get("/metrics")).text
    assert 'agent_feedback_detectors{version="2026-01-01.00000000"} 1.0' in shown
    refused = await agent_feedback(*command(stack, "--since", SINCE))
    assert (refused.code, "--force" in refused.err) == (3, True)
    assert (await agent_feedback(*command(stack, "--since", SINCE, "--force"))).code == 0
