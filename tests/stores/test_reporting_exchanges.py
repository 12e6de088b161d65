"""Pairs of question and answer in the reports: late, edited, deleted, erased and concurrent messages."""

from __future__ import annotations

import asyncio
import json
import os
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from contracts.chat import DELETED
from contracts.erasure import Person
from contracts.exchange import ExchangeMessage, Position, addresses, question_of
from reporting.exports.cases import cases
from reporting.exports.files import as_jsonl, count_examples
from reporting.feedback.search import found
from reporting.model.selection import ALWAYS, ConversationScope, Filters, Project
from reporting.pages.conversation import transcript
from reporting.read_models.erasure import ReportingErasures
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from reporting.turns.turns import TurnsBody, turns_with_feedbacks
from servicekit.db.database import Database
from tests.support.channels import Channel, channel_of, shuffled
from tests.support.reporting_database import empty_read_models
from tests.support.reporting_events import START, Event, batch, feedback, feedback_id, message

HERE = Project("acme", "support")


EVERY_ANSWER = Filters(origins=("user",), by_answer=True)


async def take(pool: Database, *events: Event) -> None:
    await ProjectionHandler(PostgresReadModels(pool), frozenset({"language"})).handle(batch(*events))


async def pairs(pool: asyncpg.Pool) -> dict[str, str]:
    return {row["answer_id"]: row["question_id"] for row in await pool.fetch("select * from exchanges")}


async def of(pool: asyncpg.Pool, wanted: Any) -> list[Any]:
    pages = cases(pool, HERE, ALWAYS, EVERY_ANSWER)
    made = [json.loads(line) async for page in as_jsonl(pages, wanted) for line in page.splitlines()]
    if wanted == "dpo":
        return [(one["chosen"][0]["content"], one["rejected"][0]["content"]) for one in made]
    return sorted((one["completion"][0]["content"], one["label"]) for one in made)


async def left_out(pool: asyncpg.Pool, wanted: Any) -> dict[str, int]:
    _, reasons = await count_examples(cases(pool, HERE, ALWAYS, EVERY_ANSWER), wanted)
    return {str(reason): number for reason, number in reasons.items()}


def question(name: str = "q", at: float = 0, **fields: Any) -> Event:
    return message(name, at=at, **{"turn": None, "content": f"Question {name}?"} | fields)


def answer(name: str = "a", at: float = 2, **fields: Any) -> Event:
    return message(name, at=at, agent="agent-a", **{"turn": None, "content": f"Answer {name}."} | fields)


def verdict(name: str, about: str, at: float, reaction: str = "ok", **fields: Any) -> Event:
    return feedback(name, at=at, reaction=reaction, **{"turn": about, "agent_message_id": about} | fields)


TWO_ANSWERS = {
    "turns of their own": [question(), answer("a1", 2), answer("a2", 5)],
    "one turn": [question(turn="t"), answer("a1", 2, turn="t"), answer("a2", 5, turn="t")],
    "both reply to the question in one turn": [
        question(turn="t"),
        answer("a1", 2, turn="t", reply_to_message_id="q"),
        answer("a2", 5, turn="t", reply_to_message_id="q"),
    ],
    "the question is sent again": [question(), answer("a1", 2), question(at=4), answer("a2", 5)],
    "the question is asked anew": [
        question(content="Open?"),
        answer("a1", 2),
        question("q2", at=4, content=" open?"),
        answer("a2", 5),
    ],
    "thumbs by turn": [question(), answer("a1", 2), answer("a2", 5)],
}


@pytest.mark.parametrize("shape", TWO_ANSWERS)
@pytest.mark.parametrize("backwards", [False, True])
async def test_two_answers_to_a_question_are_both_examples_and_a_pair(
    read_models: Database, shape: str, backwards: bool
) -> None:
    messages = TWO_ANSWERS[shape]
    turn = {"turn": "t"} if "one turn" in shape else {}
    kind = "explicit" if shape == "thumbs by turn" else "reaction"
    verdicts = [verdict("f1", "a1", 3, "not_ok", kind=kind, **turn), verdict("f2", "a2", 6, kind=kind, **turn)]
    events = [*messages, *verdicts]
    for event in reversed(events) if backwards else events:
        await take(read_models, event)
    assert await of(read_models, "dpo") == [("Answer a2.", "Answer a1.")]
    assert await of(read_models, "kto") == [("Answer a1.", False), ("Answer a2.", True)]
    assert await left_out(read_models, "dpo") == {"not_rejected": 1}


