"""Every place with a person's texts, or data derived from them, before and after the person is erased.

The places are columns of all services' tables, their queues, and the artifacts in the object store. Topics and dead
letters expire by their retention (test_time_limits.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import feedback.service
import inference.service
import reporting.service
from contracts.erasure import Person
from contracts.instants import MINUTE
from feedback.registry import PostgresRegistry
from inference.erasure import erase
from inference.turns.store import TurnIndex
from reporting.read_models.erasure import ReportingErasures
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.pseudonyms import ErasureSettings, Pseudonyms
from tests.support.databases import SCHEMAS
from tests.support.erasures import columns_holding, erased
from tests.support.filled_rows import insert
from tests.support.logs import NOW
from tests.support.running_stack import RunningStack, message, reply, running_stack
from tests.support.waits import PATIENCE_SECONDS

SECRET = "zanzibar-landlord-7431"
HOLD_WORDS = {
    "chat_bridge.parked.value",  # replies and reactions whose message is not known
    "feedback.feedback.slots",
    "inference.messages.text",
    "inference.turns.user_text",
    "inference.user_reactions.said",
    "inference.user_reactions.correction",
    "inference.user_reactions.tags",
    "reporting.messages.content",
    "reporting.feedbacks.text",
    "reporting.feedbacks.tags",
    "reporting.feedbacks.correction",
    "reporting.deliveries.event",
    "reporting.rollups.reason",  # tags, counted
}
"""Columns that contain the texts of a person who gives every kind of feedback."""
MADE_OF_WORDS = {
    "inference.turns.user_vector",
    *(f"reporting.issue_turns.{name}" for name in ("vector", "words", "user_id", "asker_id")),
}
"""Columns derived from a person's question; those of an answer come from the agent's text."""

EVE_ID = "eve@example.org"
LEDGERS = {
    "reporting.deliveries.event",  # the request itself, on its way to a receiver
    "feedback.erasure_requests.user_id",
    *(f"{schema}.erasures.user_id" for schema in SCHEMAS),
}
"""Columns with the ids of erased people, so that a replay restores nothing."""
PART_OF_A_KEY = {"feedback.feedback.user_id"}
"""Columns whose ids are part of a record's key."""
RENAMED = {"feedback.messages.sender_id", "inference.messages.sender_id"}
"""Other columns of rows that stay, and that no response shows; tenants may have the ids replaced."""


@asynccontextmanager
async def stack_with_everything(url: str, folder: Path, **more: str) -> AsyncIterator[RunningStack]:
    """Yield a stack with an object store, and a webhook whose receiver does not respond, so that deliveries wait.

    Each service has one free connection for writes: work that waited for a second one would never end.
    """
    hooks = folder / "webhooks.toml"
    hooks.write_text(
        '[[endpoint]]\nname = "learner"\nurl = "http://127.0.0.1:9/"\ntenant = "acme"\nsecrets = ["HOOK_SECRET"]\n'
        "private = true\n",
        "utf-8",
    )
    (folder / "artifacts").mkdir()
    settings = {
        "HOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "REPORTING_WEBHOOKS": str(hooks),
        "REPORTING_ARTIFACT_STORE_URL": f"file://{folder / 'artifacts'}",
        "REPORTING_ARTIFACT_TURN_LOGS": "true",
        **more,
    }
    with pytest.MonkeyPatch.context() as environment:
        for name, value in settings.items():
            environment.setenv(name, value)
        async with running_stack(url) as running, AsyncExitStack() as occupied:
            for service in running.stack.services.values():
                for _ in range(service.parts.pool.get_max_size() - 1):
                    await occupied.enter_async_context(service.parts.pool.acquire())
            yield running


async def filled_for_question(stack: RunningStack, conversation: str) -> set[str]:
    """Return the columns of MADE_OF_WORDS that are not null in the conversation."""
    found = set()
    for column in MADE_OF_WORDS:
        schema, table, name = column.split(".")
        rows = await stack.rows(
            f"select from {schema}.{table} where {name} is not null and conversation_id = '{conversation}'"
        )
        found |= {column} if rows else set()
    return found


