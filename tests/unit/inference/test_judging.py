"""Judging leaves time for heartbeats, however slow the machine is."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from contracts.message_fields import TurnKey
from detector.encoders import EncoderChoice
from detector.model import Message
from inference.detector_setup import open_detector
from inference.judging import PIECE, Judging
from inference.last_answer import SOME_AGENT, LastAnswer
from inference.model import ConversationKey
from inference.settings import InferenceSettings
from inference.turns.rules import Turn
from servicekit.errors import StartError

MESSAGES = 1_500


class SlowDetector:
    """Detector that returns its input, after `seconds` per item on its own clock."""

    version = "slow"

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.now = 1_000.0
        self.pieces: list[int] = []

    def judge(self, items: Sequence[Any]) -> list[Any]:
        self.pieces.append(len(items))
        self.now += len(items) * self._seconds
        return list(items)


async def test_judging_lets_others_run_between_pieces() -> None:
    detector = SlowDetector(0.012)
    others: Any = None
    judged = Judging(others, others, detector)  # type: ignore[arg-type]
    ran_at = [detector.now]

    async def heartbeat() -> None:
        while True:
            ran_at.append(detector.now)
            await asyncio.sleep(0)

    beating = asyncio.create_task(heartbeat())
    items: Any = list(range(MESSAGES))
    assert await judged._judge(items) == items
    beating.cancel()
    assert max(later - earlier for earlier, later in pairwise(ran_at)) <= PIECE * 0.012 + 1e-9


# The last answer given by the caller of `detect`, combined with the indexed messages.

WHERE = ConversationKey("acme", "support", "c1")


NOW = Message("m9", "t9", "ann", "human", None, "No, that's wrong.", 1_000_000, thread_id="th")


ALONE = LastAnswer(message_id="m8", content="At nine.")
ANSWER = ALONE.model_copy(
    update={"turn_id": "t8", "agent_id": "bot", "strategy": "lookup", "question": "When does it open?"}
)


def said(message_id: str, turn: str, role: str, at: int) -> Message:
    agent = "bot" if role == "agent" else None
    return Message(message_id, turn, agent or "ann", role, agent, "text", at)  # type: ignore[arg-type]


EARLIER = (said("m1", "t1", "human", 10), said("m2", "t1", "agent", 20))


@pytest.mark.parametrize("before", [(), EARLIER], ids=["first", "later"])
def test_the_exchange_comes_right_before_the_message(before: tuple[Message, ...]) -> None:
    joined = ANSWER.added_to(before, NOW)
    assert joined[: len(before)] == before
    question, answer = joined[len(before) :]
    assert (question.role, question.sender_id, question.text) == ("human", "ann", "When does it open?")
    assert (answer.message_id, answer.role, answer.agent_id, answer.text) == ("m8", "agent", "bot", "At nine.")
    assert question.turn_id == answer.turn_id == "t8"
    assert question.thread_id == answer.thread_id == "th"
    times = [one.at for one in (*joined, NOW)]
    assert times == sorted(set(times)), "in this order, none at the same time"


@pytest.mark.parametrize(
    ("before", "added"),
    [
        ([said("m8", "t8", "agent", 20)], 0),
        ([said("m7", "t8", "human", 20)], 1),
        ([said("m7", "t7", "human", 20)], 2),
        ([said("m7", "t8", "agent", 20)], 2),
    ],
    ids=["answer known", "question known", "another turn's question", "another answer of the turn"],
)
def test_only_what_is_missing_is_added(before: list[Message], added: int) -> None:
    joined = ANSWER.added_to(before, NOW)
    assert len(joined) == len(before) + added
    assert [one.message_id for one in joined].count("m8") == 1


def test_without_a_question_or_an_agent_the_answer_stands_alone() -> None:
    [answer] = ALONE.added_to((), NOW)
    assert (answer.turn_id, answer.agent_id, answer.role) == ("m8", SOME_AGENT, "agent")


def turn(turn_id: str, agent_message_id: str, at: int = 20) -> Turn:
    return replace(
        ANSWER.first_of([], WHERE, NOW)[0], key=TurnKey(*WHERE, turn_id), agent_message_id=agent_message_id, at=at
    )


def test_the_answers_turn_is_the_newest() -> None:
    old = [turn("t7", "m7"), turn("t6", "m6", 10)]
    first, *rest = ANSWER.first_of(old, WHERE, NOW)
    assert rest == old
    assert (first.key, first.agent_message_id, first.agent_id) == (TurnKey(*WHERE, "t8"), "m8", "bot")
    assert (first.user_id, first.user_text, first.assistant_text) == ("ann", "When does it open?", "At nine.")
    assert first.strategy == "lookup"
    assert first.at == NOW.at - 1
    assert ALONE.first_of([], WHERE, NOW)[0].agent_id == SOME_AGENT


@pytest.mark.parametrize("known", [turn("t8", "m7"), turn("t7", "m8")], ids=["its turn", "its message"])
def test_a_turn_that_is_known_comes_once(known: Turn) -> None:
    assert ANSWER.first_of([known], WHERE, NOW) == [known]


# Differences between two verdicts on a message.

# The detector that the settings name, and what an operator is told about a missing encoder.


@pytest.mark.parametrize(("encoder", "told"), [("auto", 1), ("none", 0)])
async def test_an_operator_hears_of_an_encoder_that_is_not_there_unless_none_is_wanted(
    encoder: EncoderChoice, told: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    heard: list[str] = []
    detector = await open_detector(InferenceSettings(sentence_encoder=encoder), heard.append)
    assert len(heard) == told
    assert all("To add it: `agent-feedback encoder`." in line for line in heard)
    assert detector.judge([]) == []


async def test_an_encoder_that_cannot_be_fetched_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jgo.constants", None)
    with pytest.raises(StartError, match="the package jgo"):
        await open_detector(InferenceSettings(sentence_encoder="minilm"), print)
