"""Hand-written expectations for the recount, so that it cannot share errors with the code that it checks."""

import json
import random
from typing import Any

import pytest

from proofs.chaos.ledger import EXPLICIT, MESSAGE, REACTION, REPLY, Entry, digest
from proofs.oracle import Expected, Key, Shown, effective, recount

T0 = 1_793_793_600_000_000
"""Microseconds of 2026-11-04T12:00:00Z, as a literal."""


def entry(topic: str, offset: int, is_poison: bool = False, **event: Any) -> Entry:
    scope = {"tenant": "t", "project": "p", "conversationId": "c", "eventId": f"e{offset}"}
    value = json.dumps({"occurredAt": "2026-11-04T12:00:00Z", **scope, **event})
    return Entry(topic, 0, offset, digest(value.encode()), None if is_poison else value)


ANSWER = entry(
    MESSAGE, 0, messageId="m", senderId="bot", senderType="agent", agentId="bot", turnId="turn", content="42"
)
ON_ANSWER = Key("t", "p", "c", "chat", "ann", "bot", "m")


def reaction(offset: int, emoji: str, second: int, action: str = "added", **event: Any) -> Entry:
    occurred_at = f"2026-11-04T12:00:{second:02d}Z"
    return entry(REACTION, offset, occurredAt=occurred_at, messageId="m", userId="ann", userType="human", emoji=emoji,
                 action=action, **event)  # fmt: skip


def shown(*entries: Entry) -> dict[Key, Shown]:
    return recount([ANSWER, *entries]).records


def test_the_latest_emoji_still_present_is_shown() -> None:
    entries = [reaction(1, "👍", 1), reaction(2, "👎", 2), reaction(3, "👎", 3, "removed")]
    assert shown(*entries) == {ON_ANSWER: Shown("reaction", True, "ok", 0.6, T0 + 1_000_000, "turn")}


def test_taking_the_last_one_away_clears() -> None:
    entries = [reaction(1, "👍🏽", 1), reaction(2, ":thumbsup:", 5, "removed")]
    assert shown(*entries) == {ON_ANSWER: Shown("reaction", False, None, None, T0 + 5_000_000, "turn")}


def test_at_the_same_moment_a_removal_wins_over_an_addition() -> None:
    assert not shown(reaction(1, "👍", 1), reaction(2, "👍", 1, "removed"))[ON_ANSWER].live


def test_at_the_same_moment_the_higher_sequence_wins() -> None:
    assert shown(reaction(1, "👍", 1, sequence=2), reaction(2, "👍", 1, "removed", sequence=1))[ON_ANSWER].live


def test_order_of_arrival_does_not_matter() -> None:
    rng = random.Random(1)
    reactions = [reaction(n, rng.choice("👍👎😢"), n, rng.choice(("added", "removed"))) for n in range(1, 30)]
    entries = [ANSWER, *reactions]
    expected = recount(entries).records
    for seed in range(20):
        random.Random(seed).shuffle(entries)
        assert recount(entries).records == expected


def test_a_reply_is_engagement_without_a_verdict() -> None:
    reply = entry(REPLY, 1, messageId="r", originalMessageId="m", senderId="ann", senderType="human", content="so?")
    key = Key("t", "p", "c", "chat", "ann", "bot", "r")
    assert shown(reply) == {key: Shown("implicit", True, None, 0.4, T0, "turn")}


@pytest.mark.parametrize(
    "own",
    [
        entry(REACTION, 1, messageId="m", userId="bot", userType="agent", emoji="👍"),
        entry(REPLY, 1, messageId="r", originalMessageId="m", senderId="bot", senderType="agent", content="so?"),
        reaction(1, "🧦", 1),
    ],
    ids=["own reaction", "own reply", "unmapped emoji"],
)
def test_some_events_hold_no_feedback(own: Entry) -> None:
    assert shown(own) == {}


def test_an_event_about_an_unknown_message_is_parked_until_a_copy_or_the_message_comes() -> None:
    assert recount([reaction(1, "👍", 1)]).parked == {("t", "p", "e1")}
    copy = json.loads(ANSWER.value or "")
    assert not recount([reaction(1, "👍", 1, original=copy)]).parked


def test_an_event_that_names_another_conversation_waits_for_a_message_there() -> None:
    astray = entry(REACTION, 1, conversationId="d", messageId="m", userId="ann", userType="human", emoji="👍")
    expected = recount([ANSWER, astray])
    assert (expected.records, expected.parked) == ({}, {("t", "p", "e1")})


def test_a_reply_event_carries_a_message() -> None:
    reply = entry(REPLY, 1, messageId="r", originalMessageId="m", senderId="bot2", senderType="agent", content="so?")
    on_it = entry(REACTION, 2, messageId="r", userId="ann", userType="human", emoji="👍")
    expected = recount([ANSWER, reply, on_it])
    assert ("t", "p", "c", "r") in expected.messages
    assert Key("t", "p", "c", "chat", "ann", "bot2", "r") in expected.records


def test_poison_is_expected_in_the_dead_letters_at_its_place() -> None:
    expected: Expected = recount([entry(REACTION, 7, is_poison=True)])
    assert expected.letters == {(REACTION, 0, 7)} and expected.records == {}


def test_an_explicit_null_that_is_newest_leaves_no_effective_reaction() -> None:
    null = entry(
        EXPLICIT, 2, occurredAt="2026-11-04T12:00:09Z", turnId="turn", agentId="bot", userId="ann", reaction=None
    )
    ok = entry(
        EXPLICIT, 3, occurredAt="2026-11-04T12:00:01Z", turnId="turn", agentId="bot", userId="ann", reaction="ok"
    )
    assert effective(shown(reaction(1, "👍", 5), null)) == {}
    reactions = effective(shown(reaction(1, "👎", 5), ok))
    assert [value for value, _ in reactions.values()] == ["not_ok"]
