"""Turns with feedback and conversations of a period, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import httpx
import pytest

from reporting.http.conversations import conversations_router
from reporting.http.figures import figures_router
from reporting.model.selection import ConversationScope
from reporting.pages import conversation as queries
from reporting.pages.conversation import Transcript, transcript
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.projects import projects
from reporting.read_models.store_postgres import PostgresReadModels
from tests.support.hand_clock import FixedClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, batch, feedback, feedback_id, message

PERIOD = "/conversations/acme/support/feedback/conversations-in-period"


DAY = {"start": "2026-09-21T00:00:00Z", "end": "2026-09-22T00:00:00Z"}


NOW = FixedClock(START + 3_600_000_000)


@pytest.fixture
async def http(read_models: asyncpg.Pool) -> AsyncIterator[httpx.AsyncClient]:
    async with client([conversations_router(read_models, NOW)]) as opened:
        yield opened


async def test_null_ids_mean_turns_with_feedback_and_named_ones_come_without(
    http: httpx.AsyncClient, take: Take
) -> None:
    await take(
        message("a1", turn="t1", agent="agent-a", at=0),
        message("a2", turn="t2", agent="agent-a", at=1),
        message("a3", turn="t3", agent="agent-a", at=2),
        feedback("f1", turn="t2", at=3),
        feedback("f2", turn="t3", reaction=None, at=3),
    )
    address = "/conversations/acme/support/c1/turns-with-feedbacks"
    every = (await http.post(address, json={"turn_ids": None})).json()
    assert [turn["turn_id"] for turn in every["turns"]] == ["t2"]
    named = (await http.post(address, json={"turn_ids": ["t3", "t1", "unknown"]})).json()
    assert [(turn["turn_id"], turn["feedbacks"]) for turn in named["turns"]] == [("t1", []), ("t3", [])]


async def test_a_question_without_a_turn_belongs_to_the_answer_after_it(http: httpx.AsyncClient, take: Take) -> None:
    await take(
        message("q1", turn=None, content="First?", at=0),
        message("a1", turn=None, agent="agent-a", at=1),
        message("q2", turn=None, content="Second?", at=2),
        message("a2", turn=None, agent="agent-a", at=3),
        feedback("f1", turn="a2", at=4),
    )
    answer = (await http.post("/conversations/acme/support/c1/turns-with-feedbacks", json={})).json()
    assert [(turn["turn_id"], turn["user"]["text"]) for turn in answer["turns"]] == [("a2", "Second?")]


async def test_a_period_counts_what_is_effective_in_it(http: httpx.AsyncClient, take: Take) -> None:
    await take(
        feedback("f1", turn="t1", reaction="ok", at=10),
        feedback("f2", turn="t1", kind="explicit", reaction="not_ok", at=20),
        feedback("f3", turn="t2", user="bob", kind="explicit", reaction="neutral", at=30),
        feedback("m1", turn="t2", kind="inferred", reaction="not_ok", at=40, confidence=0.9),
        feedback("f4", conversation="c2", turn="t1", reaction="ok", at=50),
        feedback("f5", conversation="c3", turn="t1", reaction="ok", at=-2 * 86_400),
        feedback("f6", conversation="c4", tenant="globex", reaction="ok", at=50),
    )
    answer = (await http.post(PERIOD, json={**DAY, "include_turns": True})).json()
    assert answer["window"] == DAY
    assert (answer["tenant"], answer["project"], answer["next_cursor"]) == ("acme", "support", None)
    assert [item["conversation_id"] for item in answer["items"]] == ["c2", "c1"]
    first = answer["items"][1]
    assert first["last_activity_at"] == "2026-09-21T14:14:00.000000Z"
    assert first["started_at"] is None
    assert first["feedback_counts"] == {
        "total": 3,
        "user": 2,
        "machine": 1,
        "reviewer": 0,
        "ok": 0,
        "not_ok": 2,
        "neutral": 1,
    }
    assert [(turn["turn_id"], turn["ts"], len(turn["feedbacks"])) for turn in first["turns"]] == [
        ("t1", "2026-09-21T14:13:40.000000Z", 1),
        ("t2", "2026-09-21T14:14:00.000000Z", 2),
    ]


async def pages(
    http: httpx.AsyncClient, limit: int, meanwhile: Callable[[], Awaitable[None]] | None = None
) -> list[list[str]]:
    cursor, seen = None, []
    while True:
        answer = (await http.post(PERIOD, json={**DAY, "limit": limit, "cursor": cursor})).json()
        seen.append([item["conversation_id"] for item in answer["items"]])
        cursor = answer["next_cursor"]
        if cursor is None:
            return seen
        if meanwhile:
            await meanwhile()
            meanwhile = None


async def test_a_conversation_that_falls_back_while_paging_does_not_come_twice(
    http: httpx.AsyncClient, take: Take
) -> None:
    await take(
        feedback("f1", conversation="c1", turn="t1", at=30),
        feedback("f2", conversation="c1", turn="t2", at=5),
        feedback("f3", conversation="c2", at=20),
        feedback("f4", conversation="c3", at=10),
    )

    async def take_back() -> None:
        await take(feedback("f1", conversation="c1", turn="t1", reaction=None, at=40, revision=2))

    assert await pages(http, 1, take_back) == [["c1"], ["c2"], ["c3"]]


async def test_the_end_of_a_period_belongs_to_it_and_a_conversation_started_with_its_first_message(
    http: httpx.AsyncClient, take: Take
) -> None:
    await take(
        message("q1", conversation="c1", at=-100),
        message("a1", conversation="c1", agent="agent-a", at=-50),
        feedback("f1", conversation="c1", turn="t1", at=10),
        feedback("f2", conversation="c1", turn="t2", at=10.000001),
        feedback("f3", conversation="c2", turn="t1", at=9),
    )
    window = {"start": "2026-09-21T14:13:30Z", "end": "2026-09-21T14:13:30Z"}  # exactly 10 s
    answer = (await http.post(PERIOD, json=window)).json()
    assert [(item["conversation_id"], item["feedback_counts"]["total"]) for item in answer["items"]] == [("c1", 1)]
    assert answer["items"][0]["started_at"] == "2026-09-21T14:11:40.000000Z"
    assert answer["window"] == window, "as it was sent"


async def test_a_long_conversation_comes_in_pages_of_bounded_size(http: httpx.AsyncClient, take: Take) -> None:
    long = "x" * 100_000
    for at in range(40):
        await take(
            message(f"a{at}", turn=f"t{at:02}", agent="agent-a", content=long, at=at),
            feedback(f"f{at}", turn=f"t{at:02}", at=at),
        )
    address, cursor, seen = "/conversations/acme/support/c1/turns-with-feedbacks", None, []
    while True:
        answer = await http.post(address, json={"turn_ids": None, "cursor": cursor})
        assert len(answer.content) < 2_500_000
        seen.append([turn["turn_id"] for turn in answer.json()["turns"]])
        cursor = answer.json()["next_cursor"]
        if cursor is None:
            break
    assert [turn for page in seen for turn in page] == [f"t{at:02}" for at in range(40)]
    assert len(seen) > 1
    few = (await http.post(address, json={"limit": 3})).json()
    assert [turn["turn_id"] for turn in few["turns"]] == ["t00", "t01", "t02"]


async def test_a_turn_that_is_too_long_says_that_something_is_left_out(http: httpx.AsyncClient, take: Take) -> None:
    long = "x" * 200_000
    for at in range(7):
        await take(message(f"a{at}", turn="t1", agent="agent-a", content=long, at=at))
    await take(*(feedback(f"f{at}", user=f"u{at}", turn="t1", text="y" * 9_000, at=at) for at in range(150)))
    address = "/conversations/acme/support/c1/turns-with-feedbacks"
    (turn,) = (await http.post(address, json={})).json()["turns"]
    assert turn["cut"]
    assert len(turn["assistant"]["text"]) == 5 * 200_000 + 4 * len("\n\n")
    assert 0 < len(turn["feedbacks"]) < 60
    assert turn["feedbacks"][-1]["ts"] == "2026-09-21T14:15:49.000000Z"
    period = (await http.post(PERIOD, json={**DAY, "include_turns": True})).json()["items"][0]
    assert period["turns_cut"]
    assert period["feedback_counts"]["total"] == 150
    assert 0 < sum(len(one["feedbacks"]) for one in period["turns"]) < 150


# Transcripts: messages in order, each turn's feedback at its last answer, and at most so many messages.

HERE = ConversationScope("acme", "support", "c1")


async def read(pool: asyncpg.Pool, turn: str | None = None) -> Transcript:
    async with pool.acquire() as connection:
        return await transcript(connection, HERE, turn)


def names(found: Transcript) -> list[str]:
    return [one.message_id for one in found.lines]


async def test_a_turns_feedback_stands_at_its_last_answer(read_models: asyncpg.Pool, take: Take) -> None:
    await take(
        message("q1", turn="t1", at=1),
        message("a1", turn="t1", agent="bot", at=2),
        message("b1", turn="t1", agent="bot", at=3),
        message("p1", turn="t1", at=4),
        message("q2", turn="t2", at=5),
        message("x", turn=None, agent="bot", at=6),  # a turn of its own
        message("q3", turn="t3", at=7),
        message("a3", turn="t3", agent="bot", at=8),
        message("theirs", turn="t1", conversation="c2", agent="bot", at=9),
    )
    await take(
        feedback("later", turn="t1", kind="explicit", user="bob", at=12),
        feedback("sooner", turn="t1", at=11),
        feedback("reply", turn="t1", kind="implicit", text="And in May?", user="eve", at=13),
        feedback("unanswered", turn="t2", at=14),
        feedback("nowhere", turn="t9", at=15),
        feedback("elsewhere", turn="t1", conversation="c2", user="zoe", at=16),
        feedback("taken back", turn="t3", reaction=None, at=17),
    )
    found = await read(read_models)
    assert names(found) == ["q1", "a1", "b1", "p1", "q2", "x", "q3", "a3"]
    assert [one.message_id for one in found.lines if one.ends_turn] == ["b1", "x", "a3"]
    shown = {one.message_id: [row["feedback_id"] for row in one.reactions] for one in found.lines if one.reactions}
    assert shown == {"b1": [feedback_id(name) for name in ("sooner", "later", "reply")]}
    assert [one["feedback_id"] for one in found.stray] == [feedback_id("unanswered"), feedback_id("nowhere")]
    assert not found.cut


async def test_a_long_conversation_is_cut_around_the_turn_or_at_its_beginning(
    read_models: asyncpg.Pool, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    await take(*(message(f"a{at}", turn=f"t{at}", agent="bot", at=at) for at in range(1, 10)))
    await take(feedback("f1", turn="t1"), feedback("f8", turn="t8"), feedback("none", turn="t99"))
    for most, turn, shown, is_cut in (
        (4, None, [6, 7, 8, 9], True),
        (4, "t5", [3, 4, 5, 6], True),
        (4, "t1", [1, 2], True),
        (4, "t9", [7, 8, 9], True),
        (4, "t99", [6, 7, 8, 9], True),
        (8, "t5", [1, 2, 3, 4, 5, 6, 7, 8], True),
        (8, "t6", [2, 3, 4, 5, 6, 7, 8, 9], True),
        (10, "t5", [1, 2, 3, 4, 5, 6, 7, 8, 9], False),
        (9, None, [1, 2, 3, 4, 5, 6, 7, 8, 9], False),
        (8, None, [2, 3, 4, 5, 6, 7, 8, 9], True),
    ):
        monkeypatch.setattr(queries, "MOST_MESSAGES", most)
        found = await read(read_models, turn)
        assert (names(found), found.cut) == ([f"a{at}" for at in shown], is_cut), (most, turn)
        assert [one["feedback_id"] for one in found.stray] == ([] if is_cut else [feedback_id("none")]), (most, turn)


async def test_of_many_feedback_records_a_transcript_has_those_on_its_turns_or_else_the_newest(
    read_models: asyncpg.Pool, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    await take(*(message(f"a{at}", turn=f"t{at}", agent="bot", at=at) for at in range(1, 5)))
    await take(*(feedback(f"f{n}", turn="t1", user=f"u{n}", at=n) for n in range(2_001)))
    await take(feedback("last", turn="t4", at=3_000))
    for most, turn, shown in ((600, None, [1_999, 0, 0, 1]), (2, None, [0, 1]), (2, "t2", [2_000, 0])):
        monkeypatch.setattr(queries, "MOST_MESSAGES", most)
        assert [len(line.reactions) for line in (await read(read_models, turn)).lines] == shown


# The list of projects, which every page reads.

EVENTS = (
    message("m1", tenant="acme", project="a"), feedback("f1", tenant="acme", project="b", recorded=2),
    message("m2", tenant="acme", project="c"), feedback("f2", tenant="globex", project="a", recorded=1),
    message("m3", tenant="globex", project="b"), feedback("f3", tenant="acme", project="a", recorded=3),
)  # fmt: skip


@pytest.mark.parametrize(
    ("tenant", "names", "found"),
    [
        (None, None, {"acme/a", "acme/b", "acme/c", "globex/a", "globex/b"}),
        ("acme", None, {"acme/a", "acme/b", "acme/c"}),
        ("acme", ["b", "x"], {"acme/b"}),
        ("globex", None, {"globex/a", "globex/b"}),
        ("other", None, set()),
    ],
)
async def test_projects_have_messages_or_feedback(
    read_models: asyncpg.Pool, take: Take, tenant: str | None, names: list[str] | None, found: set[str]
) -> None:
    for event in EVENTS:
        await take(event)
    listed = await projects(read_models, tenant, names)
    assert len(listed) == len(found)
    assert {f"{one.tenant}/{one.project}" for one in listed} == found


# Agents and reasons page by page: each once, in one window, despite concurrent writes.

BASE = "/conversations/acme/support/feedback"


async def take(read_models: asyncpg.Pool, *events: Any) -> None:
    await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(*events))


async def some(read_models: asyncpg.Pool) -> None:
    """Store nine agents and nine reasons, some of which differ only in their names."""
    await take(
        read_models,
        *(
            feedback(
                f"f{agent}-{vote}",
                kind="explicit",
                agent=f"agent-{agent}",
                turn=f"t{agent}-{vote}",
                reaction="not_ok" if vote % 3 else "ok",
                tags=(f"reason-{agent}",),
                at=vote,
            )
            for agent in range(9)
            for vote in range(1 + agent // 2)
        ),
    )


@pytest.mark.parametrize(("path", "name"), [("agents", "agent_id"), ("reasons", "reason")])
async def test_the_first_of_a_list_are_those_up_to_its_limit(read_models: asyncpg.Pool, path: str, name: str) -> None:
    await some(read_models)
    async with client([figures_router(read_models, FixedClock(START + 60_000_000))]) as http:
        query: dict[str, Any] = {"min_votes": 3} if path == "agents" else {}
        whole = [one[name] for one in (await http.get(f"{BASE}/{path}", params=query)).json()[path]]
        first = (await http.get(f"{BASE}/{path}", params=query | {"limit": 2})).json()
    assert len(whole) == 9
    assert [one[name] for one in first[path]] == whole[:2]