def files_holding(folder: Path, text: str) -> list[str]:
    return sorted(file.name for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes())


async def eve_says_everything(stack: RunningStack) -> list[dict[str, Any]]:
    said = [
        message("q", "e1", turn="t1", senderId=EVE_ID, userType="paid", content=f"Where is {SECRET}?"),
        message("a", "e1", turn="t1", agent="bot"),
        message(
            "no", "e1", turn="t2", senderId=EVE_ID, occurredAt="2026-01-01T10:01:00Z",
            content=f"No, that's wrong, I asked for {SECRET}.",
        ),
        _reply("a", "r1"),
        _reply("never-published", "r2"),
    ]  # fmt: skip
    await stack.publish(*said)
    await stack.quiet()
    body = {"reaction": "not_ok", "text": SECRET, "correction": SECRET, "tags": [SECRET], "user_id": EVE_ID}
    async with stack.client() as http:
        answer = await http.post("/conversations/acme/support/e1/turns/t1/feedback", json=body)
    assert answer.status_code == 202, answer.text
    await stack.quiet()
    # Hours are counted when they have not changed for some time.
    await stack.rows("update reporting.stale_hours set marked_at = marked_at - interval '1 hour'")
    for name in ("rollups", "artifacts", "issues"):
        await _run_now(stack, name)
    return said


def _reply(original: str, name: str) -> dict[str, Any]:
    said = message(name, "e1", senderId=EVE_ID, occurredAt="2026-01-01T10:02:00Z", content=f"No: {SECRET}")
    return dict(reply(said, original))


LEFT = {
    "rollups": "select count(*) from reporting.stale_hours where marked_at < now() - interval '10 minutes'",
    "issues": "select count(*) from reporting.changed_turns where reader = 'issues'",
}
"""Query for the number of rows that a task has left to do, by the task's name."""


async def _run_now(stack: RunningStack, name: str) -> None:
    """Run a periodic task of reporting immediately.

    Hours are not counted while a transaction is running or another run counts, so roll-ups are repeated until all are.
    The same holds for issues, whose job runs in this process instead of its own.
    """
    reporting = stack.stack.services["reporting"]
    [task] = [one for one in reporting.periodics.all if one.name == name]
    work = reporting.parts.issues.catch_up if name == "issues" else task.work
    async with asyncio.timeout(PATIENCE_SECONDS):
        await work()
        while name in LEFT and (await stack.rows(LEFT[name]))[0][0]:
            await asyncio.sleep(0.02)
            await work()


async def test_no_column_holds_an_erased_persons_words(postgres_url: str, tmp_path: Path) -> None:
    async with stack_with_everything(postgres_url, tmp_path) as stack:
        said = await eve_says_everything(stack)
        assert await columns_holding(stack.database_url, SECRET) == HOLD_WORDS
        assert await filled_for_question(stack, "e1") == MADE_OF_WORDS
        assert files_holding(tmp_path / "artifacts", SECRET)
        assert "chat_bridge.messages.sender_id" not in await columns_holding(stack.database_url, EVE_ID)

        status = await erased(stack, EVE_ID)
        await stack.quiet()
        for name in ("rollups", "artifacts", "issues"):
            await _run_now(stack, name)
        assert await columns_holding(stack.database_url, SECRET) == set()
        assert await filled_for_question(stack, "e1") == set()
        assert files_holding(tmp_path / "artifacts", SECRET) == []
        assert await columns_holding(stack.database_url, EVE_ID) == LEDGERS | PART_OF_A_KEY | RENAMED
        assert files_holding(tmp_path / "artifacts", EVE_ID) == []
        assert {receipt["service"] for receipt in status["receipts"] if receipt["removed"]} == set(SCHEMAS)

        await stack.publish(*said)  # a replay of the very same events
        await stack.quiet()
        assert await columns_holding(stack.database_url, SECRET) == set()


