"""Rows and outcomes, without a database."""

from __future__ import annotations

from reporting.model.projection import (
    feedback_outcomes,
    feedback_row,
    merged_messages,
    message_outcomes,
    message_row,
    newest_feedbacks,
)
from servicekit.log.outcome import Outcome
from tests.support.reporting_events import feedback, message


def test_a_reply_is_alone_in_its_slot() -> None:
    reply, emoji = feedback_row(feedback("f1", kind="implicit")), feedback_row(feedback("f2"))
    assert (reply.is_verdict, emoji.is_verdict) == (False, True)
    assert reply.slot == reply.feedback_id


def test_a_persons_feedback_on_a_turn_shares_a_slot_and_a_machines_does_not() -> None:
    emoji, explicit = feedback_row(feedback("f1")), feedback_row(feedback("f2", kind="explicit"))
    machine, other_turn = feedback_row(feedback("m1", kind="inferred")), feedback_row(feedback("f3", turn="t2"))
    assert emoji.slot == explicit.slot
    assert len({emoji.slot, machine.slot, other_turn.slot}) == 3
    assert machine.slot == machine.feedback_id


def test_slots_of_ids_that_run_together_are_apart() -> None:
    one = feedback_row(feedback("f1", conversation="a/b", turn="c"))
    other = feedback_row(feedback("f2", conversation="a", turn="b/c"))
    assert one.slot != other.slot


def test_an_agents_message_without_a_turn_is_a_turn_and_a_persons_is_not() -> None:
    assert message_row(message("a1", turn=None, agent="agent-a")).turn_id == "a1"
    assert message_row(message("q1", turn=None)).turn_id is None
    assert message_row(message("a1", turn="t1", agent="agent-a")).turn_id == "t1"


def test_a_batch_comes_down_to_one_row_a_key_in_order() -> None:
    low, high, other = (feedback_row(feedback(n, revision=r)) for n, r in (("f1", 1), ("f1", 2), ("f0", 1)))
    assert newest_feedbacks([high, low, other]) == sorted([high, other], key=lambda row: row.feedback_id)
    first, late = (message_row(message("m1", content=c, at=at)) for c, at in (("a", 1), ("b", 2)))
    [edited] = merged_messages([late, first])
    assert (edited.content, edited.occurred_at) == ("b", first.occurred_at)
    assert merged_messages([first, late]) == [edited]
    ordered = message_row(message("m1", content="d", at=1, sequence=0))
    assert merged_messages([first, ordered]) == merged_messages([ordered, first])
    assert merged_messages([first, ordered])[0].content == "d"


def test_one_message_id_in_two_conversations_names_two_messages() -> None:
    rows = [message_row(message("1", conversation=conversation)) for conversation in ("c1", "c2")]
    assert merged_messages(rows) == rows


def test_outcomes_follow_arrival() -> None:
    rows = [
        feedback_row(feedback("f1", revision=revision, reaction=reaction))
        for revision, reaction in ((3, "ok"), (2, "not_ok"), (3, "ok"), (4, "ok"), (5, None))
    ]
    held = {rows[1].feedback_id: rows[1]}
    assert feedback_outcomes(rows, held) == [
        Outcome.STORED,
        Outcome.ignored("superseded"),
        Outcome.UNCHANGED,
        Outcome.UNCHANGED,
        Outcome.STORED,
    ]


def test_a_message_that_the_store_already_had_is_unchanged() -> None:
    row = message_row(message("m1"))
    assert message_outcomes([row, row], {row.key}) == [Outcome.STORED, Outcome.UNCHANGED]
    assert message_outcomes([row, row], set()) == [Outcome.UNCHANGED, Outcome.UNCHANGED]
