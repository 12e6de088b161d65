"""The search for words in questions, answers and feedback: by indexes, and by scanning records for frequent words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest

from reporting.feedback import said, search
from reporting.http.conversations import conversations_router
from reporting.model.selection import Filters, Project
from reporting.model.words import patterns
from reporting.parts import SCHEMA
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from reporting.sql import SQL
from servicekit.clock import FixedClock
from servicekit.db.pools import open_pool
from servicekit.db.row_security import EVERY_TENANT, tenant_in_sight
from tests.support.databases import new_database
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, batch, feedback, feedback_id, message

NOW = FixedClock(START + 3_600_000_000)
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


@pytest.fixture
async def http(read_models: asyncpg.Pool) -> AsyncIterator[httpx.AsyncClient]:
    async with client([conversations_router(read_models, NOW)]) as opened:
        yield opened


async def names(http: httpx.AsyncClient, **body: Any) -> list[str]:
    found, cursor = [], None
    while True:
        answer = await http.post(PATH, json={**body, "cursor": cursor})
        assert answer.status_code == 200, answer.text
        found += [NAMES[item["feedback_id"]] for item in answer.json()["items"]]
        if (cursor := answer.json()["next_cursor"]) is None:
            return found


@pytest.mark.parametrize("most", [said.MOST, 1])
async def test_words_are_found_in_question_answer_and_feedback(
    http: httpx.AsyncClient, take: Take, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """With most=1 every word is too frequent for the indexes, so records are scanned, two per page."""
    monkeypatch.setattr(said, "MOST", most)
    if most == 1:
        monkeypatch.setattr(search, "_SCANNED_WITH_MESSAGES", 2)
    await take(*EVENTS)
    assert {words: await names(http, words=words) for words, _ in FOUND} == dict(FOUND)
    assert await names(http, words="ghent", origin="machine") == ["f4"]
    assert await names(http, words="ghent", text="tram") == ["f3"]


async def test_an_edited_or_erased_text_is_found_no_longer(http: httpx.AsyncClient, take: Take) -> None:
    await take(*EVENTS)
    await take(message("q1", turn="t1", content="Never mind.", at=20))
    assert await names(http, words="train ghent") == []
    assert await names(http, words="mind") == ["f4", "f1"]


async def test_the_indexes_answer_the_search(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*EVENTS)
    async with read_models.acquire() as connection, connection.transaction():
        await connection.execute("set local enable_seqscan = off")
        for table, text in (
            ("messages", "content"),
            ("feedbacks", "coalesce(text, '') || ' ' || coalesce(correction, '')"),
            ("replies", "coalesce(text, '')"),
        ):
            rows = await connection.fetch(
                f"explain select from {table} where search_terms(tenant, project, {text}) @@ 'train'"
                + ("" if table == "messages" else " and (text is not null)")
            )
            assert f"{table}_terms" in "\n".join(row[0] for row in rows)


async def test_a_long_text_is_stored_and_found_by_its_beginning(http: httpx.AsyncClient, take: Take) -> None:
    words = " ".join(f"w{n:05}" for n in range(25_000))
    await take(
        message("q1", turn="t1", content=words, at=1),
        message("a1", turn="t1", agent="bot", content="電" + "".join(chr(0x4E00 + n) for n in range(20_000)), at=2),
        feedback("f1", turn="t1", agent="bot", reaction="ok", at=3),
    )
    assert await names(http, words="w00007") == ["f1"]
    assert await names(http, words="w24999") == []


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
            found = await said.looked_up(reads, AT, Filters(words="ghent"))
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


async def test_turns_of_too_frequent_words_are_not_looked_up(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*EVENTS)
    asked = {"tenant": "acme", "project": "support", "words": "train", "patterns": ["train"]}
    every = await read_models.fetchrow(*SQL.feedback_about(**asked, most=said.MOST))
    frequent = await read_models.fetchrow(*SQL.feedback_about(**asked, most=1))
    assert every is not None
    assert frequent is not None
    assert len(every["ids"]) > len(frequent["ids"])
    assert frequent["texts"] == 1


async def test_whole_words_that_are_frequent_end_the_lookup(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*EVENTS)
    asked = {"tenant": "acme", "project": "support", "words": "ghent", "patterns": ["ghent"]}
    for most, texts, ids in ((1, 1, 0), (2, 1, 3)):
        row = await read_models.fetchrow(*SQL.feedback_about(**asked, most=most))
        assert row is not None
        assert (row["texts"], len(row["ids"])) == (texts, ids), most


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
