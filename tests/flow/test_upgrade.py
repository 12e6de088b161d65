"""A database that an older version wrote: migrated by the services' start, answered from, and written on."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import asyncpg
import pytest_asyncio
from running_stack import RunningStack, message, running_stack

import chat_bridge.main
import feedback.main
import inference.main
import reporting.main
from servicekit.database import migrate

OLDER: Final = {chat_bridge.main: 1, feedback.main: 3, inference.main: 4, reporting.main: 3}
"""How many of its migrations each service had."""
ROWS: Final = Path(__file__).with_name("older_rows.sql")
C1: Final = "/conversations/acme/support/c1"


@pytest_asyncio.fixture(loop_scope="session")
async def upgraded(postgres_url: str, tmp_path: Path) -> AsyncIterator[RunningStack]:
    """A stack started on the older version's rows."""

    async def fill(connection: asyncpg.Connection) -> None:
        for service, count in OLDER.items():
            schema, older = service.PROGRAM.name, tmp_path / service.PROGRAM.name
            older.mkdir()
            migrations = Path(str(service.__file__)).parent / "migrations"
            for file in sorted(migrations.glob("[0-9]*.sql"))[:count]:
                shutil.copy(file, older)
            await connection.execute(f"set search_path to {schema}, public")
            await migrate(connection, schema, older)
        await connection.execute(ROWS.read_text("utf-8"))

    async with running_stack(postgres_url, prepare=fill) as running:
        yield running


async def answer(stack: RunningStack, method: str, path: str, body: Any = None) -> Any:
    async with stack.client() as http:
        found = await http.request(method, path, json=body)
    assert found.is_success, found.text
    return found.json()


async def reactions(stack: RunningStack, conversation: str = "c1") -> dict[tuple[str, str], str]:
    """Who said what of which turn, as reports show it: (turn, text or origin) to reaction."""
    path = f"/conversations/acme/support/{conversation}/turns-with-feedbacks"
    turns = (await answer(stack, "POST", path, {"days": 3650}))["turns"]
    return {(turn["turn_id"], one["rn"].split(":")[3]): one["reaction"] for turn in turns for one in turn["feedbacks"]}


OF_C1 = {("t1", "ann"): "not_ok", ("t1", "bob"): "ok", ("t2", "ann"): "not_ok", ("t2", "carol"): "ok"}


async def test_what_was_written_is_answered(upgraded: RunningStack) -> None:
    assert await reactions(upgraded) == OF_C1
    first = await answer(upgraded, "GET", f"{C1}/turns/t1/metadata")
    assert (first["user_feedback_status"], first["rejection_detected_in"], first["correction_type"]) == (
        ("rejected", "t2", "explicit_correction")
    )
    assert (first["user_said"], first["agent_message_id"], first["strategy"]) == (
        "No, that is wrong.",
        "2",
        "look it up",
    )
    second = await answer(upgraded, "GET", f"{C1}/turns/t2/metadata")
    assert (second["user_feedback_status"], second["user_said"], second["tags"]) == (
        ("accepted", "Thank you.", ["polite"])
    )
    own = await answer(upgraded, "GET", f"{C1}/turns/t2/feedback?user_id=carol")
    assert (own["reaction"], own["text"]) == ("ok", "Thank you.")
    assert await upgraded.stack.fact("parked") == 1
    said = {"text": "No, that is wrong.", "user_id": "ann", "turn_id": "t3", "ts": "2026-01-01T10:05:00Z"}
    assert (await answer(upgraded, "POST", f"{C1}/detect", said))["target"]["message_id"] == "5"


async def test_messages_of_one_name_in_two_conversations_are_two(upgraded: RunningStack) -> None:
    other = [message("1", "c2", turn="t1"), message("2", "c2", turn="t1", agent="writer", content="At eight.")]
    thumb = {"topic": "chat.message.reaction.ingested", "tenant": "acme", "project": "support", "userType": "human"}
    thumb |= {"eventId": "x", "conversationId": "c2", "messageId": "2", "userId": "eve", "emoji": "👎"}
    await upgraded.publish(*other, thumb | {"occurredAt": "2026-01-01T10:06:00Z"})
    await upgraded.quiet()
    assert await reactions(upgraded, "c2") == {("t1", "eve"): "not_ok"}
    assert await reactions(upgraded) == OF_C1
    assert (await answer(upgraded, "GET", f"{C1}/turns/t1/metadata"))["agent_id"] == "bot"


async def test_what_waited_is_released_by_its_message(upgraded: RunningStack) -> None:
    await upgraded.publish(message("99", "c2", turn="t9", agent="bot"))
    await upgraded.quiet()
    assert await upgraded.stack.fact("parked") == 1, "the message of another conversation"
    await upgraded.publish(message("99", "c1", turn="t9", agent="bot", occurredAt="2026-01-01T10:02:50Z"))
    await upgraded.quiet()
    assert await upgraded.stack.fact("parked") == 0
    assert await reactions(upgraded) == OF_C1 | {("t9", "ann"): "ok"}


async def test_of_a_message_the_latest_version_holds(upgraded: RunningStack) -> None:
    def edit(at: str, text: str) -> Any:
        return message("1", "c1", turn="t1", occurredAt=f"2026-01-01T10:00:{at}Z", content=text)

    async def shown() -> tuple[str, str]:
        turns = (await answer(upgraded, "POST", f"{C1}/turns-with-feedbacks", {"days": 3650}))["turns"]
        [indexed] = await upgraded.rows(
            "select text from inference.messages where message_id = '1' and conversation_id = 'c1'"
        )
        return turns[0]["user"]["text"], indexed[0]

    await upgraded.publish(edit("20", "older than the one that is held"))
    await upgraded.quiet()
    assert await shown() == ("When does it open?",) * 2
    await upgraded.publish(edit("40", "When does the museum open?"))
    await upgraded.quiet()
    assert await shown() == ("When does the museum open?",) * 2


async def test_later_words_replace_those_of_before(upgraded: RunningStack) -> None:
    """An edit that rejects nothing takes the verdict back, and a person's newer judgement holds."""
    await upgraded.publish(
        message("3", "c1", turn="t2", occurredAt="2026-01-01T10:01:30Z", content="And when does it close?")
    )
    await answer(upgraded, "POST", f"{C1}/turns/t2/feedback", {"reaction": "not_ok", "user_id": "carol"})
    await upgraded.quiet()
    held = {place: said for place, said in OF_C1.items() if place != ("t1", "ann")}
    assert await reactions(upgraded) == held | {("t2", "carol"): "not_ok"}
    assert (await answer(upgraded, "GET", f"{C1}/turns/t1/metadata"))["rejection_detected_in"] is None


async def test_a_person_can_be_erased(upgraded: RunningStack) -> None:
    await answer(upgraded, "DELETE", "/tenants/acme/users/ann")
    await upgraded.quiet()
    left = {table: await upgraded.rows(f"select * from {table}") for table in ("feedback.feedback", "inference.turns")}
    left["inference.messages"] = await upgraded.rows("select * from inference.messages where text <> ''")
    texts = json.dumps([dict(row) for rows in left.values() for row in rows], default=str)
    assert "No, that is wrong" not in texts and "When does it open" not in texts and "It opens at nine." in texts
    assert set(await reactions(upgraded)) == {("t1", "bob"), ("t2", "carol")}
