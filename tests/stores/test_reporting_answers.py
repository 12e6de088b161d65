"""The latest feedback, the caller's own, the artifact search and the figures, over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest
from fastapi import APIRouter

from reporting.feedback.found_counts import found_and_counted
from reporting.figures.answered import AnsweredTurns, answered_by_agent
from reporting.http.conversations import conversations_router
from reporting.http.figures import figures_router
from reporting.model.selection import ALWAYS, Filters, Project
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.rollups import Rollups
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.clock import SystemClock
from servicekit.db.database import Database
from tests.support.hand_clock import FixedClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Event, Take, batch, feedback, feedback_id, message

PROJECT = "/conversations/acme/support"


NOW = FixedClock(START + 3_600_000_000)


def routers(read_models: asyncpg.Pool) -> list[APIRouter]:
    return [conversations_router(read_models, NOW), figures_router(read_models, NOW)]


@pytest.fixture
async def http(read_models: asyncpg.Pool) -> AsyncIterator[httpx.AsyncClient]:
    async with client(routers(read_models)) as opened:
        yield opened


async def latest(http: httpx.AsyncClient, **body: Any) -> list[dict[str, Any]]:
    answer = await http.post(f"{PROJECT}/c1/feedback/latest", json=body)
    assert answer.status_code == 200
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_latest_gives_one_reaction_a_turn_with_all_a_timeline_needs(http: httpx.AsyncClient, take: Take) -> None:
    await take(
        message("q1", turn="t1", at=-5),
        message("a1", turn="t1", agent="agent-a", at=0),
        feedback("f1", turn="t1", reaction="ok", at=10, recorded=11),
        feedback("m1", turn="t1", kind="inferred", reaction="not_ok", at=20, recorded=21, confidence=0.9, text="no!"),
        feedback("f2", turn="t2", reaction="ok", at=15, recorded=16),
    )
    items = await latest(http)
    assert [(item["turn_id"], item["reaction"]) for item in items] == [("t2", "ok"), ("t1", "not_ok")]
    assert items[0]["turn_ts"] is None
    assert items[1] == {
        "turn_id": "t1",
        "turn_ts": "2026-09-21T14:13:20.000000Z",
        "feedback_id": str(feedback_id("m1")),
        "user_id": "ann",
        "ts": "2026-09-21T14:13:40.000000Z",
        "recorded_at": "2026-09-21T14:13:41.000000Z",
        "reaction": "not_ok",
        "text": "no!",
        "confidence": 0.9,
        "origin": "machine",
        "rn": f"ef:acme:support:ann:c1:t1:artifact:{feedback_id('m1')}",
    }


async def test_latest_since_compares_when_it_was_recorded_not_when_it_happened(
    http: httpx.AsyncClient, take: Take
) -> None:
    await take(feedback("f1", turn="t1", at=5, recorded=100), feedback("f2", turn="t2", at=50, recorded=60))
    items = await latest(http, since="2026-09-21T14:14:20Z")  # 60 s
    assert [item["turn_id"] for item in items] == ["t1"]
    assert await latest(http, since="2026-09-21T14:15:00.000000Z") == []


async def test_a_person_sees_what_they_hold(read_models: asyncpg.Pool, take: Take) -> None:
    await take(
        feedback("f1", kind="explicit", reaction="not_ok", at=5, text="no", tags=("wrong", "rude"), correction="yes"),
        feedback("f2", user="bob", reaction="ok", at=9),
    )
    async with client(routers(read_models), "acme") as http:
        mine = (await http.get(f"{PROJECT}/c1/turns/t1/feedback")).json()
        assert mine == {
            "conversation_id": "c1",
            "turn_id": "t1",
            "user_id": "ann",
            "reaction": "not_ok",
            "feedback_type": "explicit",
            "rating": None,
            "worst_rating": None,
            "best_rating": None,
            "text": "no",
            "tags": ["wrong", "rude"],
            "correction": "yes",
            "emoji": None,
            "ts": "2026-09-21T14:13:25.000000Z",
            "rn": f"ef:acme:support:ann:c1:t1:artifact:{feedback_id('f1')}",
        }
        assert (await http.get(f"{PROJECT}/c1/turns/t1/feedback?user_id=ann")).status_code == 200
        assert (await http.get(f"{PROJECT}/c1/turns/t1/feedback?user_id=bob")).status_code == 403
        none = (await http.get(f"{PROJECT}/c1/turns/t2/feedback")).json()
        assert (none["reaction"], none["tags"], none["ts"], none["rn"]) == (None, [], None, None)
    async with client(routers(read_models), "all") as http:
        theirs = (await http.get(f"{PROJECT}/c1/turns/t1/feedback?user_id=bob")).json()
        assert (theirs["user_id"], theirs["reaction"]) == ("bob", "ok")


async def test_a_turn_has_every_field_where_it_belongs(http: httpx.AsyncClient, take: Take) -> None:
    made = {"intent": "i1", "strategy": "s1", "track_id": "k1", "bundle_id": "b1"}
    await take(
        message("q1", turn="t1", content="Which?", at=1),
        message("q2", turn="t1", content="Now?", at=2),
        message("a1", turn="t1", agent="agent-a", content="This.", at=3),
        message("a2", turn="t1", agent="agent-b", content="That.", at=4, **made),
        feedback("f1", turn="t1", reaction="ok", at=5, text="fine", confidence=0.75, track_id="k2", bundle_id="b2"),
    )
    answer = await http.post(f"{PROJECT}/c1/turns-with-feedbacks", json={})
    shown: dict[str, Any] = {"turn_id": "t1", "ts": "2026-09-21T14:13:25.000000Z", "text": "fine", "reaction": "ok"}
    shown |= {"confidence": 0.75, "origin": "user"}
    rn = f"ef:acme:support:ann:c1:t1:artifact:{feedback_id('f1')}"
    meta = {"rn": rn, "turn_id": "t1", "track_id": "k2", "user_type": "human", "kind": "turn.log.reaction"}
    log = {"turn_id": "t1", "ts": "2026-09-21T14:13:24.000000Z", "messages": 4, "agent_id": "agent-b", **made}
    assert answer.json() == {
        "user_id": "ann",
        "conversation_id": "c1",
        "turns": [
            {
                "turn_id": "t1",
                "user": {
                    "message_id": "q1",
                    "user_id": "ann",
                    "text": "Which?\n\nNow?",
                    "ts": "2026-09-21T14:13:21.000000Z",
                },
                "assistant": {
                    "message_id": "a2",
                    "agent_id": "agent-b",
                    "text": "This.\n\nThat.",
                    "ts": log["ts"],
                },
                "feedbacks": [{**shown, "rn": rn}],
                "reactions": [{"reaction": shown, "meta": meta, "conversation_id": "c1", "bundle_id": "b2"}],
                "turn_log": log,
                "cut": False,
            }
        ],
        "next_cursor": None,
    }


async def search(http: httpx.AsyncClient, **body: Any) -> list[dict[str, Any]]:
    answer = await http.post(f"{PROJECT}/feedback/artifacts", json={"conversation_id": "c1", **body})
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_artifacts_carry_the_reaction_as_text_and_payload(read_models: asyncpg.Pool, take: Take) -> None:
    await take(feedback("f1", turn="t1", reaction="ok", at=1, track_id="k1", bundle_id="b1", text="fine"))
    async with client(routers(read_models)) as http:
        (item,) = await search(http, kinds=["turn.log.reaction"], with_payload=True)
    rn = f"ef:acme:support:ann:c1:t1:artifact:{feedback_id('f1')}"
    reaction = {
        "turn_id": "t1",
        "text": "fine",
        "confidence": 1,
        "ts": "2026-09-21T14:13:21.000000Z",
        "reaction": "ok",
        "origin": "user",
    }
    meta = {"rn": rn, "turn_id": "t1", "track_id": "k1", "user_type": "human", "kind": "turn.log.reaction"}
    assert json.loads(item.pop("text")) == reaction
    assert item == {
        "id": rn,
        "role": "artifact",
        "ts": "2026-09-21T14:13:21.000000Z",
        "tags": ["artifact:turn.log.reaction", "turn:t1", "origin:user", "track:k1"],
        "user_id": "ann",
        "conversation_id": "c1",
        "turn_id": "t1",
        "track_id": "k1",
        "bundle_id": "b1",
        "hosted_uri": None,
        "payload": {"reaction": reaction, "meta": meta, "conversation_id": "c1", "bundle_id": "b1"},
    }


async def test_artifacts_are_found_by_tags_the_old_spelling_included(http: httpx.AsyncClient, take: Take) -> None:
    await take(
        message("a1", turn="t1", agent="agent-a", content="In Leipzig.", at=0),
        feedback("f1", turn="t1", at=1, track_id="k1"),
        feedback("m1", turn="t2", kind="inferred", reaction="not_ok", at=2),
    )
    assert len(await search(http)) == 3
    assert [i["turn_id"] for i in await search(http, all_tags=["kind:turn.log.reaction"])] == ["t2", "t1"]
    assert [i["turn_id"] for i in await search(http, kinds=["kind:turn.log.reaction"], sort="oldest")] == ["t1", "t2"]
    assert [i["turn_id"] for i in await search(http, all_tags=["origin:machine"])] == ["t2"]
    assert [i["tags"][0] for i in await search(http, all_tags=["turn:t1"])] == [
        "artifact:turn.log.reaction",
        "artifact:turn.log",
    ]
    assert [i["turn_id"] for i in await search(http, all_tags=["turn:t1", "track:k1"])] == ["t1"]
    assert await search(http, all_tags=["nothing:such"]) == []
    (log,) = await search(http, kinds=["turn.log"])
    assert json.loads(log["text"])["assistant"] == "In Leipzig."
    assert log["payload"] is None
    assert await search(http, roles=["user"]) == []
    for roles in (["artifact"], ["user", "artifact"]):
        assert await search(http, roles=roles) == await search(http)
    assert len(await search(http, limit=2)) == 2


async def test_artifacts_within_times_and_of_a_person(http: httpx.AsyncClient, take: Take) -> None:
    await take(
        feedback("f1", turn="t1", at=10),
        feedback("f2", turn="t2", at=20),
        feedback("f3", turn="t3", at=30),
        feedback("f4", conversation="c2", turn="t9", at=40),
        feedback("f5", conversation="c2", turn="t9", user="bob", at=40),
    )
    between = [{"op": ">", "value": "2026-09-21T14:13:30Z"}, {"op": "<=", "value": "2026-09-21T14:13:50Z"}]
    assert [i["turn_id"] for i in await search(http, timestamp_filters=between)] == ["t3", "t2"]
    anns = await search(http, scope="user", user_id="ann", conversation_id=None)
    assert [i["turn_id"] for i in anns] == ["t9", "t3", "t2", "t1"]
    await take(
        message("q1", conversation="c3", turn="t8", sender="ann"), message("q2", conversation="c4", sender="bob")
    )
    logs = await search(http, scope="user", user_id="ann", conversation_id=None, kinds=["turn.log"])
    assert [(i["conversation_id"], i["turn_id"]) for i in logs] == [("c3", "t8")]


async def test_the_summary_counts_by_time_agent_version_and_origin(http: httpx.AsyncClient, take: Take) -> None:
    day = 86_400
    await take(
        feedback("f1", turn="t1", agent="a", reaction="ok", at=0, agent_version="1"),
        feedback("f2", turn="t2", agent="a", reaction="not_ok", at=60),
        feedback("f3", turn="t3", agent="b", reaction="neutral", at=-day, user_type="agent"),
        feedback("m1", turn="t3", agent="b", kind="inferred", reaction="ok", at=-day),
        feedback("f4", turn="t4", agent="b", reaction="ok", at=-40 * day),
    )
    answer = await http.get(f"{PROJECT}/feedback/summary")
    assert answer.status_code == 200
    found = answer.json()
    assert found["totals"] == {
        "total": 4,
        "user": 3,
        "machine": 1,
        "reviewer": 0,
        "ok": 2,
        "not_ok": 1,
        "neutral": 1,
        "satisfaction": 0.5,
    }
    assert [(b["start"], b["total"], b["satisfaction"]) for b in found["buckets"]] == [
        ("2026-09-20T00:00:00.000000Z", 2, 0.5),
        ("2026-09-21T00:00:00.000000Z", 2, 0.5),
    ]
    assert [(a["name"], a["total"], a["ok"]) for a in found["by_agent"]] == [("a", 2, 1), ("b", 2, 1)]
    assert [(a["name"], a["total"]) for a in found["by_agent_version"]] == [(None, 3), ("1", 1)]
    assert [(a["name"], a["total"]) for a in found["by_origin"]] == [("user", 3), ("machine", 1)]
    weeks = (await http.get(f"{PROJECT}/feedback/summary?bucket=week&origin=user")).json()
    assert [(b["start"], b["total"]) for b in weeks["buckets"]] == [
        ("2026-09-14T00:00:00.000000Z", 1),
        ("2026-09-21T00:00:00.000000Z", 2),
    ]
    for given_by, total in (("agent", 1), ("person", 3)):
        critics = (await http.get(f"{PROJECT}/feedback/summary?given_by={given_by}")).json()
        assert critics["totals"]["total"] == sum(one["total"] for one in critics["buckets"]) == total
    empty = (await http.get("/conversations/nobody/nothing/feedback/summary")).json()
    assert (empty["totals"]["total"], empty["totals"]["satisfaction"], empty["buckets"]) == (0, None, [])


async def test_the_summary_counts_replies_apart_from_verdicts(http: httpx.AsyncClient, take: Take) -> None:
    await take(
        feedback("f1", turn="t1", agent="a", reaction="ok", at=0),
        feedback("r1", turn="t1", agent="a", kind="implicit", at=1),
        feedback("r2", turn="t1", agent="b", kind="implicit", at=2, user_type="agent", agent_version="1"),
        feedback("r3", turn="t1", agent="a", kind="implicit", at=3, revision=2, live=False),
        feedback("r4", turn="t1", agent="a", kind="implicit", at=4, tenant="globex"),
        feedback("r5", turn="t1", agent="a", kind="implicit", at=-40 * 86_400),
    )
    expected = {"": 2, "agent_id=b": 1, "agent_version=1": 1, "given_by=person": 1, "origin=user": 2}
    expected |= {"origin=machine": 0, "origin=reviewer": 0}
    for query, replies in expected.items():
        found = (await http.get(f"{PROJECT}/feedback/summary?{query}")).json()
        assert found["replies"] == replies, query
        assert found["totals"]["total"] == (query in ("", "given_by=person", "origin=user")), query
        assert found["totals"]["satisfaction"] in (1.0, None), query


async def test_agents_are_ranked_by_what_their_votes_prove(http: httpx.AsyncClient, take: Take) -> None:
    votes = [
        ("lucky", "ok", 1),
        ("solid", "ok", 18),
        ("solid", "not_ok", 2),
        ("mixed", "ok", 6),
        ("mixed", "not_ok", 4),
    ]
    at = 0
    for agent, reaction, times in votes:
        for _ in range(times):
            at += 1
            await take(feedback(f"f{at}", turn=f"t{at}", agent=agent, reaction=reaction, at=at))
    agents = (await http.get(f"{PROJECT}/feedback/agents")).json()["agents"]
    assert [(a["agent_id"], a["judged_by"] is not None, a["satisfaction"]) for a in agents] == [
        ("mixed", True, 0.6),
        ("solid", True, 0.9),
        ("lucky", False, 1.0),
    ]
    assert (round(agents[1]["low"], 3), round(agents[1]["high"], 3)) == (0.699, 0.972)
    few = (await http.get(f"{PROJECT}/feedback/agents?min_votes=1")).json()["agents"]
    assert [a["agent_id"] for a in few] == ["mixed", "solid", "lucky"]
    await take(
        *(
            feedback(f"m{n}", kind="inferred", turn=f"m{n}", agent="solid", reaction="not_ok", confidence=0.9)
            for n in range(10)
        )
    )
    agents = (await http.get(f"{PROJECT}/feedback/agents")).json()["agents"]
    first = agents[0]
    assert (first["agent_id"], first["judged_by"], first["satisfaction"]) == ("solid", "machine", 0.0)
    assert (first["people"]["satisfaction"], first["inferred"]["not_ok"], first["total"]) == (0.9, 10, 30)
    sources = {a["agent_id"]: (a["user"], a["machine"], a["reviewer"]) for a in agents}
    assert sources == {"solid": (20, 10, 0), "mixed": (10, 0, 0), "lucky": (1, 0, 0)}


async def test_calibration_is_narrowed_to_one_detector(http: httpx.AsyncClient, take: Take) -> None:
    new, old = "10.a1b2c3d4", "9.a1b2c3d4"
    await take(
        feedback("m1", turn="t1", kind="inferred", reaction="not_ok", confidence=0.9, detector=new, decided_by="rules"),
        feedback("f1", turn="t1", kind="explicit", reaction="not_ok"),
        feedback("m2", turn="t2", kind="inferred", reaction="ok", confidence=0.8, detector=old, decided_by="learned"),
        feedback("f2", turn="t2", kind="explicit", reaction="not_ok"),
        feedback("m3", turn="t3", kind="inferred", reaction="ok", confidence=0.7, detector=old, decided_by="learned"),
    )
    for question, agreeing in ((f"detector={new}", [1, 1]), (f"detector={old}", [1, 0]), ("decided_by=llm", [0, 0])):
        found = (await http.get(f"{PROJECT}/feedback/calibration?{question}")).json()
        assert [found["pairs"], found["agreeing"]] == agreeing


# Answered turns by agent, and those that people have judged.

AT = Project("acme", "support")


EVENTS = [
    *(message(f"a{n}", turn=f"t{n}", agent="bot", agent_version=str(n % 2), at=n) for n in range(4)),
    message("late", turn="t3", agent="other", at=9),
    message("elsewhere", conversation="c2", turn="t0", agent="bot", agent_version="0", at=5),
    feedback("person", turn="t0", reaction="ok", kind="explicit", at=20),
    feedback("twice", turn="t0", user="bob", reaction="not_ok", kind="explicit", at=21),
    feedback("machine", turn="t1", reaction="ok", kind="inferred", at=20),
    feedback("critic", turn="t1", user_type="agent", user="critic", reaction="ok", kind="explicit", at=20),
    feedback("taken back", turn="t2", reaction=None, kind="explicit", at=20),
    feedback("on the other", turn="t3", reaction="ok", kind="explicit", at=20),
]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), {"bot": AnsweredTurns(4, 1), "other": AnsweredTurns(1, 1)}),
        (Filters(agent_version="0"), {"bot": AnsweredTurns(3, 1)}),
        (Filters(agent_id="other"), {"other": AnsweredTurns(1, 1)}),
        (Filters(model="none"), {}),
    ],
)
async def test_turns_count_once_for_the_agent_of_the_last_answer(
    read_models: asyncpg.Pool, filters: Filters, expected: dict[str, AnsweredTurns]
) -> None:
    await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(*EVENTS))
    assert await answered_by_agent(read_models, AT, ALWAYS, filters) == expected


async def test_only_the_newest_answers_are_read(read_models: asyncpg.Pool) -> None:
    await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(*EVENTS))
    assert await answered_by_agent(read_models, AT, ALWAYS, Filters(), scanned=1) == {"other": AnsweredTurns(1, 1)}


# Lists of machine verdicts on turns that people judged, too: before and after their hours are counted.

DAY_SECONDS = 86_400


JUDGED_OK = Filters(judged="ok", feedback_type="verdict")


def pair(number: int, *, reaction: str | None = "ok") -> list[Event]:
    """Return a machine's rejection on day `number`, and a person's verdict on the same turn two days later."""
    at, turn = number * DAY_SECONDS, f"t{number}"
    found: list[Event] = [feedback(f"m{number}", kind="inferred", reaction="not_ok", turn=turn, at=at)]
    if reaction is not None:
        found.append(feedback(f"p{number}", reaction=reaction, turn=turn, at=at + 2 * DAY_SECONDS))
    return found


async def take(pool: Database, *events: Event) -> None:
    await ProjectionHandler(PostgresReadModels(pool)).handle(batch(*events))


async def listed(pool: Database) -> list[str]:
    rows, _, total = await found_and_counted(pool, AT, ALWAYS, JUDGED_OK, 50)
    assert total == (len(rows), True)
    names = {feedback_id(f"m{number}"): f"m{number}" for number in range(20)}
    return [names[row["feedback_id"]] for row in rows]


async def test_judged_verdicts_are_listed_before_and_after_their_hours_are_counted(read_models: Database) -> None:
    rollups = Rollups(read_models, SystemClock())
    await take(read_models, *pair(0, reaction=None), *pair(4), *pair(8, reaction="not_ok"), *pair(12))
    assert await listed(read_models) == ["m12", "m4"]
    await rollups.catch_up(quiet=0)
    assert await listed(read_models) == ["m12", "m4"]
    await take(read_models, feedback("late", reaction="ok", turn="t0", at=15 * DAY_SECONDS))
    assert await listed(read_models) == ["m12", "m4", "m0"]
    await rollups.catch_up(quiet=0)
    assert await listed(read_models) == ["m12", "m4", "m0"]
    await take(read_models, feedback("late", reaction=None, revision=2, turn="t0", at=15 * DAY_SECONDS))
    assert await listed(read_models) == ["m12", "m4"]


async def test_a_first_page_without_a_next_one_is_its_own_count(read_models: Database) -> None:
    await take(read_models, *(feedback(f"m{number}", turn=f"t{number}", at=number) for number in range(3)))
    rows, cursor, total = await found_and_counted(read_models, AT, ALWAYS, Filters(), 3)
    assert (len(rows), cursor, total) == (3, None, (3, True))
    rows, cursor, total = await found_and_counted(read_models, AT, ALWAYS, Filters(), 2)
    assert (len(rows), total) == (2, (3, True))
    rows, _, total = await found_and_counted(read_models, AT, ALWAYS, Filters(), 2, cursor)
    assert (len(rows), total) == (1, (3, True))
