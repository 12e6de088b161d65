"""The search for feedback records: each filter alone, pages, and excluded records."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest

from reporting.feedback.search import with_answers
from reporting.http.conversations import conversations_router
from reporting.model.paging import OVERHEAD, PAGE_BYTES
from reporting.model.selection import Project
from servicekit.clock import FixedClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, feedback, feedback_id, message

SEARCH = "/conversations/acme/support/feedback/search"
NOW = FixedClock(START + 3_600_000_000)


@pytest.fixture
async def http(read_models: asyncpg.Pool) -> AsyncIterator[httpx.AsyncClient]:
    async with client([conversations_router(read_models, NOW)]) as opened:
        yield opened


async def ask(http: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await http.post(SEARCH, json=body)
    assert answer.status_code == 200, answer.text
    body_: dict[str, Any] = answer.json()
    return body_


async def names(http: httpx.AsyncClient, **body: Any) -> list[str]:
    known = {str(feedback_id(name)): name for name in ("f1", "f2", "f3", "m1", "m2", "r1", "r2")}
    return [known[item["feedback_id"]] for item in (await ask(http, **body))["items"]]


SAID = (
    feedback("f1", turn="t1", agent="a", reaction="ok", emoji="\U0001f44d", at=1, agent_version="1", model="small"),
    feedback("f2", turn="t2", agent="a", kind="explicit", reaction="not_ok", user="bob", at=2, agent_version="2",
             text="50 % too dear_", tags=("wrong", "slow"), correction="Ten EURO."),
    feedback("f3", turn="t3", agent="b", kind="explicit", reaction="neutral", conversation="c2", at=3, model="large",
             user_type="agent", source="post"),
    feedback("m1", turn="t1", agent="a", kind="inferred", reaction="not_ok", at=4, confidence=0.9,
             correction_type="explicit", text="no, wrong", detector="2026-11-23.a1b2c3d4", decided_by="learned"),
    feedback("m2", turn="t4", agent="b", kind="inferred", reaction="ok", at=5, confidence=0.7, text="thanks"),
    feedback("f4", turn="t5", reaction=None, at=6, revision=2),
    feedback("f5", turn="t1", tenant="globex", at=7),
    feedback("f6", turn="t1", project="sales", at=8),
)  # fmt: skip


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["m2", "m1", "f3", "f2", "f1"]),
    ({"agent_id": "a"}, ["m1", "f2", "f1"]),
    ({"agent_version": "2"}, ["f2"]),
    ({"model": "large"}, ["f3"]),
    ({"reaction": "not_ok"}, ["m1", "f2"]),
    ({"origin": "machine"}, ["m2", "m1"]),
    ({"detector": "2026-11-23.a1b2c3d4"}, ["m1"]),
    ({"decided_by": "learned"}, ["m1"]),
    ({"decided_by": "rules"}, []),
    ({"given_by": "agent"}, ["f3"]),
    ({"source": "post"}, ["f3"]),
    ({"source": "chat", "agent_id": "b"}, ["m2"]),
    ({"given_by": "person", "origin": "user"}, ["f2", "f1"]),
    ({"feedback_type": "explicit"}, ["f3", "f2"]),
    ({"tag": "slow"}, ["f2"]),
    ({"tag": "explicit"}, ["m1"]),
    ({"min_confidence": 0.9, "origin": "machine"}, ["m1"]),
    ({"text": "TOO DEAR"}, ["f2"]),
    ({"text": "euro"}, ["f2"]),
    ({"text": "0 %"}, ["f2"]),
    ({"text": "%"}, ["f2"]),
    ({"text": "_"}, ["f2"]),
    ({"text": "\\"}, []),
    ({"user_id": "bob"}, ["f2"]),
    ({"conversation_id": "c2"}, ["f3"]),
    ({"start": "2026-09-21T14:13:22Z", "end": "2026-09-21T14:13:23Z"}, ["f3", "f2"]),
    ({"agent_id": "a", "reaction": "ok", "origin": "user"}, ["f1"]),
    ({"agent_id": "nobody"}, []),
]


async def test_each_filter_finds_what_it_says(http: httpx.AsyncClient, take: Take) -> None:
    await take(*SAID)
    assert [(body, await names(http, **body)) for body, _ in FILTERS] == FILTERS


REPLIES = (
    feedback("r1", kind="implicit", turn="t1", agent="a", user="bob", at=1.5, text="And in EUROS?"),
    feedback(
        "r2",
        kind="implicit",
        turn="t3",
        agent="b",
        user_type="agent",
        conversation="c2",
        at=9,
        text="Too dear",
        source="post",
    ),
    feedback("r3", kind="implicit", turn="t3", revision=2, at=10, live=False),
    feedback("r4", kind="implicit", tenant="globex", at=11),
)


FILTERS_WITH_REPLIES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["r2", "m2", "m1", "f3", "f2", "r1", "f1"]),
    ({"limit": 2}, ["r2", "m2"]),
    ({"feedback_type": "implicit"}, ["r2", "r1"]),
    ({"feedback_type": "implicit", "text": "euro"}, ["r1"]),
    ({"feedback_type": "implicit", "reaction": "ok"}, []),
    ({"feedback_type": "verdict"}, ["m2", "m1", "f3", "f2", "f1"]),
    ({"feedback_type": "verdict", "text": "euro"}, ["f2"]),
    ({"agent_id": "a"}, ["m1", "f2", "r1", "f1"]),
    ({"given_by": "agent"}, ["r2", "f3"]),
    ({"source": "post"}, ["r2", "f3"]),
    ({"source": "post", "text": "dear"}, ["r2"]),
    ({"origin": "user"}, ["r2", "f3", "f2", "r1", "f1"]),
    ({"origin": "machine"}, ["m2", "m1"]),
    ({"origin": "reviewer"}, []),
    ({"reaction": "neutral"}, ["f3"]),
    ({"tag": "slow"}, ["f2"]),
    ({"text": "euro"}, ["f2", "r1"]),
    ({"text": "too dear"}, ["r2", "f2"]),
    ({"user_id": "bob"}, ["f2", "r1"]),
    ({"conversation_id": "c2"}, ["r2", "f3"]),
    ({"min_confidence": 1.0}, ["r2", "f3", "f2", "r1", "f1"]),
]


async def test_replies_are_found_like_verdicts_and_never_taken_for_one(http: httpx.AsyncClient, take: Take) -> None:
    await take(*SAID, *REPLIES)
    assert [(body, await names(http, **body)) for body, _ in FILTERS_WITH_REPLIES] == FILTERS_WITH_REPLIES


async def test_pages_of_verdicts_and_replies_show_each_once(http: httpx.AsyncClient, take: Take) -> None:
    await take(*SAID, *REPLIES)
    for body in ({}, {"text": "o"}):
        whole = (await ask(http, **body))["items"]
        shown, cursor = [], None
        while True:
            page = await ask(http, limit=1, cursor=cursor, **body)
            shown += page["items"]
            if (cursor := page["next_cursor"]) is None:
                break
        assert shown == whole
        assert len(whole) > 1


async def test_a_reply_has_its_value_and_no_verdict(http: httpx.AsyncClient, take: Take) -> None:
    await take(*REPLIES)
    item = (await ask(http, user_id="bob"))["items"][0]
    assert (item["reaction"], item["value"], item["feedback_type"], item["origin"]) == (None, 0.4, "implicit", "user")
    assert (item["text"], item["turn_id"]) == ("And in EUROS?", "t1")


async def test_a_found_feedback_has_all_that_one_acts_on(http: httpx.AsyncClient, take: Take) -> None:
    await take(*SAID)
    (item,) = (await ask(http, tag="slow"))["items"]
    assert item == {
        "feedback_id": str(feedback_id("f2")),
        "conversation_id": "c1",
        "turn_id": "t2",
        "agent_id": "a",
        "agent_version": "2",
        "model": None,
        "user_id": "bob",
        "user_type": "human",
        "source": "chat",
        "origin": "user",
        "feedback_type": "explicit",
        "reaction": "not_ok",
        "value": -0.6,
        "confidence": 1.0,
        "rating": None,
        "worst_rating": None,
        "best_rating": None,
        "scale": None,
        "text": "50 % too dear_",
        "tags": ["wrong", "slow"],
        "correction": "Ten EURO.",
        "correction_type": None,
        "emoji": None,
        "reviews": None,
        "detector": None,
        "decided_by": None,
        "ts": "2026-09-21T14:13:22.000000Z",
        "rn": f"ef:acme:support:bob:c1:t2:artifact:{feedback_id('f2')}",
    }


async def test_what_a_newer_verdict_covers_is_not_found(http: httpx.AsyncClient, take: Take) -> None:
    await take(
        feedback("f1", turn="t1", reaction="ok", at=1),
        feedback("f2", turn="t1", kind="explicit", reaction="not_ok", at=2),
    )
    assert await names(http) == ["f2"]
    assert await names(http, reaction="ok") == []


@pytest.mark.parametrize("limit", [1, 2, 3, 500])
async def test_pages_show_each_once_though_more_comes_in(http: httpx.AsyncClient, take: Take, limit: int) -> None:
    await take(*(feedback(f"s{at}", turn=f"t{at}", at=at // 3) for at in range(10)))
    seen, cursor = [], None
    while True:
        page = await ask(http, limit=limit, cursor=cursor)
        seen += [item["turn_id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        await take(feedback(f"late{len(seen)}", turn=f"late{len(seen)}", at=100 + len(seen)))
    assert sorted(seen) == sorted(f"t{at}" for at in range(10))


async def test_what_a_newer_verdict_covers_is_not_found_by_its_text_nor_counted_as_found(
    http: httpx.AsyncClient, take: Take
) -> None:
    for at, text in enumerate(("the words", "the words once more", "the words at last")):
        await take(feedback(f"w{at}", turn="t1", kind="explicit", reaction="not_ok", text=text, at=at))
    await take(feedback("f1", turn="t2", text="other words", at=9), feedback("f2", turn="t3", text="the words", at=-1))
    page = await ask(http, text="words", limit=2)
    assert [item["text"] for item in page["items"]] == ["other words", "the words at last"]
    rest = await ask(http, text="words", limit=2, cursor=page["next_cursor"])
    assert ([item["text"] for item in rest["items"]], rest["next_cursor"]) == (["the words"], None)


async def test_a_cursor_of_another_filter_is_refused(http: httpx.AsyncClient, take: Take) -> None:
    await take(*SAID)
    cursor = (await ask(http, limit=1, agent_id="a"))["next_cursor"]
    for body in ({}, {"agent_id": "b"}, {"agent_id": "a", "reaction": "ok"}):
        assert (await http.post(SEARCH, json={**body, "cursor": cursor})).status_code == 400
    assert await names(http, agent_id="a", cursor=cursor) == ["f2", "f1"]


async def test_a_page_of_long_texts_is_bounded(http: httpx.AsyncClient, take: Take) -> None:
    await take(*(feedback(f"s{at}", turn=f"t{at}", text="x" * 10_000, at=at) for at in range(300)))
    answer = await http.post(SEARCH, json={"limit": 500})
    assert len(answer.content) < 2_500_000
    assert answer.json()["next_cursor"] is not None


WITHOUT_SENSE: list[dict[str, Any]] = [
    {"reaction": "great"},
    {"origin": "both"},
    {"min_confidence": 2},
    {"text": ""},
    {"text": "nul \x00"},
    {"tag": ""},
    {"limit": 501},
    {"start": "2026-09-22T00:00:00Z", "end": "2026-09-21T00:00:00Z"},
    {"agent": "a"},
]


async def test_a_search_that_makes_no_sense_is_refused_in_a_sentence(http: httpx.AsyncClient) -> None:
    for body in WITHOUT_SENSE:
        answer = await http.post(SEARCH, json=body)
        assert answer.status_code == 422, body
        assert isinstance(answer.json()["detail"], str), body


async def test_a_text_is_looked_for_in_bounded_steps_and_found_whole(
    http: httpx.AsyncClient, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reporting.feedback.search.SCANNED_LIMIT", 5)
    texts = {3: "needle", 11: "Needle", 12: "needle", 17: "needle"}
    await take(*(feedback(f"n{at}", turn=f"t{at}", text=texts.get(at, "hay"), at=at) for at in range(18)))
    found, cursor, pages = [], None, 0
    while pages == 0 or cursor is not None:
        page = await ask(http, text="needle", limit=2, cursor=cursor)
        found += [item["turn_id"] for item in page["items"]]
        cursor, pages = page["next_cursor"], pages + 1
    assert found == ["t17", "t12", "t11", "t3"]
    assert pages <= 6


async def test_a_found_feedback_has_the_answer_of_its_own_conversation(read_models: asyncpg.Pool, take: Take) -> None:
    places: list[dict[str, Any]] = [
        {}, {"conversation": "c2"}, {"tenant": "globex"}, {"project": "sales"},
    ]  # fmt: skip
    for n, place in enumerate(places):
        await take(
            message("a1", agent="bot", content=f"First of {n}.", at=1, **place),
            message("a2", agent="bot", content=f"Last of {n}.", at=2, **place),
            feedback(f"f1{n}", user="first", agent_message_id="a1", **place),
            feedback(f"f2{n}", user="turn", agent_message_id=None, **place),
            feedback(f"f3{n}", user="gone", agent_message_id="never sent", **place),
            feedback(f"r{n}", kind="implicit", user="reply", agent_message_id="a1", **place),
            feedback(f"n{n}", user="nothing", turn="t9", agent_message_id=None, **place),
        )
    await take(
        message("a3", agent="bot", turn="t3", content="x" * 281),
        feedback("long", user="long", turn="t3", agent_message_id="a3"),
    )
    rows = await read_models.fetch(
        "select feedback_id, user_id, conversation_id from feedbacks where (tenant, project) = ('acme', 'support') "
        "union all select feedback_id, user_id, conversation_id from replies "
        "where (tenant, project) = ('acme', 'support')"
    )
    found = await with_answers(read_models, Project("acme", "support"), rows)
    assert {(one["conversation_id"], one["user_id"]): one["answer"] for one in found} == {
        ("c1", "long"): "x" * 280,
        **{
            (conversation, user): answer and f"{answer} of {n}."
            for n, conversation in enumerate(("c1", "c2"))
            for user, answer in (
                ("first", "First"), ("turn", "Last"), ("gone", None), ("reply", "First"), ("nothing", None),
            )
        },
    }  # fmt: skip


async def test_a_page_is_limited_in_bytes_not_in_characters(http: httpx.AsyncClient, take: Take) -> None:
    text, correction = "…" * 5_000, "—" * 5_000
    await take(
        *(feedback(f"f{n}", turn=f"t{n}", kind="explicit", text=text, correction=correction, at=n) for n in range(80))
    )
    answer = await http.post(SEARCH, json={"limit": 100})
    assert len(answer.json()["items"]) == PAGE_BYTES // (30_000 + OVERHEAD)
    assert answer.json()["next_cursor"] is not None
    assert len(answer.content) < PAGE_BYTES + 80 * OVERHEAD
