"""Exports over HTTP: joined with question and answer, only people's, without erased ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contracts.topics import FEEDBACK_CREATED
from proofs.chaos.logs import records_of
from tests.support.command import agent_feedback_beside
from tests.support.erasures import erased
from tests.support.running_stack import RunningStack, message

BASE = "/conversations/acme/support"


async def exported(stack: RunningStack, wanted: str, **query: Any) -> list[dict[str, Any]]:
    await stack.quiet()
    async with stack.client() as http:
        answer = await http.get(f"{BASE}/exports/{wanted}", params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


async def said(stack: RunningStack, conversation: str, *lines: tuple[str, str]) -> None:
    """Publish the messages of a conversation; each agent's answer is a turn with the message's id."""
    await stack.publish(
        *(
            message(
                f"{conversation}-{number}",
                conversation,
                agent=None if who == "ann" else who,
                content=text,
                occurredAt=f"2026-01-01T10:{number:02}:00Z",
            )
            for number, (who, text) in enumerate(lines)
        )
    )


async def judged(stack: RunningStack, conversation: str, number: int, **body: Any) -> None:
    await stack.quiet()
    async with stack.client("ann") as http:
        path = f"{BASE}/{conversation}/turns/{conversation}-{number}/feedback"
        assert (await http.post(path, json=body)).status_code == 202


@pytest.fixture(scope="module", autouse=True)
async def _talk(stack: RunningStack) -> None:
    asked = ("ann", "When does it open?")
    await said(stack, "x-1", ("ann", "Hi"), ("bot", "Hello"), asked, ("bot", "At nine."), asked, ("bot", "At ten."))
    await judged(stack, "x-1", 3, reaction="not_ok", correction="At ten on Sundays.", tags=["wrong"])
    await judged(stack, "x-1", 5, reaction="ok")


async def test_filters_are_those_of_the_search_and_people_come_alone(stack: RunningStack) -> None:
    assert {one["origin"] for one in await exported(stack, "events")} == {"user"}
    assert [one["reaction"] for one in await exported(stack, "events", tag="wrong", conversation_id="x-1")] == [
        "not_ok"
    ]
    assert await exported(stack, "events", agent_id="nobody") == []
    async with stack.client() as http:
        assert (await http.get(f"{BASE}/exports/nonsense")).status_code == 422
        assert (await http.get(f"{BASE}/exports/kto", params={"limit": 3})).status_code == 422
        assert (await http.get(f"{BASE}/exports/kto", params={"attributes.language": "de"})).status_code == 200


async def test_an_answer_and_a_person_are_one_row_with_a_pseudonym_and_a_split(stack: RunningStack) -> None:
    await said(stack, "x-3", ("ann", "Which tram?"), ("bot", "Tram 5."), ("ann", "That is wrong."))
    await stack.quiet()
    assert [one["origin"] for one in await exported(stack, "kto", conversation_id="x-3", everyone=True)] == ["machine"]
    await judged(stack, "x-3", 1, reaction="not_ok", tags=["wrong"])
    [row] = await exported(stack, "kto", conversation_id="x-3", everyone=True)
    records = await exported(stack, "kto", conversation_id="x-3", everyone=True, records=True)
    assert (row["origin"], sorted(one["origin"] for one in records)) == ("user", ["machine", "user"])
    assert row["value"] == -1.0 and row["agent_version"] is None and row["language"] is None
    assert len({one["person"] for one in records}) == 1 and "ann" not in row["person"]
    others = await exported(stack, "kto", conversation_id="x-1")
    assert {(one["person"], one["split"]) for one in others} == {(row["person"], row["split"])}


async def test_a_person_who_forbids_training_is_in_no_export_and_marked_on_the_stream(stack: RunningStack) -> None:
    """Both the person's verdicts and verdicts on answers to the person are skipped, until training is allowed again."""
    lines = [("tia", None, "tia asks"), ("bot", "bot", "to tia"), ("bea", None, "bea asks"), ("bot", "bot", "to bea")]
    await stack.publish(
        *(
            message(
                f"x-9-{number}",
                "x-9",
                agent=agent,
                content=text,
                senderId=sender,
                occurredAt=f"2026-01-01T11:{number:02}:00Z",
            )
            for number, (sender, agent, text) in enumerate(lines)
        )
    )
    for person, number in (("tia", 1), ("bea", 1), ("bea", 3)):
        await stack.quiet()
        async with stack.client() as http:
            path = f"{BASE}/x-9/turns/x-9-{number}/feedback"
            assert (await http.post(path, json={"reaction": "ok", "user_id": person})).status_code == 202

    async def chosen(allowed: bool) -> list[str]:
        async with stack.client() as http:
            answer = await http.put("/tenants/acme/users/tia/training", json={"allowed": allowed})
            assert (answer.status_code, answer.json()) == (202, None)
        await exported(stack, "kto")
        return sorted(
            f"{row['completion'][0]['content']} {len(row['prompt'])}"
            for row in await exported(stack, "kto", conversation_id="x-9")
        )

    assert await chosen(False) == ["to bea 1"]
    database = ("--store", stack.database_url, "--database", stack.database_url)
    assert (await agent_feedback_beside("ledger", "rebuild", *database)).code == 0
    assert len(await exported(stack, "events", conversation_id="x-9", everyone=True, records=True)) == 1
    records = await records_of(stack.broker.bootstrap, FEEDBACK_CREATED.name)
    newest = {record.key: json.loads(record.value) for record in records if record.value}
    marks = {(event["userId"], event["trainingAllowed"]) for event in newest.values()}
    assert ("tia", False) in marks and not {("tia", True), ("bea", False)} & marks
    assert await chosen(True) == ["to bea 3", "to tia 1", "to tia 1"]


async def test_an_erased_person_is_in_no_export(stack: RunningStack) -> None:
    await stack.publish(
        message("x-2-bob", "x-2", senderId="bob", content="bob asks", occurredAt="2026-01-01T09:59:00Z"),
        message("x-2-0", "x-2", senderId="zed", content="zed asks"),
        message("x-2-1", "x-2", agent="bot", content="bot answers"),
    )
    await judged(stack, "x-2", 1, reaction="ok")
    assert len(await exported(stack, "kto", conversation_id="x-2")) == 1
    await erased(stack, "zed")
    assert await exported(stack, "kto", conversation_id="x-2") == []
