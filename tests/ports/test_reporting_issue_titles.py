"""Titles of issues by a language model's server, in PostgreSQL: asked, kept, cleared, and retried."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from chat_completions.endpoint import LlmEndpoint
from contracts.erasure import Person
from contracts.instants import DAY
from reporting.issues.reading import Issue, list_issues
from reporting.issues.store import merge, split
from reporting.issues.titling import PAUSE, QUESTIONS, IssueTitler
from reporting.issues.worker import IssueWorker
from reporting.read_models.erasure import ReportingErasures
from servicekit.clock import FixedClock
from tests.support.issue_turns import AT, NOW, TOPICS, TopicEncoder, issue_job, rejected_turn, rejected_turns
from tests.support.llm_server import LlmServer, completion, llm_server, response
from tests.support.reporting_events import Event, Take, feedback
from tests.support.waits import PATIENCE_SECONDS

KEY = "sk-not-to-be-seen"
Titlers = Callable[..., IssueTitler]


@pytest_asyncio.fixture
async def server() -> AsyncIterator[LlmServer]:
    async with llm_server() as running:
        running.respond = lambda request: completion(title_of(request))
        yield running


@pytest_asyncio.fixture
async def titlers(server: LlmServer, read_models: asyncpg.Pool) -> AsyncIterator[Titlers]:
    """Yield a function that makes titlers which ask the server."""
    endpoint = LlmEndpoint(server.url, KEY, 1)

    def make(now: int = NOW, **options: Any) -> IssueTitler:
        return IssueTitler(read_models, FixedClock(now), endpoint, "m", **options)

    yield make
    await endpoint.close()


def shown(request: Any) -> list[dict[str, str]]:
    rejected: list[dict[str, str]] = json.loads(request["messages"][1]["content"])["rejected"]
    return rejected


def title_of(request: Any) -> str:
    """Return a title for the topic of the shown questions."""
    text = shown(request)[0]["question"]
    return next(f"Trouble with {topic}" for topic in TOPICS if topic in text)


async def question_under_way(server: LlmServer, titlers: Titlers) -> asyncio.Task[int]:
    """Begin a run, and return it once its first question has arrived. `server.released` lets it be answered."""
    server.released.clear()
    asking = asyncio.create_task(titlers().title_issues())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not server.at_work:
            await asyncio.sleep(0)
    return asking


async def by_topic(pool: asyncpg.Pool) -> list[int]:
    rows = await pool.fetch("select issue_id from issue_turns where turn_id in ('t0', 't1', 't2') order by turn_id")
    return [row["issue_id"] for row in rows]


async def issues(pool: asyncpg.Pool) -> dict[int, Issue]:
    return {one.id: one for one in await list_issues(pool, AT, NOW)}


async def titles(pool: asyncpg.Pool) -> list[str]:
    return sorted(one.title for one in (await issues(pool)).values())


async def test_the_title_is_the_models_sentence_and_the_words_stay(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_turns(0, 15, words="That is wrong."))
    await issue_job(read_models).catch_up()
    words = {id_: one.words for id_, one in (await issues(read_models)).items()}
    assert await titlers().title_issues() == 3
    assert await titles(read_models) == sorted(f"Trouble with {topic}" for topic in TOPICS)
    assert {id_: one.words for id_, one in (await issues(read_models)).items()} == words
    assert server.authorizations == {f"Bearer {KEY}"}
    for request in server.asked:
        assert (request["model"], request["temperature"]) == ("m", 0)
        assert {one["complaint"] for one in shown(request)} == {"That is wrong."}
        assert len({one["question"] for one in shown(request)}) == 5
    assert await titlers().title_issues() == 0, "each issue has a sentence"
    assert len(server.asked) == 3


async def test_new_turns_keep_the_title(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    await titlers().title_issues()
    before = await titles(read_models)
    server.respond = lambda _: completion("Another title")
    await take(*rejected_turns(15, 9))
    await issue_job(read_models, NOW + DAY).catch_up()
    assert await titlers(NOW + DAY).title_issues() == 0
    assert await titles(read_models) == before


async def test_other_words_ask_for_another_title(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    await titlers().title_issues()
    refund = (await by_topic(read_models))[0]
    await read_models.execute("update issues set sentence_words = '{dog,cat,refund}' where id = $1", refund)
    await issue_job(read_models, NOW + DAY).catch_up()
    assert (await issues(read_models))[refund].sentence is None
    server.respond = lambda _: completion("Another title")
    assert await titlers(NOW + DAY).title_issues() == 1
    assert (await issues(read_models))[refund].title == "Another title"


FAILURES = {
    "500": response(b"{}", 500),
    "refused": response(b"{}", 400),
    "reset": b"",
    "no JSON": response(b"<html>busy</html>"),
    "no content": completion(None),
    "markup": completion("<b>Refunds</b>"),
    "lines": completion("Refunds\nare slow"),
    "long": completion("refund " * 40),
    "large": response(b" " * 5_000_000),
}


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
async def test_a_failure_leaves_the_words_and_is_retried_after_a_pause(
    server: LlmServer,
    titlers: Titlers,
    read_models: asyncpg.Pool,
    take: Take,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    answer: bytes,
) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    before, answered = await titles(read_models), server.respond
    server.respond = lambda _: answer
    with caplog.at_level(logging.DEBUG):
        for _ in range(5):
            assert await titlers().title_issues() == 0
    assert len(server.asked) == 3, "each issue once until the pause is over"
    assert await titles(read_models) == before
    logged = capsys.readouterr().out + caplog.text
    assert logged.count("issue_title_failed") == 3
    assert not any(text in logged for text in (KEY, "efund", "password", "parcel"))
    server.respond = answered
    assert await titlers(NOW + PAUSE - 1).title_issues() == 0
    assert await titlers(NOW + PAUSE).title_issues() == 3


async def test_a_slow_model_is_given_up_at_the_deadline(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    server.released.clear()
    assert await titlers(seconds=0.05).title_issues() == 0
    assert len(server.asked) == 1, "the run ends"


async def test_a_run_asks_a_bounded_number_of_questions(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    agents = [rejected_turns(15 * n, 15, agent=f"bot{n}") for n in range(4)]
    await take(*(one for turns in agents for one in turns))
    await issue_job(read_models).catch_up()
    assert await titlers().title_issues() == QUESTIONS == len(server.asked)
    assert await titlers().title_issues() == 2


async def test_an_issue_that_another_process_claims_is_left_to_it(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    refund, parcel, password = await by_topic(read_models)
    async with read_models.acquire() as connection, connection.transaction():
        await connection.execute("select from issues where id = $1 for update", refund)
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await titlers().title_issues() == 2
    found = await issues(read_models)
    assert [found[one].sentence for one in (refund, parcel, password)] == [
        None,
        f"Trouble with {TOPICS[1]}",
        f"Trouble with {TOPICS[2]}",
    ]
    assert len(server.asked) == 2


async def sentence_fields(pool: asyncpg.Pool, issue: int) -> dict[str, Any]:
    row = await pool.fetchrow(
        "select sentence, sentence_words, sentence_conversations, sentence_turns, sentence_due from issues "
        "where id = $1", issue,
    )  # fmt: skip
    assert row is not None
    return dict(row)


NONE: dict[str, Any] = {
    "sentence": None, "sentence_words": [], "sentence_conversations": [], "sentence_turns": [], "sentence_due": None,
}  # fmt: skip


async def test_an_erasure_clears_the_title(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    await titlers().title_issues()
    refund, parcel, _ = await by_topic(read_models)
    erased = {Person("acme", "u0"): NOW}
    await ReportingErasures(read_models).erase(erased)
    assert await sentence_fields(read_models, refund) == NONE
    assert (await sentence_fields(read_models, parcel))["sentence"] == f"Trouble with {TOPICS[1]}"
    await issue_job(read_models).catch_up()
    assert await titlers().title_issues() == 1
    assert "case 0" not in str(server.asked[3:])
    assert "t0" not in (await sentence_fields(read_models, refund))["sentence_turns"]


async def test_an_erasure_during_the_question_discards_the_answer(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    asking = await question_under_way(server, titlers)
    people = {Person("acme", f"u{number}"): NOW for number in range(15)}
    await ReportingErasures(read_models).erase(people)
    server.released.set()
    assert await asking == 0
    assert await read_models.fetchval("select count(*) from issues where sentence is not null") == 0


def rejection(number: int, user: str, at: float) -> Event:
    """Return the rejection of a turn by a person who did not ask its question."""
    return feedback(
        f"f{number}-{user}", kind="explicit", reaction="not_ok", text=f"Words of {user}.", user=user, agent="bot",
        agent_version="1", turn=f"t{number}", conversation=f"c{number}", agent_message_id=f"a{number}", at=at,
    )  # fmt: skip


def rejected_by_bob() -> list[Event]:
    """Return rejected turns of which Bob has rejected the first three."""
    asked = [one for number in range(3) for one in list(rejected_turn(number, TOPICS[number]))[:2]]
    return [*asked, *(rejection(number, "bob", 30) for number in range(3)), *rejected_turns(3, 12)]


async def test_another_rejection_of_a_turn_does_not_keep_a_title_from_an_erasure(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_by_bob())
    await issue_job(read_models).catch_up()
    await titlers().title_issues()
    assert "Words of bob." in str(server.asked)
    refund, parcel, _ = await by_topic(read_models)
    assert "t0" in (await sentence_fields(read_models, refund))["sentence_turns"]
    await take(rejection(0, "cleo", 200))
    await issue_job(read_models).catch_up()
    assert (await sentence_fields(read_models, parcel))["sentence"]
    await ReportingErasures(read_models).erase({Person("acme", "bob"): NOW})
    assert await sentence_fields(read_models, refund) == NONE


async def test_another_rejection_during_the_question_discards_the_answer(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_by_bob())
    await issue_job(read_models).catch_up()
    asking = await question_under_way(server, titlers)
    await take(*(rejection(number, "cleo", 200) for number in range(3)))
    await issue_job(read_models).catch_up()
    server.released.set()
    assert await asking == 3
    told = ["Words of bob." in str(request) for request in server.asked]
    assert told == [True, False, False, False], "the first issue is asked about again"


async def retake(pool: asyncpg.Pool, take: Take, numbers: Sequence[int]) -> None:
    """Withdraw Bob's rejections of turns, and reject these as Cleo, in batches of one run of the job."""
    withdrawn: dict[str, Any] = {
        "kind": "explicit",
        "reaction": None,
        "revision": 2,
        "user": "bob",
        "agent": "bot",
        "at": 150,
    }
    worker = IssueWorker(pool, FixedClock(NOW), TopicEncoder())
    await take(*(feedback(f"f{n}-bob", turn=f"t{n}", conversation=f"c{n}", **withdrawn) for n in numbers))
    assert await worker.place_changed() == len(numbers)
    await take(*(rejection(number, "cleo", 200) for number in numbers))
    assert await worker.place_changed() == len(numbers)