async def test_a_tenant_may_have_an_erased_persons_ids_replaced(postgres_url: str, tmp_path: Path) -> None:
    """By the erasure, after a replay, by a second erasure, and if the messages are judged again."""
    wanted = {"ERASURE_IDS_OF": '{"acme": "pseudonym"}', "ERASURE_KEY": "a key of the operator"}
    async with stack_with_everything(postgres_url, tmp_path, **wanted) as stack:
        said = await eve_says_everything(stack)
        announced = await stack.rows("select sender_id from inference.messages where emitted_turn_id is not null")
        assert {row["sender_id"] for row in announced} == {EVE_ID}
        await erased(stack, EVE_ID)
        await stack.quiet()
        assert await columns_holding(stack.database_url, EVE_ID) == LEDGERS | PART_OF_A_KEY
        await stack.publish(message("elsewhere", "e2", turn="t1", tenant="globex", senderId=EVE_ID))
        before = message("before", "e1", senderId="bob", occurredAt="2026-01-01T10:00:30Z", content="Hello.")
        late = message("late", "e1", turn="t0", senderId=EVE_ID, occurredAt="2026-01-01T09:00:00Z", userType="paid")
        await stack.publish(*said, before, late)
        await stack.quiet()
        await erased(stack, EVE_ID)
        await stack.quiet()
        [(name,)] = await stack.rows("select distinct sender_id from inference.messages where text = ''")
        assert await columns_holding(stack.database_url, name) == RENAMED
        assert await columns_holding(stack.database_url, "erased-") == RENAMED, "one name, and no feedback under it"
        of_people = "select turn_id, tenant, sender_id from feedback.messages where agent_id is null and turn_id <> ''"
        assert {tuple(row) for row in await stack.rows(of_people)} == {
            ("t0", "acme", name), ("t1", "acme", name), ("t2", "acme", name), ("t1", "globex", EVE_ID),
        }  # fmt: skip
        assert (
            await stack.rows(f"select from inference.messages where tenant = 'acme' and sender_id = '{EVE_ID}'") == []
        )
        async with schema_of(stack.database_url, feedback.service) as pool:
            assert (await PostgresRegistry(pool).count("acme", None, "e1", "dan"))[1], "others may not rate her thread"


@asynccontextmanager
async def schema_of(url: str, module: Any) -> AsyncIterator[Database]:
    pool = await open_pool(url, module.PROGRAM.name, SCHEMAS[module.PROGRAM.name], size=1)
    try:
        yield pool
    finally:
        await pool.close()


MARGIN = 5 * MINUTE
EVE = {Person("acme", "eve"): NOW}


class _InferenceErasures:
    def __init__(self, pool: Database) -> None:
        index = TurnIndex(pool, None)  # type: ignore[arg-type] # no search
        self.erase = partial(erase, pool, index, Pseudonyms(ErasureSettings()))


async def test_more_messages_than_one_statement_blanks_are_blanked(own_database: str) -> None:
    """In inference and reporting; messages after the erasure's margin, of others, or elsewhere stay."""
    kept = [("acme", "bob", NOW), ("globex", "eve", NOW), ("acme", "eve", NOW + MARGIN + 1)]
    erased_rows = [("acme", "eve", NOW + MARGIN)] * 5_001
    for module, text, role, ledger in (
        (inference.service, "text", "role", _InferenceErasures),
        (reporting.service, "content", "sender_type", ReportingErasures),
    ):
        async with schema_of(own_database, module) as pool:
            at = "occurred_at" if module is reporting.service else "at"
            column = at if module is reporting.service else "position"
            rows = [
                {"tenant": tenant, "sender_id": who, role: "human", text: "words", "message_id": f"m{n}",
                 column: said_at if column == at else said_at.to_bytes(8),
                 "version": b"\x01" + said_at.to_bytes(8, "big") + b"\0"}
                for n, (tenant, who, said_at) in enumerate([*kept, *erased_rows])
            ]  # fmt: skip
            await insert(pool, "messages", *rows)
            assert await ledger(pool).erase(EVE) == len(erased_rows)
            left = await pool.fetch(
                f"select tenant, sender_id, {at} from messages where {text} <> '' order by message_id"
            )
            assert [tuple(row) for row in left] == kept