async def test_a_judgement_by_turn_is_about_the_turns_last_answer(read_models: Database) -> None:
    thumb = verdict("f", "t", 9, kind="explicit", turn="t", agent_message_id=None)
    gone = [answer("a3", 4, turn="t"), answer("a3", 5, turn="t", content=DELETED)]
    await take(read_models, thumb, question(turn="t"), answer("a1", 2, turn="t"))
    assert await of(read_models, "kto") == [("Answer a1.", True)]
    await take(read_models, answer("a2", 3, turn="t"), *gone)
    assert await of(read_models, "kto") == [("Answer a2.", True)]


async def test_a_judgement_of_a_deleted_placeholder_is_about_the_turns_last_answer(read_models: Database) -> None:
    placeholder = answer("a1", 2, turn="t", content="Thinking…")
    thumb = verdict("f1", "a1", 6, kind="explicit", turn="t")
    emoji = verdict("f2", "a1", 6, "not_ok", turn="t", user="eva")
    await take(read_models, question(turn="t"), placeholder, thumb, emoji, answer("a2", 4, turn="t"))
    assert await of(read_models, "kto") == [("Thinking…", False), ("Thinking…", True)]
    await take(read_models, answer("a1", 5, turn="t", content=DELETED))
    assert await of(read_models, "kto") == [("Answer a2.", True)]
    assert await left_out(read_models, "kto") == {"answer_empty": 1}, "an emoji is on its message alone"


async def test_a_judgement_that_names_an_emptied_message_of_a_person_is_about_the_turns_last_answer(
    read_models: Database,
) -> None:
    thumb = verdict("f", "p", 4, kind="explicit", turn="t")
    await take(read_models, question(turn="t"), answer(turn="t"), question("p", 3, turn="t"), thumb)
    assert await of(read_models, "kto") == []
    await take(read_models, question("p", 5, turn="t", content=DELETED))
    assert await of(read_models, "kto") == [("Answer a.", True)]


