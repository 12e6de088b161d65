"""Most rejected conversations and typical words of an agent."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from reporting.dashboard.queries import agent
from reporting.dashboard.queries.agent import rejected_words, typical_words, worst_conversations
from reporting.queries.selection import ALWAYS, Filters, Project
from tests.support.reporting_events import START, Event, Take, feedback, message

AT = Project("acme", "support")


def rejected(conversation: str, at: float, *, by: str = "ann", **more: Any) -> Event:
    kind = "inferred" if by == "machine" else "explicit"
    return feedback(
        f"{conversation} {at} {by}", kind=kind, reaction="not_ok", conversation=conversation, turn=f"t{at}", user=by,
        at=at, **more,
    )  # fmt: skip


async def test_conversations_with_most_rejections_by_people_come_first(read_models: asyncpg.Pool, take: Take) -> None:
    await take(
        rejected("two people", 1), rejected("two people", 2),
        *(rejected("machine", at, by="machine") for at in (1, 2, 9)),
        rejected("one and machine", 1), rejected("one and machine", 2, by="machine"),
        rejected("older", 3), rejected("newer", 4),
        rejected("reviewed", 8, origin="reviewer", by="rita"),
        feedback("fine", kind="explicit", reaction="ok", conversation="fine", at=5),
    )  # fmt: skip
    found = await worst_conversations(read_models, AT, ALWAYS, Filters())
    assert [(one.conversation_id, one.turn_id, one.people, one.machine, one.last_at) for one in found] == [
        ("two people", "t2", 2, 0, START + 2_000_000),
        ("one and machine", "t2", 1, 1, START + 2_000_000),
        ("newer", "t4", 1, 0, START + 4_000_000),
        ("older", "t3", 1, 0, START + 3_000_000),
        ("machine", "t9", 0, 3, START + 9_000_000),
        ("reviewed", "t8", 0, 1, START + 8_000_000),
    ]
    assert len(await worst_conversations(read_models, AT, ALWAYS, Filters(), limit=2)) == 2


async def test_only_the_newest_rejections_are_counted_by_conversation(
    read_models: asyncpg.Pool, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "MOST_REJECTIONS", 3)
    await take(*(rejected("old", at) for at in (1, 2)), *(rejected("new", at) for at in (3, 4)))
    found = await worst_conversations(read_models, AT, ALWAYS, Filters())
    assert [(one.conversation_id, one.people) for one in found] == [("new", 2), ("old", 1)]


async def test_a_conversation_is_named_by_its_first_question(read_models: asyncpg.Pool, take: Take) -> None:
    await take(
        message("q0", content="", at=1, conversation="c"),
        message("a0", agent="bot", content="welcome", at=2, conversation="c"),
        message("q2", content="and the second one?", at=4, conversation="c"),
        message("q1", content="the first question?", at=3, conversation="c"),
        rejected("c", 5),
        rejected("unknown", 5),
    )
    found = await worst_conversations(read_models, AT, ALWAYS, Filters())
    assert {one.conversation_id: one.question for one in found} == {"c": "the first question?", "unknown": None}


async def test_the_question_of_a_verdict_is_the_persons_last_message_before_it(
    read_models: asyncpg.Pool, take: Take
) -> None:
    for number in range(12):
        place: dict[str, Any] = {"conversation": f"c{number}"}
        await take(
            message("q0", turn="t1", content="early words", at=1, **place),
            message("q1", turn="t1", content="asked", at=2, **place),
            message("other", turn="t2", content="elsewhere", at=3, **place),
            message("a", turn="t1", agent="bot", content="answered", at=4, **place),
            feedback(f"f{number}", kind="explicit", reaction="not_ok", at=5, user=f"u{number}", **place),
            message("same", turn="t1", content="simultaneous", at=5, **place),
        )
        await take(
            message("x", turn=None, content="good", at=1, conversation=f"d{number}"),
            feedback(f"g{number}", kind="explicit", at=5, user=f"u{number}", conversation=f"d{number}"),
        )
    await take(
        rejected("unknown question", 5, by="u1"),
        feedback("liked, unknown question", kind="explicit", conversation="liked, unknown", at=5),
    )
    [word] = await rejected_words(read_models, AT, ALWAYS, Filters())
    assert (word.word, word.rejected, word.others) == ("asked", 12, 0)
    assert 1 < word.low < word.ratio < word.high
    assert word.ratio == pytest.approx((12.5 / 12.5) / (0.5 / 12.5)), "twelve known questions on either side"


@pytest.mark.parametrize(
    ("bad", "others", "words"),
    [
        (["refund now"] * 3, ["hello"] * 9, ["refund"]),  # no function words
        (["refund now"] * 2, ["hello"] * 9, []),  # too few
        (["refund"] * 3, ["refund"] * 3, []),  # as frequent
        (["Refund a1 to straße", "refund", "REFUND"], ["hello"] * 20, ["refund"]),
        (["refund"] * 5 + ["hello"] * 5, ["refund"] * 2 + ["hello"] * 18, ["refund"]),
        (["refund"] * 4 + ["hello"] * 6, ["refund"] * 3 + ["hello"] * 17, []),  # not significant
        ([" ".join(["abc"] * 3 + ["abd"]) for _ in range(9)], ["hello"] * 9, ["abc", "abd"]),
    ],
)
def test_typical_words_are_significantly_more_frequent(bad: list[str], others: list[str], words: list[str]) -> None:
    assert [one.word for one in typical_words(bad, others)] == words


def test_the_most_typical_words_come_first_and_at_most_twelve() -> None:
    names = [chr(97 + n) * 3 for n in range(14)]
    texts = [" ".join(names[: 14 - number]) for number in range(12)] + ["hello"] * 10
    found = typical_words(texts, ["hello"] * 80)
    assert [one.word for one in found] == names[:12]
    assert (found[0].word, found[0].rejected, found[0].others) == ("aaa", 12, 0)
    assert found[0].low == pytest.approx(5.51, abs=0.01)
    assert found[0].ratio == pytest.approx(12.5 / 22.5 / (0.5 / 80.5))
    assert [one.word for one in typical_words(texts, ["hello"] * 80, most=2)] == names[:2]