async def test_a_turn_that_leaves_and_returns_does_not_keep_a_title_from_an_erasure(
    titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_by_bob())
    await issue_job(read_models).catch_up()
    await titlers().title_issues()
    refund, parcel, _ = await by_topic(read_models)
    await retake(read_models, take, [0])
    assert (await by_topic(read_models))[0] == refund
    assert (await sentence_fields(read_models, parcel))["sentence"]
    await ReportingErasures(read_models).erase({Person("acme", "bob"): NOW})
    assert await sentence_fields(read_models, refund) == NONE


async def test_a_turn_that_leaves_and_returns_during_the_question_discards_the_answer(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_by_bob())
    await issue_job(read_models).catch_up()
    asking = await question_under_way(server, titlers)
    await retake(read_models, take, range(3))
    server.released.set()
    assert await asking == 3
    assert ["Words of bob." in str(request) for request in server.asked] == [True, False, False, False]


async def test_a_rejection_that_is_not_placed_yet_is_not_shown(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    """The stored turn names another person, so an erasure of this one would not find the title."""
    await take(*rejected_by_bob())
    await issue_job(read_models).catch_up()
    await take(rejection(0, "cleo", 200))
    assert await titlers().title_issues() == 3
    assert "cleo" not in str(server.asked) and "case 0" not in str(server.asked)
    refund, _, _ = await by_topic(read_models)
    assert sorted((await sentence_fields(read_models, refund))["sentence_turns"]) == ["t12", "t3", "t6", "t9"]


async def test_a_question_that_arrives_after_the_rejection_was_placed_is_not_shown(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    """The stored turn names nobody who asked, so an erasure of the asker would not find the title."""
    question, *late = rejected_turn(0, TOPICS[0], words=f"No {TOPICS[0]}.")
    await take(*late, *rejected_turns(3, 12))
    await issue_job(read_models).catch_up()
    await take(question)
    assert await titlers().title_issues() == 3
    assert "case 3" in str(server.asked) and "case 0" not in str(server.asked)


async def test_a_person_in_the_ledger_is_not_shown(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    await read_models.execute("insert into erasures values ('acme', 'u0', 'r', $1)", NOW)
    assert await titlers().title_issues() == 3
    assert "case 3" in str(server.asked)
    assert "case 0" not in str(server.asked)


async def test_a_turn_that_leaves_takes_the_title_with_it(
    titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    await titlers().title_issues()
    refund, parcel, _ = await by_topic(read_models)
    gone = feedback("f0", kind="explicit", reaction=None, revision=2, turn="t0", conversation="c0", user="u0", at=2)
    await take(gone)
    await issue_job(read_models).catch_up()
    await issue_job(read_models).catch_up()
    assert await sentence_fields(read_models, refund) == NONE
    assert (await sentence_fields(read_models, parcel))["sentence"]


async def test_a_merge_and_a_split_clear_the_titles(titlers: Titlers, read_models: asyncpg.Pool, take: Take) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    await titlers().title_issues()
    refund, parcel, password = await by_topic(read_models)
    assert await merge(read_models, AT, parcel, refund, NOW)
    assert await sentence_fields(read_models, parcel) == await sentence_fields(read_models, refund) == NONE
    assert await split(read_models, AT, password, [("c2", "t2")], NOW)
    assert await sentence_fields(read_models, password) == NONE


async def test_nothing_is_asked_about_turns_without_texts(
    server: LlmServer, titlers: Titlers, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    await read_models.execute("update messages set content = '' where sender_type = 'human'")
    await read_models.execute("update feedbacks set text = null")
    assert await titlers().title_issues() == 0
    assert server.asked == []
