"""The search for feedback records: each filter alone, pages, and excluded records."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest

from contracts.instants import DAY
from reporting.feedback import search
from reporting.feedback.search import with_answers
from reporting.figures.reasons import reasons
from reporting.http.conversations import conversations_router
from reporting.model.paging import OVERHEAD, PAGE_BYTES
from reporting.model.selection import Filters, Project, TimeSpan
from reporting.model.words import patterns
from reporting.parts import SCHEMA
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.db.pools import open_pool
from servicekit.db.row_security import EVERY_TENANT, tenant_in_sight
from tests.support.databases import new_database
from tests.support.hand_clock import FixedClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, batch, feedback, feedback_id, message

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
             correction_type="explicit", text="no, wrong", detector="3.a1b2c3d4", decided_by="learned"),
    feedback("m2", turn="t4", agent="b", kind="inferred", reaction="ok", at=5, confidence=0.7, text="thanks"),
    feedback("f4", turn="t5", reaction=None, at=6, revision=2),
    feedback("f5", turn="t1", tenant="globex", at=7),
    feedback("f6", turn="t1", project="sales", at=8),
)  # fmt: skip


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["m2", "m1", "f3", "f2", "f1"]),
    ({"agent_id": "a"}, ["m1", "f2", "f1"]),
    ({"agent_version": "2"}, ["f2"]),
    ({"attributes": {}}, ["m2", "m1", "f3", "f2", "f1"]),
    ({"model": "large"}, ["f3"]),
    ({"reaction": "not_ok"}, ["m1", "f2"]),
    ({"origin": "machine"}, ["m2", "m1"]),
    ({"detector": "3.a1b2c3d4"}, ["m1"]),
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
    ({"words": "TOO DEAR"}, ["f2"]),
    ({"words": "euro"}, ["f2"]),
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
    ({"feedback_type": "implicit", "words": "euro"}, ["r1"]),
    ({"feedback_type": "implicit", "reaction": "ok"}, []),
    ({"feedback_type": "verdict"}, ["m2", "m1", "f3", "f2", "f1"]),
    ({"feedback_type": "verdict", "words": "euro"}, ["f2"]),
    ({"agent_id": "a"}, ["m1", "f2", "r1", "f1"]),
    ({"given_by": "agent"}, ["r2", "f3"]),
    ({"source": "post"}, ["r2", "f3"]),
    ({"source": "post", "words": "dear"}, ["r2"]),
    ({"origin": "user"}, ["r2", "f3", "f2", "r1", "f1"]),
    ({"origin": "machine"}, ["m2", "m1"]),
    ({"origin": "reviewer"}, []),
    ({"reaction": "neutral"}, ["f3"]),
    ({"tag": "slow"}, ["f2"]),
    ({"words": "euro"}, ["f2", "r1"]),
    ({"words": "too dear"}, ["r2", "f2"]),
    ({"user_id": "bob"}, ["f2", "r1"]),
    ({"conversation_id": "c2"}, ["r2", "f3"]),
    ({"min_confidence": 1.0}, ["r2", "f3", "f2", "r1", "f1"]),
]


async def test_replies_are_found_like_verdicts_and_never_taken_for_one(http: httpx.AsyncClient, take: Take) -> None:
    await take(*SAID, *REPLIES)
    assert [(body, await names(http, **body)) for body, _ in FILTERS_WITH_REPLIES] == FILTERS_WITH_REPLIES


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
    page = await ask(http, words="words", limit=2)
    assert [item["text"] for item in page["items"]] == ["other words", "the words at last"]
    rest = await ask(http, words="words", limit=2, cursor=page["next_cursor"])
    assert ([item["text"] for item in rest["items"]], rest["next_cursor"]) == (["the words"], None)


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
        "select feedback_id, user_id, conversation_id from feedbacks where (tenant, project) = ('acme', 'support')"
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


# The search for words in questions, answers and feedback: by indexes, and by scanning records for frequent words.

PATH = "/conversations/acme/support/feedback/search"


AT = Project("acme", "support")


NAMES = {str(feedback_id(name)): name for name in ("f1", "f2", "f3", "f4", "f5", "r1")}


EVENTS = (
    message("q1", turn="t1", content="Which train gets me to Ghent?", at=1),
    message("a1", turn="t1", agent="bot", content="See https://rail.example/night-trains, Übergangszeit 8 min.", at=2),
    feedback("f1", turn="t1", agent="bot", kind="explicit", reaction="not_ok", text="that left_yesterday", at=3),
    # The question has no turn: it belongs to the answer that follows it.
    message("q2", turn=None, conversation="c2", content="次の電車はいつですか", at=4),
    message("a2", turn="t2", conversation="c2", agent="bot", content="東京都まで 9 時です。", at=5),
    feedback("f2", turn="t2", conversation="c2", agent="bot", reaction="ok", emoji="\U0001f44d", at=6),
    feedback("f3", turn="t3", conversation="c3", agent="bot", kind="explicit", reaction="not_ok",
             correction="The Ghent tram", at=7),
    feedback("f4", turn="t1", agent="bot", kind="inferred", reaction="not_ok", text="no", confidence=0.9, at=8),
    feedback("r1", kind="implicit", turn="t3", conversation="c3", agent="bot", text="Which tram?", at=9),
    message("q1", turn="t1", content="Which train gets me to Ghent?", tenant="globex", at=1),
    feedback("f5", turn="t1", tenant="globex", agent="bot", kind="explicit", reaction="not_ok", text="tram", at=2),
)  # fmt: skip


FOUND: list[tuple[str, list[str]]] = [
    ("train", ["f4", "f1"]),
    ("TRAIN ghent", ["f4", "f1"]),
    ("rain", []),
    ("rail", ["f4", "f1"]),
    ("night trains", ["f4", "f1"]),
    ("übergangszeit", ["f4", "f1"]),
    ("yesterday", ["f1"]),
    ("ghent", ["f4", "f3", "f1"]),
    ("tram", ["r1", "f3"]),
    ("train tram", []),
    ("電車", ["f2"]),
    ("電車はいつ", ["f2"]),
    ("電いつ", []),
    ("東京", ["f2"]),
    ("京都", ["f2"]),
    ("8 min", ["f4", "f1"]),
    ("%", []),
    ("' | of:* & '", []),
]


async def word_names(http: httpx.AsyncClient, **body: Any) -> list[str]:
    found, cursor = [], None
    while True:
        answer = await http.post(PATH, json={**body, "cursor": cursor})
        assert answer.status_code == 200, answer.text
        found += [NAMES[item["feedback_id"]] for item in answer.json()["items"]]
        if (cursor := answer.json()["next_cursor"]) is None:
            return found


@pytest.mark.parametrize("most", [search.MOST_TEXTS, 1])
async def test_words_are_found_in_question_answer_and_feedback(
    http: httpx.AsyncClient, take: Take, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """With most=1 every word is too frequent for the indexes, so records are scanned, two per page."""
    monkeypatch.setattr(search, "MOST_TEXTS", most)
    if most == 1:
        monkeypatch.setattr(search, "SCANNED", 2)
    await take(*EVENTS)
    assert {words: await word_names(http, words=words) for words, _ in FOUND} == dict(FOUND)
    assert await word_names(http, words="ghent", origin="machine") == ["f4"]


async def test_an_edited_or_erased_text_is_found_no_longer(http: httpx.AsyncClient, take: Take) -> None:
    await take(*EVENTS)
    await take(message("q1", turn="t1", content="Never mind.", at=20))
    assert await word_names(http, words="train ghent") == []
    assert await word_names(http, words="mind") == ["f4", "f1"]


async def test_a_long_text_is_stored_and_found_by_its_beginning(http: httpx.AsyncClient, take: Take) -> None:
    words = " ".join(f"w{n:05}" for n in range(25_000))
    await take(
        message("q1", turn="t1", content=words, at=1),
        message("a1", turn="t1", agent="bot", content="電" + "".join(chr(0x4E00 + n) for n in range(20_000)), at=2),
        feedback("f1", turn="t1", agent="bot", reaction="ok", at=3),
    )
    assert await word_names(http, words="w00007") == ["f1"]
    assert await word_names(http, words="w24999") == []


async def test_the_lookup_keeps_readers_to_their_tenant(postgres_url: str) -> None:
    """The function runs as the tables' owner, so it has to apply the rule of the policies itself."""
    async with (
        new_database(postgres_url, "reporting") as url,
        await open_pool(url, "reporting", SCHEMA) as pool,
        await open_pool(url, "reporting", SCHEMA, size=1, tenants_apart=True) as reads,
    ):
        await ProjectionHandler(PostgresReadModels(pool)).handle(batch(*EVENTS))
        for tenant, seen in (("acme", True), ("globex", False), ("", False), (EVERY_TENANT, True)):
            tenant_in_sight.set(tenant)
            found = await search.looked_up(reads, AT, Filters(words="ghent"))
            assert bool(found.among) is seen, tenant


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Night-train", ["(^|[^[:alnum:]])Night", "(^|[^[:alnum:]])train"]),
        ("foo_bar foo", ["(^|[^[:alnum:]])foo", "(^|[^[:alnum:]])bar"]),
        ("iPhone電車", ["(^|[^[:alnum:]])iPhone", "電車"]),
        ("สวัสดี", ["สวัสดี"]),
        (" .*[](){}^$\\ ", []),
        (" ".join(map(str, range(20))), [f"(^|[^[:alnum:]]){n}" for n in range(10)]),
    ],
)
def test_patterns_have_letters_and_digits_of_the_words_alone(words: str, expected: list[str]) -> None:
    assert patterns(words) == expected


