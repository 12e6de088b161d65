"""Order of a message's versions."""

from __future__ import annotations

from itertools import permutations

from contracts.versions import COPY, FROM_MESSAGES, message_in, same_source, version_of
from tests.support.reporting_events import message, reply


def test_the_later_version_holds_then_the_one_of_the_higher_sequence() -> None:
    versions = [
        message("m1", content="a", at=1),
        message("m1", content="b", at=1, sequence=0),
        message("m1", content="c", at=1, sequence=1),
        message("m1", content="d", at=2),
    ]
    for order in permutations(versions):
        assert [event.content for event in sorted(order, key=version_of)] == ["a", "b", "c", "d"]


def test_a_messages_own_event_holds_over_a_reply_event_and_any_event_over_a_copy() -> None:
    own, found = message("m1", at=1), reply("m1", "Hello.", at=9)
    assert COPY < version_of(found) < FROM_MESSAGES < version_of(own)
    assert same_source(version_of(own), version_of(message("m2", at=2)))
    assert not same_source(version_of(own), version_of(found))


def test_versions_are_equal_where_they_say_the_same_whatever_their_event_is_called() -> None:
    one = message("m1", content="a", at=1, attributes={"b": "2", "a": "1"})
    again = one.model_copy(update={"event_id": "another", "attributes": {"a": "1", "b": "2"}})
    assert version_of(one) == version_of(again)
    assert version_of(one) != version_of(one.model_copy(update={"content": "b"}))


def test_versions_take_every_time_and_sequence() -> None:
    last = message("m1", sequence=2**63 - 1).model_copy(update={"occurred_at": 253_402_300_799_999_999})
    assert len(version_of(last)) == len(version_of(message("m1"))) == 25


def test_a_reply_event_carries_a_message() -> None:
    found = message_in(reply("m2", "No.", about="a1", sender="ann"))
    assert (found.message_id, found.content, found.sender_id, found.sender_type) == ("m2", "No.", "ann", "human")
    assert (found.reply_to_message_id, found.turn_id, found.agent_id) == ("a1", None, None)
    assert message_in(reply("m2", "No.", sender="bot", sender_type="agent")).agent_id == "bot"
    assert message_in(reply("m2", "No.").model_copy(update={"thread_id": "t1"})).thread_id == "t1"
