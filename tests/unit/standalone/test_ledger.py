"""What the ledger says when it is read as a consumer reads it."""

from __future__ import annotations

from uuid import UUID

from aiokafka import ConsumerRecord, TopicPartition

from contracts.feedback import FeedbackExplicitReceived
from contracts.topics import FEEDBACK_CREATED
from feedback.announce import message_of
from feedback.merge import merge, revise
from feedback.model import Change, Record
from feedback.reward import change_of
from servicekit.records import REVISION, Headers
from standalone.ledger import Ledger


def stored(revision: int) -> Record:
    event = FeedbackExplicitReceived(
        event_id="e1",
        occurred_at=1,
        tenant="acme",
        project="p",
        conversation_id="c",
        turn_id="t",
        agent_id="bot",
        user_id="ann",
        reaction="ok",
    )
    change = change_of(event)
    assert isinstance(change, Change)
    return revise(merge(None, change), revision * 1_000)


def record(value: bytes | None, offset: int, key: bytes, headers: Headers = ()) -> ConsumerRecord:
    return ConsumerRecord(FEEDBACK_CREATED.name, 3, offset, 0, 1, key, value, None, 0, 0, tuple(headers))


def read(*revisions: int | None) -> tuple[Ledger, UUID]:
    """The ledger after announcements of those revisions of one feedback; None is a tombstone."""
    ledger, id_ = Ledger(), stored(1).feedback_id
    for offset, revision in enumerate(revisions):
        value = None if revision is None else message_of(stored(revision)).value
        ledger.take(record(value, offset, str(id_).encode()))
    return ledger, id_


def test_the_highest_revision_holds_and_an_older_one_behind_it_is_stale() -> None:
    ledger, id_ = read(5, 9, 7)
    assert ledger.highest[id_].revision == 9
    assert ledger.stale == {id_}


def test_a_repeat_of_the_highest_behind_it_mends_it() -> None:
    ledger, _ = read(5, 9, 7, 9)
    assert not ledger.stale
    assert ledger.ends == {TopicPartition(FEEDBACK_CREATED.name, 3): 4}


def test_a_tombstone_takes_it_out_until_it_is_announced_again() -> None:
    ledger, id_ = read(5, None)
    assert not ledger.highest
    ledger, id_ = read(5, None, 6)
    assert ledger.highest[id_].revision == 6


def test_what_comes_behind_the_tombstone_of_a_later_revision_is_stale() -> None:
    ledger, id_ = read(5)
    key = str(id_).encode()
    ledger.take(record(None, 1, key, [(REVISION, b"8")]))
    ledger.take(record(message_of(stored(5)).value, 2, key))
    assert not ledger.highest
    assert ledger.stale == {id_}
    ledger.take(record(message_of(stored(9)).value, 3, key))
    assert ledger.highest[id_].revision == 9


def test_what_is_no_announcement_is_counted() -> None:
    ledger, id_ = read(5)
    ledger.take(record(b"{}", 1, str(id_).encode()))
    ledger.take(record(b"{}", 2, b"no id"))
    assert (ledger.unreadable, ledger.records, len(ledger.highest)) == (2, 3, 1)
