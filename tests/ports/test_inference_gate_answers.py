"""Contract of the stores of the LLM gate's answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

import inference.service
from inference.llm_gate.answer import LlmAnswer
from inference.llm_gate.store import GateAnswers, NewAnswer
from inference.llm_gate.store_postgres import PostgresGateAnswers
from servicekit.db.pools import open_pool
from tests.support.gate_memory import MemoryGateAnswers

SCHEMA = Path(inference.service.__file__).parent / "sql" / "schema.sql"
NO = LlmAnswer(is_feedback=True, reaction="not_ok", confidence=0.123457, about=2, reason="rephrased")
YES = LlmAnswer(is_feedback=True, reaction="ok", confidence=1.0, about=None, reason="thanks")


@pytest_asyncio.fixture(params=["memory", "postgres"])
async def answers(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[GateAnswers]:
    if request.param == "memory":
        yield MemoryGateAnswers()
        return
    pool = await open_pool(postgres_url, "inference", SCHEMA, size=4)
    await pool.execute("truncate gate_answers")
    yield PostgresGateAnswers(pool)
    await pool.close()


def new(answer: LlmAnswer | None) -> NewAnswer:
    return NewAnswer("acme", "support", answer)


async def test_what_was_settled_comes_back_and_nothing_else_does(answers: GateAnswers) -> None:
    assert await answers.known([b"a", b"b"]) == {}
    assert await answers.keep({b"a": new(NO), b"\x00\xff": new(YES), b"none": new(None)}) == {
        b"a": NO,
        b"\x00\xff": YES,
        b"none": None,
    }
    assert await answers.known([b"none", b"a", b"b", b"a"]) == {b"a": NO, b"none": None}
    assert await answers.known([]) == {}
    assert await answers.keep({}) == {}


@pytest.mark.parametrize("first", [NO, None])
@pytest.mark.parametrize("second", [YES, None])
async def test_the_first_answer_stands(answers: GateAnswers, first: LlmAnswer | None, second: LlmAnswer | None) -> None:
    await answers.keep({b"a": new(first)})
    assert await answers.keep({b"a": new(second), b"b": new(second)}) == {b"a": first, b"b": second}
    assert await answers.known([b"a"]) == {b"a": first}


async def test_of_many_at_once_all_get_the_same(answers: GateAnswers) -> None:
    digests = [number.to_bytes(2, "big") for number in range(5_000)]
    words = [NO, YES, None] * 4
    await asyncio.gather(*(answers.known(digests) for _ in words))  # every connection is open and can start at once
    heard = await asyncio.gather(
        *(
            answers.keep(dict.fromkeys(digests if turn % 2 else reversed(digests), new(word)))
            for turn, word in enumerate(words)
        )
    )
    assert all(one == heard[0] for one in heard)
    assert set(heard[0]) == set(digests)
