"""Threads of messages, and the question that an answer in a thread replies to."""

from __future__ import annotations

import pytest

from contracts.provenance import question_named, thread_of


@pytest.mark.parametrize(
    ("message_id", "thread_id", "thread"), [("m1", None, None), ("m1", "m1", None), ("m2", "m1", "m1")]
)
def test_the_root_of_a_thread_is_in_the_channel(message_id: str, thread_id: str | None, thread: str | None) -> None:
    assert thread_of(message_id, thread_id) == thread


@pytest.mark.parametrize(
    ("reply_to", "thread", "question"),
    [(None, None, None), ("m2", None, "m2"), ("m2", "m1", "m2"), ("m1", "m1", None), (None, "m1", None)],
)
def test_a_reply_to_the_root_of_a_thread_names_no_question(
    reply_to: str | None, thread: str | None, question: str | None
) -> None:
    assert question_named(reply_to, thread) == question
