"""A recount from the raw events equals pairs, searches, turns, turn logs and exports, whatever the order of arrival.

EXCHANGE_CHANNELS is the number of generated channels; 500 take two to three minutes.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import asyncpg
import pytest

from reporting.exports.cases import cases
from reporting.exports.files import count_examples, examples
from reporting.feedback.search import found
from reporting.model.selection import ALWAYS, ConversationScope, Filters, Project
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from reporting.turns.turns import turns_with_feedbacks
from tests.support.channels import Channel, channel_of, shuffled
from tests.support.reporting_database import empty_read_models
from tests.support.reporting_events import batch, feedback_id

CHANNELS = int(os.environ.get("EXCHANGE_CHANNELS", "25"))
HERE = Project("acme", "support")


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    async with empty_read_models(postgres_url) as pool:
        yield pool


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


async def _check_exports(pool: asyncpg.Pool, channels: list[Channel]) -> None:
    filters = Filters(origins=("user",), by_answer=True)
    exported = {
        one["feedback_id"]: (one["prompt"][-1]["content"], one["completion"][0]["content"], one["label"])
        async for one in examples(cases(pool, HERE, ALWAYS, filters), "kto")
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
    turns = sorted({one.turn or one.name for one in channel.messages if not one.by_person})
    async with pool.acquire() as connection:
        page = await turns_with_feedbacks(connection, ConversationScope(*HERE, channel.name), turns, 0)
    shown = {turn.turn_id: turn.user.text if turn.user else "" for turn in page.turns}
    for answer in channel.messages:
        if not answer.by_person and (question := channel.question_of(answer)) is not None:
            assert question.text in shown[answer.turn or answer.name], (channel.name, answer.name)


async def _check_turn_logs(pool: asyncpg.Pool, channel: Channel) -> None:
    rows = await pool.fetch(
        "select turn_id, payload -> 'turn_log' ->> 'user' as question from turn_log_artifacts"
        " where conversation_id = $1",
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
