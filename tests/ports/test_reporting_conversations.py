"""Turns with feedback and conversations of a period, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import httpx
import pytest

from reporting.http.conversations import conversations_router
from servicekit.clock import FixedClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, feedback, message

PERIOD = "/conversations/acme/support/feedback/conversations-in-period"
DAY = {"start": "2026-09-21T00:00:00Z", "end": "2026-09-22T00:00:00Z"}
NOW = FixedClock(START + 3_600_000_000)


@pytest.fixture
async def http(read_models: asyncpg.Pool) -> AsyncIterator[httpx.AsyncClient]:
    async with client([conversations_router(read_models, NOW)]) as opened:
        yield opened


async def test_a_turn_with_its_texts_and_its_reaction(http: httpx.AsyncClient, take: Take) -> None:
    await take(
        message("q1", turn="t1", content="Where is my parcel?", at=0),
        message("a1", turn="t1", content="In Leipzig.", agent="agent-a", at=1, track_id="k1", intent="tracking"),
        message("a2", turn="t1", content="It arrives tomorrow.", agent="agent-a", at=2, track_id="k1"),
        feedback("f1", turn="t1", kind="explicit", reaction="not_ok", at=5, text="wrong city", track_id="k1"),
    )
    answer = await http.post("/conversations/acme/support/c1/turns-with-feedbacks", json={})
    assert answer.status_code == 200
    rn = "ef:acme:support:ann:c1:t1:artifact:" + str(feedback("f1").feedback_id)
    assert answer.json() == {
        "user_id": "ann",
        "conversation_id": "c1",
        "turns": [
            {
                "turn_id": "t1",
                "user": {
                    "message_id": "q1",
                    "user_id": "ann",
                    "text": "Where is my parcel?",
                    "ts": "2026-09-21T14:13:20.000000Z",
                },
                "assistant": {
                    "message_id": "a2",
                    "agent_id": "agent-a",
                    "text": "In Leipzig.\n\nIt arrives tomorrow.",
                    "ts": "2026-09-21T14:13:22.000000Z",
                },
                "feedbacks": [
                    {
                        "turn_id": "t1",
                        "ts": "2026-09-21T14:13:25.000000Z",
                        "text": "wrong city",
                        "reaction": "not_ok",
                        "confidence": 1.0,
                        "origin": "user",
                        "rn": rn,
                    }
                ],
                "reactions": [
                    {
                        "reaction": {
                            "turn_id": "t1",
                            "text": "wrong city",
                            "confidence": 1.0,
                            "ts": "2026-09-21T14:13:25.000000Z",
                            "reaction": "not_ok",
                            "origin": "user",
                        },
                        "meta": {
                            "rn": rn,
                            "turn_id": "t1",
                            "track_id": "k1",
                            "user_type": "human",
                            "kind": "turn.log.reaction",
                        },
                        "conversation_id": "c1",
                        "bundle_id": None,
                    }
                ],
                "turn_log": {
                    "turn_id": "t1",
                    "ts": "2026-09-21T14:13:22.000000Z",
                    "messages": 3,
                    "agent_id": "agent-a",
                    "intent": None,
                    "strategy": None,
                    "track_id": "k1",
                    "bundle_id": None,
                },
                "cut": False,
            }
        ],
        "next_cursor": None,
    }


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


async def test_an_answer_without_a_turn_answers_the_latest_question(http: httpx.AsyncClient, take: Take) -> None:
    await take(
        message("q1", turn="t1", content="First?", at=0),
        message("a1", turn=None, agent="agent-a", content="By the way.", at=1),
        feedback("f1", turn="a1", at=2),
    )
    answer = (await http.post("/conversations/acme/support/c1/turns-with-feedbacks", json={})).json()
    assert [(turn["turn_id"], turn["user"]["message_id"]) for turn in answer["turns"]] == [("a1", "q1")]


async def test_feedback_older_than_the_days_asked_for_stays_out(http: httpx.AsyncClient, take: Take) -> None:
    await take(feedback("f1", turn="t1", at=-3 * 86_400), feedback("f2", turn="t2", at=-60))
    address = "/conversations/acme/support/c1/turns-with-feedbacks"
    assert [turn["turn_id"] for turn in (await http.post(address, json={"days": 2})).json()["turns"]] == ["t2"]
    assert len((await http.post(address, json={"days": 4})).json()["turns"]) == 2


async def test_an_id_with_slashes_is_an_id(http: httpx.AsyncClient, take: Take) -> None:
    await take(feedback("f1", conversation="team/7/turns/1", turn="t/1", at=0))
    answer = await http.post("/conversations/acme/support/team%2F7%2Fturns%2F1/turns-with-feedbacks", json={})
    assert [turn["turn_id"] for turn in answer.json()["turns"]] == ["t/1"]


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
    assert answer["window"] == {"start": "2026-09-21T00:00:00.000000Z", "end": "2026-09-22T00:00:00.000000Z"}
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


async def test_paging_shows_every_conversation_once(http: httpx.AsyncClient, take: Take) -> None:
    await take(*(feedback(f"f{at}", conversation=f"c{at}", at=at // 2) for at in range(7)))
    assert await pages(http, 3) == [["c6", "c4", "c5"], ["c2", "c3", "c0"], ["c1"]]
    assert await pages(http, 7) == [["c6", "c4", "c5", "c2", "c3", "c0", "c1"]]


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_later_pages_show_a_conversation_by_its_own_newest_reaction_alone(
    http: httpx.AsyncClient, take: Take, limit: int
) -> None:
    await take(
        *(feedback(f"new{n}", conversation=f"c{n}", turn="t1", at=100 + n) for n in range(4)),
        *(feedback(f"old{n}", conversation=f"c{n}", turn="t2", at=n) for n in range(4)),
        feedback("f8", tenant="globex", conversation="c0", at=200),
        feedback("f9", project="sales", conversation="c0", at=200),
    )
    assert [one for page in await pages(http, limit) for one in page] == ["c3", "c2", "c1", "c0"]


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


async def test_a_conversation_that_moves_up_while_paging_does_not_come_twice(
    http: httpx.AsyncClient, take: Take
) -> None:
    await take(*(feedback(f"f{at}", conversation=f"c{at}", at=at) for at in range(3)))

    async def react() -> None:
        await take(feedback("f9", conversation="c2", turn="t9", at=-5), feedback("f8", conversation="c0", turn="t9"))

    assert await pages(http, 1, react) == [["c2"], ["c1"]]


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
    assert answer["window"] == {"start": "2026-09-21T14:13:30.000000Z", "end": "2026-09-21T14:13:30.000000Z"}


async def test_a_cursor_of_another_window_or_listing_is_refused(http: httpx.AsyncClient, take: Take) -> None:
    await take(*(feedback(f"f{at}", conversation=f"c{at}", turn=f"t{at}", at=at) for at in range(3)))
    cursor = (await http.post(PERIOD, json={**DAY, "limit": 1})).json()["next_cursor"]
    for body in (
        {**DAY, "end": "2026-09-21T23:59:59Z", "cursor": cursor},
        {**DAY, "cursor": "nonsense"},
        {**DAY, "cursor": "W10="},
        {**DAY, "cursor": cursor[:-8] + "AAAAAAAA"},
    ):
        answer = await http.post(PERIOD, json=body)
        assert (answer.status_code, type(answer.json()["detail"])) == (400, str)
    elsewhere = await http.post(PERIOD.replace("support", "sales"), json={**DAY, "cursor": cursor})
    assert elsewhere.status_code == 400
    for listing in ("turns-with-feedbacks", "feedback/latest"):
        assert (
            await http.post(f"/conversations/acme/support/c1/{listing}", json={"cursor": cursor})
        ).status_code == 400
    assert (await http.post(PERIOD, json={**DAY, "limit": 1, "cursor": cursor})).status_code == 200


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


@pytest.mark.parametrize(
    "body",
    [
        {},
        {**DAY, "limit": 0},
        {**DAY, "limit": 501},
        {**DAY, "limit": 10**400},
        {**DAY, "limit": True},
        {**DAY, "end": "9999-12-31T23:59:59-23:59"},
        {**DAY, "start": "2026-09-22T00:00:00.000001Z"},
        {**DAY, "start": "2026-09-21"},
        {**DAY, "start": 1},
        {**DAY, "more": 1},
        [],
        None,
    ],
)
async def test_a_period_that_makes_no_sense_is_refused_in_a_sentence(
    http: httpx.AsyncClient, body: dict[str, Any] | list[Any] | None
) -> None:
    answer = await http.post(PERIOD, json=body)
    assert answer.status_code == 422
    assert isinstance(answer.json()["detail"], str)


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b'{"turn_ids": ["\\u0000"]}', 422),
        (b'{"turn_ids": ["\\ud800"]}', 422),
        (b'{"days": NaN}', 422),
        (b'{"days": 1e400}', 422),
        (b'{"turn_ids": "t1"}', 422),
        (b"\xff\xfe", 422),
        (b"{", 422),
        (b"[" * 60_000, 400),
        (b" " * 70_000, 413),
    ],
)
async def test_bytes_that_make_no_sense_are_refused_in_a_sentence(
    http: httpx.AsyncClient, raw: bytes, status: int
) -> None:
    address = "/conversations/acme/support/c1/turns-with-feedbacks"
    answer = await http.post(address, content=raw, headers={"Content-Type": "application/json"})
    assert (answer.status_code, type(answer.json()["detail"])) == (status, str)


@pytest.mark.parametrize("conversation", ["%00", "%ff", "x" * 257, "%C2%85"])
async def test_a_conversation_id_that_cannot_be_is_refused(http: httpx.AsyncClient, conversation: str) -> None:
    answer = await http.post(f"/conversations/acme/support/{conversation}/turns-with-feedbacks", json={})
    assert answer.status_code in (200, 422)
    assert "turns" in answer.json() or isinstance(answer.json()["detail"], str)


async def test_nobody_sees_another_tenants_conversations(read_models: asyncpg.Pool, take: Take) -> None:
    await take(feedback("f1", tenant="globex", conversation="c1"))
    async with client([conversations_router(read_models, NOW)], "acme") as http:
        for address in ("/feedback/conversations-in-period", "/c1/turns-with-feedbacks"):
            answer = await http.post(f"/conversations/globex/support{address}", json=DAY)
            assert answer.status_code == 403
        ours = await http.post("/conversations/acme/support/c1/turns-with-feedbacks", json={})
        assert ours.json() == {"user_id": None, "conversation_id": "c1", "turns": [], "next_cursor": None}
    async with client([conversations_router(read_models, NOW)], None) as http:
        assert (await http.post(PERIOD, json=DAY)).status_code == 401
