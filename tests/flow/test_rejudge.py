"""`agent-feedback rejudge` next to running services, also after a stop."""

from __future__ import annotations

from typing import Any

import asyncpg

from tests.support.command import Ended, agent_feedback_beside
from tests.support.running_stack import RunningStack, exchange, message

SINCE = "2026-01-01T00:00:00Z"
WITH_GATE: dict[str, Any] = {"INFERENCE_GATE_URL": "http://127.0.0.1:1/v1", "INFERENCE_GATE_MODEL": "unreachable"}
"""With a language model the command's detector has a higher mode. Unreachable, it decides nothing."""
WRONG, QUESTION = "No, that is wrong.", "And when does it close?"


def command(stack: RunningStack, *more: str) -> tuple[str, ...]:
    return ("rejudge", "--broker", stack.broker.bootstrap, "--database", stack.database_url, "--json", *more)


async def judged(stack: RunningStack, conversation: str) -> None:
    """Publish a question, an answer, and a message that rejects it."""
    said = message("said", conversation, turn="t2", content=WRONG, occurredAt="2026-01-01T10:00:09Z")
    await stack.publish(*exchange(conversation, "t1"), said)
    await stack.quiet()


async def reword(stack: RunningStack, conversation: str, text: str) -> None:
    """Change the stored message, so that a second judgement differs."""
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


def count(ended: Ended) -> int:
    assert ended.code == 0, ended.err
    judged: int = ended.facts["judged"]
    return judged


async def test_a_second_judgement_retracts_what_no_longer_holds(stack: RunningStack) -> None:
    await judged(stack, "j-1")
    await judged(stack, "j-2")
    (before,) = await verdicts(stack, "j-1")
    assert (before["reaction"], before["decided_by"]) == ("not_ok", "rules")
    await reword(stack, "j-1", QUESTION)
    assert count(await agent_feedback_beside(*command(stack))) == 0, "the same detector judges nothing again"

    done = await agent_feedback_beside(*command(stack, "--since", SINCE), **WITH_GATE)
    assert (count(done), QUESTION in done.out) == (4, False)
    assert done.facts["detector"].endswith("-gate")
    await stack.quiet()
    assert await verdicts(stack, "j-1") == []
    (kept,) = await verdicts(stack, "j-2")
    assert kept["detector"] == done.facts["detector"]
    assert count(await agent_feedback_beside(*command(stack), **WITH_GATE)) == 0
