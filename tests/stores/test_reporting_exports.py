"""Joins of the exports: each answer with its request, without retracted feedback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from contracts.chat import DELETED
from reporting.exports import cases as reading
from reporting.exports.cases import cases
from reporting.exports.files import as_jsonl
from reporting.http.exports import ExportQuery
from reporting.model.selection import ALWAYS, Project
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from tests.support.reporting_database import empty_read_models
from tests.support.reporting_events import batch, feedback, message

HERE = Project("acme", "support")
Export = Callable[..., Awaitable[list[dict[str, Any]]]]


@pytest.fixture
async def exported(postgres_url: str) -> AsyncIterator[Export]:
    """Store the events and return their examples in a format."""
    async with empty_read_models(postgres_url) as pool:

        async def of(wanted: Any, *events: Any, **query: Any) -> list[dict[str, Any]]:
            await ProjectionHandler(PostgresReadModels(pool)).handle(batch(*events))
            pages = cases(pool, HERE, ALWAYS, ExportQuery(**query).filters_for(wanted))
            return [json.loads(line) async for page in as_jsonl(pages, wanted) for line in page.splitlines()]

        yield of


def judged(answer: str, turn: str, at: float = 50, reaction: str = "ok", **fields: Any) -> Any:
    return feedback(f"f-{answer}", turn=turn, agent_message_id=answer, at=at, reaction=reaction, **fields)


async def test_a_long_threads_newest_messages_precede_the_request(exported: Export) -> None:
    root = message("root", turn=None, content="Help with tickets?", at=0)
    earlier = [message(f"m{at}", turn=None, content=f"Said at {at}.", at=at, thread_id="root") for at in range(1, 21)]
    [found] = await exported(
        "kto",
        root,
        *earlier,
        message("q1", turn="t1", content="When does it open?", at=21, thread_id="root"),
        message("a1", turn="t1", content="At nine.", agent="bot", at=22, thread_id="root"),
        judged("a1", "t1"),
    )
    said = [one["content"] for one in found["prompt"]]
    assert said == [*(f"Said at {at}." for at in range(2, 21)), "When does it open?"]


async def test_two_requests_that_were_taken_back_are_not_the_same_request(exported: Export) -> None:
    found = await exported(
        "dpo",
        message("q1", turn="t1", content=DELETED, at=0),
        message("a1", turn="t1", content="At nine.", agent="bot", at=1),
        message("q2", turn="t2", content=DELETED, at=2),
        message("a2", turn="t2", content="20 euros.", agent="bot", at=3),
        judged("a1", "t1", 5, "not_ok"),
        judged("a2", "t2", 6),
    )
    assert found == []


@pytest.mark.parametrize(("origin", "chosen"), [("user", ["At ten."]), ("reviewer", ["At ten."]), ("machine", [])])
async def test_the_chosen_answer_is_one_that_a_person_accepted(
    exported: Export, origin: str, chosen: list[str]
) -> None:
    accepted = {"origin": origin, "kind": "inferred" if origin == "machine" else "explicit"}
    found = await exported(
        "dpo",
        message("q1", turn="t1", content="When does it open?", at=0),
        message("a1", turn="t1", content="At nine.", agent="bot", at=1),
        judged("a1", "t1", 2, "not_ok"),
        message("q2", turn="t2", content="When does it open?", at=3),
        message("a2", turn="t2", content="At ten.", agent="bot", at=4),
        judged("a2", "t2", 5, **accepted),
    )
    assert [one["chosen"][0]["content"] for one in found] == chosen


async def test_a_later_answer_is_to_the_same_request_in_its_own_turn(exported: Export) -> None:
    """Somebody else repeats the rejected request between another's question and its accepted answer."""
    found = await exported(
        "dpo",
        message("q1", turn="t1", content="When does it open?", at=0),
        message("a1", turn="t1", content="At nine.", agent="bot", at=1),
        message("q2", turn="t2", content="What does it cost?", sender="bob", at=2),
        message("q3", turn="t3", content="When does it open?", at=3),
        message("a2", turn="t2", content="20 euros.", agent="bot", at=4),
        judged("a1", "t1", 5, "not_ok"),
        judged("a2", "t2", 6, user="bob"),
    )
    assert found == []
    found = await exported("dpo", message("a3", turn="t3", content="At ten.", agent="bot", at=7), judged("a3", "t3", 8))
    assert [one["chosen"][0]["content"] for one in found] == ["At ten."]


async def test_all_pages_are_exported_newest_first(exported: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PAGE", 2)
    for count in (2, 4, 5):
        events = (judged(f"a{n}", f"t{n}", 50 + n) for n in range(count))
        assert [one["turn_id"] for one in await exported("events", *events)] == [
            f"t{n}" for n in range(count - 1, -1, -1)
        ]


async def test_a_prompt_alternates_between_the_person_and_the_agent(exported: Export) -> None:
    [found] = await exported(
        "kto",
        message("q1", turn="t1", content="Hi", at=0),
        message("a1", turn="t1", content="Hello", agent="bot", at=1),
        message("gone", turn="t1", content=DELETED, at=2),
        message("joined", content="Bob joined the channel", at=2.5).model_copy(update={"sender_type": "system"}),
        message("q2", turn="t2", content="When does it open?", at=3),
        message("a2", turn="t2", content="At nine.", agent="bot", at=4),
        judged("a2", "t2"),
    )
    assert [(one["role"], one["content"]) for one in found["prompt"]] == [
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "When does it open?"),
    ]


async def test_only_events_with_all_records_include_replies(exported: Export) -> None:
    await exported(
        "events",
        message("q1", turn="t1", content="When does it open?", at=0),
        message("a1", turn="t1", content="At nine.", agent="bot", at=1),
        judged("a1", "t1"),
        feedback("r1", kind="implicit", turn="t1", agent_message_id="a1", text="And on Sundays?", at=60),
    )
    replies: dict[str, Any] = {"feedback_type": "implicit"}
    for wanted in ("kto", "sft", "events"):
        assert [len(await exported(wanted, **query)) for query in ({}, replies, replies | {"words": "on"})] == [1, 0, 0]
    assert [len(await exported(wanted, **replies, records=True)) for wanted in ("kto", "events")] == [0, 1]
    assert len(await exported("events", records=True)) == 2
