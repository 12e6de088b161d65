"""Order of a message's versions."""

from __future__ import annotations

from itertools import permutations

from contracts.versions import COPY, FROM_MESSAGES, LogPosition, message_in, same_source, version_of
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


def test_of_versions_of_one_time_the_one_that_was_logged_last_holds() -> None:
    positions = [LogPosition(5, 3, 9), LogPosition(6, 0, 1), LogPosition(6, 1, 0), LogPosition(6, 1, 1)]
    for order in permutations(enumerate(positions)):
        by_version = sorted(order, key=lambda one: version_of(message("m1", content=str(one[0]), at=1), one[1]))
        assert [number for number, _ in by_version] == [0, 1, 2, 3]
    sequenced = version_of(message("m1", at=1, sequence=0), LogPosition(1))
    assert sequenced > version_of(message("m1", at=1), LogPosition(9))


def test_a_repeated_record_is_the_same_version() -> None:
    event = message("m1", content="a", at=1)
    assert version_of(event, LogPosition(5, 1, 2)) == version_of(event, LogPosition(5, 1, 2))


def test_versions_take_every_time_and_sequence() -> None:
    last = message("m1", sequence=2**63 - 1).model_copy(update={"occurred_at": 253_402_300_799_999_999})
    logged = LogPosition(253_402_300_799_999_999, 2**31 - 1, 2**63 - 1)
    assert len(version_of(last, logged)) == len(version_of(message("m1"))) == 37


def test_a_reply_event_carries_a_message() -> None:
    found = message_in(reply("m2", "No.", about="a1", sender="ann"))
    assert (found.message_id, found.content, found.sender_id, found.sender_type) == ("m2", "No.", "ann", "human")
    assert (found.reply_to_message_id, found.turn_id, found.agent_id) == ("a1", None, None)
    assert message_in(reply("m2", "No.", sender="bot", sender_type="agent")).agent_id == "bot"
    assert message_in(reply("m2", "No.").model_copy(update={"thread_id": "t1"})).thread_id == "t1"