async def test_common_words_do_not_change_what_is_found(http: httpx.AsyncClient, take: Take, read_models: Any) -> None:
    """The index does not look up a word that begins half of the messages, if there is another word."""
    turns = [f"c{number}" for number in range(30)]
    for number, conversation in enumerate(turns):
        said = "Which order?" if number % 10 else f"Orders {number} of mine"
        await take(
            message("q1", turn="t1", conversation=conversation, content=said, at=1),
            message("a1", turn="t1", conversation=conversation, agent="bot", content=f"It is in hand {number}.", at=2),
            feedback(f"f{number}", turn="t1", conversation=conversation, agent="bot", reaction="ok", at=3),
        )

    async def found(words: str) -> list[str]:
        answer = await http.post(PATH, json={"words": words, "limit": 40})
        return sorted(one["conversation_id"] for one in answer.json()["items"])

    asked = ("order", "orders", "order mine", "orders 20", "which hand", "it 7", "order 7", "of mine 1")
    before = [await found(words) for words in asked]
    assert [len(some) for some in before] == [30, 3, 3, 1, 0, 1, 0, 1]
    await read_models.execute("analyze messages")
    shares = "select max(share) from pg_stats, unnest(most_common_elem_freqs) share where tablename = 'messages_terms'"
    assert await read_models.fetchval(shares) >= 0.5
    assert [await found(words) for words in asked] == before


# Reasons of verdicts, also of those that have a given reason.

WEEK = TimeSpan(START - DAY, START + 7 * DAY)


async def test_reasons_of_verdicts_with_a_reason_are_counted(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*(
        feedback(f"f{n}", kind="explicit", turn=f"t{n}", reaction="not_ok", tags=tags)
        for n, tags in enumerate((("slow", "wrong"), ("wrong",), ("slow",), ("rude", "wrong")))
    ))  # fmt: skip
    wrong = Filters(tag="wrong")
    whole = await reasons(read_models, AT, WEEK, wrong)
    assert [(one.reason, one.not_ok) for one in whole.reasons] == [("wrong", 3), ("rude", 1), ("slow", 1)]
    assert (await reasons(read_models, AT, WEEK, wrong, limit=2)).reasons == whole.reasons[:2]
    assert (await reasons(read_models, AT, WEEK, wrong.replace(tag="nothing"))).reasons == []