@pytest.mark.parametrize(
    "between",
    [
        [answer("b", 1, content="Searching…")],
        [answer("b", 1), answer("b", 3, content=DELETED)],
        [message("b", at=1, agent="another-bot", turn=None)],
        [question(at=3)],
        [answer(at=4)],
        [answer(at=4, model="m-9")],
    ],
    ids=["second message", "deleted", "another agent", "question again", "answer again", "with its model"],
)
async def test_what_is_no_persons_edit_keeps_the_example(read_models: Database, between: list[Event]) -> None:
    events = [question(), answer(), verdict("f", "a", 3), *between]
    for event in reversed(events):
        await take(read_models, event)
    assert await of(read_models, "kto") == [("Answer a.", True)]
    assert set((await pairs(read_models)).values()) == {"q"}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ([answer(at=4, content="Edited.")], "answer_edited"),
        ([answer(at=4, content=DELETED)], "answer_empty"),
        ([question(at=4, content="Edited?")], "question_edited"),
        ([question(at=4, content=DELETED)], "question_unknown"),
        ([question("q2", at=1), question("q2", at=4, content=DELETED)], "question_uncertain"),
        ([verdict("f", "a", 3, "neutral", revision=2)], "neutral"),
        ([verdict("f", "gone", 3, revision=2)], "answer_unknown"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_judged_answer_without_an_example_is_counted_by_reason(
    read_models: Database, more: list[Event], reason: str
) -> None:
    await take(read_models, question(), answer(), verdict("f", "a", 3), *more)
    assert await of(read_models, "kto") == []
    assert await left_out(read_models, "kto") == {reason: 1}


async def test_a_text_that_comes_back_was_edited(read_models: Database) -> None:
    versions = [answer(at=2), answer(at=4, content="Other."), answer(at=6)]
    await take(read_models, question(), *versions, verdict("f1", "a", 3), verdict("f2", "a", 7, user="eva"))
    assert [name for name, _ in await of(read_models, "kto")] == ["Answer a."]
    assert await left_out(read_models, "kto") == {"answer_edited": 1}


async def test_an_erased_question_belongs_to_no_answer(read_models: Database) -> None:
    await take(read_models, question("q0", 0, sender="kai"), answer("a0", 1), question("q", 2), answer("a", 3))
    await take(read_models, verdict("f", "a", 4, user="eva"))
    assert (await pairs(read_models))["a"] == "q"
    await ReportingErasures(read_models).erase({Person("acme", "ann"): START + 10_000_000})
    assert (await pairs(read_models))["a"] == "q0"
    assert await left_out(read_models, "kto") == {"question_uncertain": 1}, "it is not trained on another question"


async def test_a_line_of_the_platform_is_no_question_and_is_erased_with_the_person_it_names(
    read_models: Database,
) -> None:
    line = question("joined", 1).model_copy(update={"sender_type": "system"})
    await take(read_models, question("q", 0, sender="kai"), line, answer("a"))
    assert await pairs(read_models) == {"a": "q"}
    await ReportingErasures(read_models).erase({Person("acme", "ann"): START + 10_000_000})
    assert await read_models.fetchval("select content from messages where message_id = 'joined'") == ""


async def test_feedback_has_the_answers_properties_whatever_comes_first(read_models: Database) -> None:
    events = [
        answer(thread_id="q", strategy="short", attributes={"language": "de", "secret": "x"}),
        question(),
        verdict("f1", "a", 3),
        verdict("f2", "a", 3, kind="implicit"),
        verdict("f3", "gone", 3, strategy="short", attributes={"language": "de"}, thread_id="q", turn="t9"),
    ]
    for event in reversed(events):
        await take(read_models, event)
    expected = {feedback_id(name) for name in ("f1", "f2", "f3")}
    for filters in (
        Filters(strategy="short"),
        Filters(thread="q"),
        Filters(attributes={"language": "de"}),
    ):
        rows, _ = await found(read_models, HERE, ALWAYS, filters, 10)
        assert {row["feedback_id"] for row in rows} == expected
    await take(read_models, answer(at=8, strategy="long", content="Edited."))
    rows, _ = await found(read_models, HERE, ALWAYS, Filters(strategy="long"), 10)
    assert {row["feedback_id"] for row in rows} == {feedback_id("f1"), feedback_id("f2")}


async def test_concurrent_batches_see_each_other(read_models: Database) -> None:
    for number in range(10):
        fields: dict[str, Any] = {"conversation": f"c{number}"}
        await asyncio.gather(
            take(read_models, question(**fields)),
            take(read_models, answer(**fields)),
            take(read_models, verdict(f"f{number}", "a", 3, **fields)),
        )
    rows = await read_models.fetch("select question_message_id from feedbacks")
    assert [row["question_message_id"] for row in rows] == ["q"] * 10


@pytest.mark.parametrize(
    ("turns", "fields", "expected"),
    [
        ((None, None), {}, "q2"),
        (("t", "t"), {"turn": "t"}, "q2"),
        (("t", None), {"turn": "t"}, "q1"),
        ((None, None), {"content": "@ann, yes."}, "q1"),
        ((None, "t"), {"turn": "t", "reply_to_message_id": "q1"}, "q1"),
    ],
    ids=["the latest", "the latest of the turn", "the turn's", "of the addressed person", "replied to"],
)
async def test_the_question_of_an_answer(
    read_models: Database, turns: tuple[str | None, str | None], fields: dict[str, Any], expected: str
) -> None:
    first, second = question("q1", 0, turn=turns[0]), question("q2", 1, turn=turns[1], sender="kai")
    await take(read_models, first, second, answer(**fields))
    assert await pairs(read_models) == {"a": expected}


@pytest.mark.parametrize(
    "text", ["@ann yes", "<@ann> yes", " Ann, yes", "ann: yes", "ann yes", "anna, yes", "ann", "<ann>", "@ann"]
)
async def test_an_answer_addresses_a_person_in_sql_as_in_the_contract(read_models: Database, text: str) -> None:
    for name in ("ann", "ANN", "an", ""):
        assert await read_models.fetchval("select is_addressed($1, $2)", text, name) is addresses(text, name), name


# A recount from the raw events equals every view, whatever the order of arrival.
#
# EXCHANGE_CHANNELS is the number of generated channels; 500 take two to three minutes (`make stress`).

CHANNELS = int(os.environ.get("EXCHANGE_CHANNELS", "25"))


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    async with empty_read_models(postgres_url) as pool:
        yield pool


@pytest.mark.timeout(1_800)
async def test_a_recount_of_channels_equals_every_view(pool: asyncpg.Pool) -> None:
    channels = [channel_of(seed) for seed in range(CHANNELS)]
    handler = ProjectionHandler(PostgresReadModels(pool))
    for events in shuffled(channels, CHANNELS):
        await handler.handle(batch(*events))
    await _check_pairs(pool, channels)
    await _check_exports(pool, channels)
    for channel in channels:
        await _check_turns(pool, channel)
        await _check_turn_logs(pool, channel)
        await _check_search(pool, channel)
        await _check_transcript(pool, channel)


async def _check_pairs(pool: asyncpg.Pool, channels: list[Channel]) -> None:
    stored = {
        (row["conversation_id"], row["answer_id"]): row["question_id"]
        for row in await pool.fetch("select conversation_id, answer_id, question_id from exchanges")
    }
    expected = {
        (channel.name, answer.name): question.name
        for channel in channels
        for answer in channel.messages
        if not answer.by_person and (question := channel.question_of(answer)) is not None
    }
    assert stored == expected
    await _check_rule(pool, stored)
    copies = {
        row["feedback_id"]: (row["answer_id"], row["question_message_id"])
        for row in await pool.fetch("select feedback_id, answer_id, question_message_id from feedbacks")
    }
    assert copies == {
        feedback_id(given.name): (answer.name, expected.get((channel.name, answer.name)))
        for channel in channels
        for given in channel.judgements
        for answer in [channel.answer_of(given)]
    }


async def _check_rule(pool: asyncpg.Pool, stored: dict[tuple[str, str], str]) -> None:
    """Check that the rule in SQL is the rule of contracts/exchange.py."""
    conversations: defaultdict[str, list[ExchangeMessage]] = defaultdict(list)
    for row in await pool.fetch("select * from messages"):
        position = Position(row["occurred_at"], row["sequence"], row["log_time"], row["log_offset"])
        turn, is_person = row["turn_id"] or row["message_id"], row["sender_type"] == "human"
        described = (row["message_id"], turn, row["thread"], row["sender_id"], is_person, row["has_text"], position)
        conversations[row["conversation_id"]].append(ExchangeMessage(*described, row["reply_to"], row["content"]))
    assert stored == {
        (conversation, answer.message_id): question.message_id
        for conversation, messages in conversations.items()
        for answer in messages
        if not answer.is_person and (question := question_of(answer, messages)) is not None
    }


async def _check_exports(pool: asyncpg.Pool, channels: list[Channel]) -> None:
    filters = Filters(origins=("user",), by_answer=True)
    exported = {
        one["feedback_id"]: (one["prompt"][-1]["content"], one["completion"][0]["content"], one["label"])
        async for page in as_jsonl(cases(pool, HERE, ALWAYS, filters), "kto")
        for one in map(json.loads, page.splitlines())
    }
    given = [(channel, one) for channel in channels for one in channel.judgements]
    assert exported == {
        str(feedback_id(one.name)): (*example, one.reaction == "ok")
        for channel, one in given
        if (example := channel.example_of(one)) is not None
    }
    number, left_out = await count_examples(cases(pool, HERE, ALWAYS, filters), "kto")
    assert (number, number + sum(left_out.values())) == (len(exported), len(given))


async def _check_turns(pool: asyncpg.Pool, channel: Channel) -> None:
    names = sorted({one.turn or one.name for one in channel.messages if not one.by_person})
    async with pool.acquire() as connection:
        page = await turns_with_feedbacks(
            connection, ConversationScope(*HERE, channel.name), TurnsBody(turn_ids=names), 0
        )
    shown = {turn.turn_id: turn.user.text if turn.user else "" for turn in page.turns}
    for answer in channel.messages:
        if not answer.by_person and (question := channel.question_of(answer)) is not None:
            assert question.text in shown[answer.turn or answer.name], (channel.name, answer.name)


async def _check_turn_logs(pool: asyncpg.Pool, channel: Channel) -> None:
    rows = await pool.fetch(
        "select turn_id, payload -> 'turn_log' ->> 'user' as question from conv_messages"
        " where kind = 'turn.log' and conversation_id = $1",
        channel.name,
    )
    shown = {row["turn_id"]: row["question"] for row in rows}
    for answer in channel.messages:
        if not answer.by_person and answer.turn is None and (question := channel.question_of(answer)) is not None:
            assert shown[answer.name] == question.text


async def _check_search(pool: asyncpg.Pool, channel: Channel) -> None:
    for one in channel.messages:
        word = one.text.split(" ")[-1]
        if not word or word.startswith("edited"):
            continue
        rows, _ = await found(pool, HERE, ALWAYS, Filters(words=word, by_answer=True), 100)
        pairs = {
            feedback_id(given.name): (answer, channel.question_of(answer))
            for given in channel.judgements
            for answer in [channel.answer_of(given)]
        }
        expected = {name for name, (answer, question) in pairs.items() if one in (answer, question)}
        assert {row["feedback_id"] for row in rows} == expected, (channel.name, word)


async def _check_transcript(pool: asyncpg.Pool, channel: Channel) -> None:
    async with pool.acquire() as connection:
        shown = await transcript(connection, ConversationScope(*HERE, channel.name), None)
    expected = [
        message
        for root in channel.messages
        if root.thread is None
        for message in (root, *(reply for reply in channel.messages if reply.thread == root.name))
    ]
    assert [(line.message_id, line.content) for line in shown.lines] == [
        (message.name, message.texts[max(message.texts)]) for message in expected
    ]
    ends = {message.turn or message.name: message.name for message in expected if not message.by_person}
    assert not shown.stray
    assert {reaction["feedback_id"]: line.message_id for line in shown.lines for reaction in line.reactions} == {
        feedback_id(judgement.name): ends[judgement.turn] for judgement in channel.judgements
    }
