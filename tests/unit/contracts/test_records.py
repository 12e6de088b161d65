"""Order of a message's versions."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.feedback import FeedbackSessionCreated
from contracts.headers import REVISION, Headers, header, revision_named
from contracts.ids import canonical, partition_of
from contracts.log_time import at_log_time
from contracts.murmur2 import murmur2
from contracts.versions import COPY, FROM_MESSAGES, LogPosition, message_in, same_source, version_of
from tests.support.feedback_events import START, erasure, explicit, reaction
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


# Headers that other producers wrote: bytes of any kind, repeated or missing.


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ([], None),
        ([("other", b"x")], None),
        ([("name", b"")], ""),
        ([("other", b"x"), ("name", b"a"), ("name", b"b")], "a"),
        ([("name", None), ("name", b"b")], "b"),
        ([("name", b"\xff"), ("name", b"b")], None),
        ([("name", "é".encode())], None),
    ],
)
def test_the_first_header_of_a_name_counts(headers: Headers, text: str | None) -> None:
    assert header(headers, "name") == text


@pytest.mark.parametrize(
    ("named", "revision"),
    [
        (b"7", 7),
        (b"0", 0),
        (b"9" * 18, 10**18 - 1),
        (b"9" * 19, None),
        (b"0" * 18 + b"1", None),
        (b"9" * 10_000, None),
        (b"", None),
        (b"-1", None),
        (b"1.0", None),
        (b" 1", None),
        ("²".encode(), None),
    ],
)
def test_a_revision_has_at_most_18_digits(named: bytes, revision: int | None) -> None:
    assert revision_named([(REVISION, named)]) == revision
    assert revision_named([]) is None


# Log time of judgements, erasures and ratings; other events keep their own time.

LOG, LATER = START + 1_000, START + 2_000


SEQUENCE = LOG // 1_000 * 2**20


def judged(offset: int = 7, reference_time: int | None = None, **said: Any) -> tuple[int, int | None]:
    event = at_log_time(explicit(**{"timed_by_log": True} | said), LOG, offset, reference_time)
    return event.occurred_at, event.sequence


@pytest.mark.parametrize("clock", [-3_600, 0, 3_600], ids=["an hour behind", "right", "an hour ahead"])
def test_a_judgement_without_a_time_counts_for_the_logs(clock: float) -> None:
    assert judged(at=clock) == (LOG, SEQUENCE + 7)


@pytest.mark.parametrize(("given", "counts"), [(START, START), (LOG, LOG), (LATER, LOG)])
def test_a_persons_own_time_counts_unless_it_is_after_the_logs(given: int, counts: int) -> None:
    assert judged(given_at=given) == (counts, SEQUENCE + 7)


@pytest.mark.parametrize("offset", [0, 999, 1_041, 999_999, 5_000_999])
def test_of_one_moment_the_later_record_holds(offset: int) -> None:
    assert judged(offset=offset) < judged(offset=offset + 1)


def test_a_later_millisecond_counts_more_than_any_offset() -> None:
    first, later = explicit(timed_by_log=True, given_at=START), explicit(timed_by_log=True, given_at=START)
    assert (at_log_time(first, LOG, 2**20 - 1).sequence or 0) < (at_log_time(later, LATER, 0).sequence or 0) < 2**63


def test_judging_as_if_on_another_day_replaces_a_later_log_time_alone() -> None:
    assert judged(reference_time=START)[0] == START
    assert judged(reference_time=LATER)[0] == LOG


def test_a_judgement_that_an_older_process_wrote_stays_as_it_is() -> None:
    event = explicit(at=9)
    assert at_log_time(event, LOG, 0) is event


def test_an_erasure_counts_for_the_logs_time() -> None:
    assert at_log_time(erasure(at=3_600), LOG, 0).occurred_at == LOG
    assert at_log_time(erasure(at=-3_600), LOG, 0).occurred_at == LOG


@pytest.mark.parametrize("occurred_at", [START, LOG, LATER])
@pytest.mark.parametrize("recorded_at", [START, LOG, LATER])
def test_neither_time_of_a_rating_is_later_than_the_log(occurred_at: int, recorded_at: int) -> None:
    rating = FeedbackSessionCreated(
        event_id="e", occurred_at=occurred_at, tenant="acme", id=UUID(int=7), session_id_opaque="0" * 64,
        user_id_or_null=None, recorded_at=recorded_at, label="positive", turn_count_at_end=1, source="api_end",
    )  # fmt: skip
    timed = at_log_time(rating, LOG, 0)
    assert (timed.occurred_at, timed.recorded_at) == (min(occurred_at, LOG), min(recorded_at, LOG))
    assert timed.label == "positive"


def test_what_producers_say_of_chats_stays_as_it_is() -> None:
    event = reaction(at=9)
    assert at_log_time(event, LOG, 0) is event


# Ids equal those computed with Python's `json` and `uuid`.

TEXTS = st.text(st.characters(codec="utf-8"))


@given(st.lists(st.one_of(TEXTS, st.integers())))
def test_the_canonical_form_is_the_json_array_without_blanks(parts: list[str | int]) -> None:
    assert canonical(*parts) == json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


# The partitioner agrees with Kafka's own clients.

VECTORS = {
    "21": -973932308,
    "foobar": -790332482,
    "a-little-bit-long-string": -985981536,
    "a-little-bit-longer-string": -1486304829,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    "abc": 479470107,
}
"""Keys and their hashes as in the unit tests of Apache Kafka (`UtilsTest.testMurmur2`): signed 32-bit integers."""


@pytest.mark.parametrize(("key", "signed"), VECTORS.items())
def test_a_key_goes_to_the_partition_that_kafkas_java_client_would_choose(key: str, signed: int) -> None:
    assert murmur2(key.encode()) == signed & 0xFFFFFFFF
    for partitions in (1, 3, 6, 50):
        assert partition_of(key, partitions) == (signed & 0x7FFFFFFF) % partitions
