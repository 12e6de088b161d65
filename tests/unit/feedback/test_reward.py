"""Translation of each received event to a change with its reward."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts.chat import DELETED
from contracts.provenance import Provenance
from feedback.model import Change, Key, Stamp
from feedback.reward import change_of
from servicekit.log.outcome import Outcome
from tests.support.feedback_events import SECOND, START, explicit, inferred, reaction, reply


def said(event: object, **rewards: float) -> Change:
    change = change_of(event, rewards) if rewards else change_of(event)
    assert isinstance(change, Change)
    return change


def test_a_reply_is_engagement_and_no_verdict() -> None:
    change = said(reply("Thanks, but why?", at=3))
    assert change.key == Key("acme", "support", "c1", "chat", "ann", "agent-a", "m2")
    assert (change.feedback_type, change.origin, change.slot) == ("implicit", "user", "")
    payload = change.entry.payload
    assert (payload.value, payload.reaction, payload.confidence) == (0.4, None, 1.0)
    assert (payload.text, payload.user_type, payload.causation_id) == ("Thanks, but why?", "human", "y1")
    assert change.entry.present
    assert change.entry.stamp.occurred_at == START + 3 * SECOND


def test_a_reply_that_was_deleted_is_taken_back() -> None:
    entry = said(reply(DELETED)).entry
    assert (entry.present, entry.stamp.removed, entry.payload.text) == (False, True, None)


@pytest.mark.parametrize(
    ("emoji", "value", "verdict", "slot"), [("👍🏽", 0.6, "ok", "👍"), ("-1", -0.6, "not_ok", "👎")]
)
def test_a_reaction_is_rewarded_by_its_emoji(emoji: str, value: float, verdict: str, slot: str) -> None:
    change = said(reaction(emoji))
    assert change.key == Key("acme", "support", "c1", "chat", "ann", "agent-a", "m1")
    assert (change.feedback_type, change.origin, change.slot) == ("reaction", "user", slot)
    payload = change.entry.payload
    assert (payload.value, payload.reaction, payload.emoji, payload.text) == (value, verdict, slot, None)


def test_a_removed_emoji_says_that_it_is_gone() -> None:
    change = said(reaction("👍", "removed"))
    assert not change.entry.present
    assert change.entry.stamp.removed


def test_an_emoji_worth_nothing_is_neutral() -> None:
    assert said(reaction("🎉"), **{"🎉": 0.0}).entry.payload.reaction == "neutral"


def test_an_emoji_outside_the_table_says_nothing() -> None:
    assert change_of(reaction("🤔")) == Outcome.ignored("unmapped_emoji")


@pytest.mark.parametrize("event", [reply(reply_sender_id="agent-a"), reaction(reaction_user_id="agent-a")])
def test_an_agent_on_its_own_message_says_nothing(event: Any) -> None:
    assert change_of(event) == Outcome.ignored("self_feedback")


def test_another_agent_is_a_user() -> None:
    change = said(reply(reply_sender_id="agent-b", reply_sender_type="agent"))
    assert (change.key.user_id, change.origin, change.entry.payload.user_type) == ("agent-b", "user", "agent")


@pytest.mark.parametrize(("verdict", "value"), [("ok", 1.0), ("neutral", 0.0), ("not_ok", -1.0)])
def test_an_explicit_verdict_is_rewarded_as_sent(verdict: str, value: float) -> None:
    change = said(explicit(verdict, text="why", tags=("slow",), correction="Paris"))
    assert change.key == Key("acme", "support", "c1", "api", "ann", "", "t1")
    assert (change.feedback_type, change.origin, change.slot) == ("explicit", "user", "")
    payload = change.entry.payload
    assert (payload.value, payload.reaction, payload.agent_id) == (value, verdict, "agent-a")
    assert (payload.text, payload.tags, payload.correction) == ("why", ("slow",), "Paris")


def test_explicit_null_takes_the_verdict_back() -> None:
    change = said(explicit(None))
    assert not change.entry.present
    assert change.entry.payload.value is None


@pytest.mark.parametrize(("verdict", "value", "shown"), [("accepted", 0.5, "ok"), ("rejected", -1.0, "not_ok")])
def test_an_inferred_verdict_is_rewarded(verdict: str, value: float, shown: str) -> None:
    change = said(inferred(verdict, evaluation=4, correction_type="rephrased", rules=("again",), confidence=0.7))
    assert change.key == Key("acme", "support", "c1", "inference", "ann", "", "m3:implicit")
    assert (change.feedback_type, change.origin, change.slot) == ("inferred", "machine", "")
    payload = change.entry.payload
    assert (payload.value, payload.reaction, payload.confidence) == (value, shown, 0.7)
    assert (payload.text, payload.tags, payload.correction_type) == ("No, that is wrong.", ("again",), "rephrased")
    assert change.entry.stamp.evaluation == 4


@pytest.mark.parametrize("event", [inferred(None), inferred("rejected", confidence=0.69)])
def test_an_inferred_null_or_doubt_retracts(event: Any) -> None:
    change = said(event)
    assert not change.entry.present
    assert (change.entry.payload.value, change.entry.payload.reaction) == (None, None)


def test_a_stamp_orders_by_time_then_sequence_then_removal() -> None:
    def stamp(event: object) -> Stamp:
        return said(event).entry.stamp

    rising = [
        reaction(at=0, sequence=9, event="z"),
        reaction(at=1, event="z"),
        reaction(at=1, sequence=0, event="z"),
        reaction(at=1, sequence=1, event="z"),
        reaction(action="removed", at=1, sequence=1, event="a"),
        reaction(action="removed", at=1, sequence=1, event="b"),
    ]
    stamps = [stamp(event) for event in rising]
    assert stamps == sorted(stamps)
    assert len(set(stamps)) == len(stamps)
    assert stamp(inferred(at=0, evaluation=2)) > stamp(inferred(at=9, evaluation=1))


def test_two_events_of_one_id_that_differ_never_compare_equal() -> None:
    one, other = said(explicit(text="one")).entry.stamp, said(explicit(text="two")).entry.stamp
    assert replace_digest(one) == replace_digest(other)
    assert one != other


def replace_digest(stamp: Stamp) -> Stamp:
    return stamp._replace(digest="")


def test_the_platforms_provenance_goes_along() -> None:
    event = explicit().model_copy(update={"track_id": "track", "agent_version": "7", "model": "m", "trace_id": "x"})
    payload = said(event).entry.payload
    assert payload.provenance == Provenance("track", None, "7", "m", "x")
    assert replace(payload, provenance=Provenance()) == replace(said(explicit()).entry.payload)


@pytest.mark.parametrize(
    "event",
    [
        explicit(None, text="Never mind.", tags=("wrong",), correction="Paris"),
        inferred(None, user_said="By the way, my name is Ann.", rules=("r",), correction_type="explicit"),
        inferred("rejected", confidence=0.69, user_said="No?", rules=("r",), correction_type="explicit"),
    ],
    ids=["explicit", "inferred null", "inferred doubt"],
)
def test_a_retraction_drops_text_tags_and_correction(event: Any) -> None:
    payload = said(event).entry.payload
    assert (payload.text, payload.tags, payload.correction, payload.correction_type) == (None, (), None, None)
