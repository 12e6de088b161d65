"""Transcripts: messages in order, each turn's feedback at its last answer, and at most so many messages."""

from __future__ import annotations

import asyncpg
import pytest

from reporting.model.selection import ConversationScope
from reporting.pages.queries import transcript as queries
from reporting.pages.queries.transcript import Transcript, transcript
from tests.support.reporting_events import Take, feedback, feedback_id, message

HERE = ConversationScope("acme", "support", "c1")


async def read(pool: asyncpg.Pool, turn: str | None = None) -> Transcript:
    async with pool.acquire() as connection:
        return await transcript(connection, HERE, turn)


def names(found: Transcript) -> list[str]:
    return [one.message_id for one in found.lines]


async def test_a_turns_feedback_stands_at_its_last_answer(read_models: asyncpg.Pool, take: Take) -> None:
    await take(
        message("q1", turn="t1", at=1),
        message("a1", turn="t1", agent="bot", at=2),
        message("b1", turn="t1", agent="bot", at=3),
        message("p1", turn="t1", at=4),
        message("q2", turn="t2", at=5),
        message("x", turn=None, agent="bot", at=6),  # a turn of its own
        message("q3", turn="t3", at=7),
        message("a3", turn="t3", agent="bot", at=8),
        message("theirs", turn="t1", conversation="c2", agent="bot", at=9),
    )
    await take(
        feedback("later", turn="t1", kind="explicit", user="bob", at=12),
        feedback("sooner", turn="t1", at=11),
        feedback("reply", turn="t1", kind="implicit", text="And in May?", user="eve", at=13),
        feedback("unanswered", turn="t2", at=14),
        feedback("nowhere", turn="t9", at=15),
        feedback("elsewhere", turn="t1", conversation="c2", user="zoe", at=16),
        feedback("taken back", turn="t3", reaction=None, at=17),
    )
    found = await read(read_models)
    assert names(found) == ["q1", "a1", "b1", "p1", "q2", "x", "q3", "a3"]
    assert [one.message_id for one in found.lines if one.ends_turn] == ["b1", "x", "a3"]
    shown = {one.message_id: [row["feedback_id"] for row in one.reactions] for one in found.lines if one.reactions}
    assert shown == {"b1": [feedback_id(name) for name in ("sooner", "later", "reply")]}
    assert [one["feedback_id"] for one in found.stray] == [feedback_id("unanswered"), feedback_id("nowhere")]
    assert not found.cut


async def test_a_long_conversation_is_cut_around_the_turn_or_at_its_beginning(
    read_models: asyncpg.Pool, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    await take(*(message(f"a{at}", turn=f"t{at}", agent="bot", at=at) for at in range(1, 10)))
    await take(feedback("f1", turn="t1"), feedback("f8", turn="t8"), feedback("none", turn="t99"))
    for most, turn, shown, is_cut in (
        (4, None, [6, 7, 8, 9], True),
        (4, "t5", [3, 4, 5, 6], True),
        (4, "t1", [1, 2], True),
        (4, "t9", [7, 8, 9], True),
        (4, "t99", [6, 7, 8, 9], True),
        (8, "t5", [1, 2, 3, 4, 5, 6, 7, 8], True),
        (8, "t6", [2, 3, 4, 5, 6, 7, 8, 9], True),
        (10, "t5", [1, 2, 3, 4, 5, 6, 7, 8, 9], False),
        (9, None, [1, 2, 3, 4, 5, 6, 7, 8, 9], False),
        (8, None, [2, 3, 4, 5, 6, 7, 8, 9], True),
    ):
        monkeypatch.setattr(queries, "MOST_MESSAGES", most)
        found = await read(read_models, turn)
        assert (names(found), found.cut) == ([f"a{at}" for at in shown], is_cut), (most, turn)
        assert [one["feedback_id"] for one in found.stray] == ([] if is_cut else [feedback_id("none")]), (most, turn)
