"""Sentences of the conversation page about the feedback in its transcript."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from detector.published import CheckedVerdicts
from reporting.model.selection import ConversationScope, Project
from reporting.pages.queries.transcript import Transcript, TranscriptMessage, by_thread
from reporting.pages.reading import ConversationPage, path_of, trace_url

PLACE = ConversationScope("acme", "sup/port", "c/1 ä")
SHOWN, STRAY, OTHER = UUID(int=1), UUID(int=2), UUID(int=3)


def line(name: str, thread: str = "", **fields: Any) -> TranscriptMessage:
    values: dict[str, Any] = {
        "turn_id": "t1",
        "sender_type": "agent",
        "sender_id": "bot",
        "agent_id": "bot",
        "agent_version": None,
    }
    return TranscriptMessage(
        message_id=name, thread=thread, trace_id=None, content="Hello.", occurred_at=0, **values, **fields
    )


def page(**changes: Any) -> ConversationPage:
    shown = Transcript([line("a1", reactions=[{"feedback_id": SHOWN}])], [{"feedback_id": STRAY}], cut=False)
    values: dict[str, Any] = {
        "conversation": PLACE, "shown": shown, "newer": None, "older": None, "reviewer": "rita",
        "trace_url_template": "https://traces.example/{trace_id}", "reviewed_kinds": {}, "came_from": None,
    }  # fmt: skip
    return ConversationPage(**values | changes)


@pytest.mark.parametrize(
    ("one", "known"),
    [
        ({"origin": "machine", "reaction": "not_ok", "decided_by": "rules"}, True),
        ({"origin": "machine", "reaction": None, "decided_by": None}, False),
        ({"origin": "user", "reaction": "not_ok", "decided_by": None}, False),
        ({"origin": "reviewer", "reaction": "not_ok", "decided_by": None}, False),
    ],
)
def test_only_a_machine_verdict_has_a_precision(one: dict[str, Any], known: bool) -> None:
    assert (page().accuracy_of(one) is not None) is known


def test_the_precision_is_that_of_the_projects_own_reviews() -> None:
    counts = {("ok", "rules"): CheckedVerdicts(40, 60), ("ok", "learned"): CheckedVerdicts(70, 70)}
    found = page(reviewed_kinds=counts).accuracy_of({"origin": "machine", "reaction": "ok", "decided_by": "rules"})
    assert found is not None
    assert (found.source, found.decided_by, found.right, found.checked) == ("reviews", "rules", 40, 60)


@pytest.mark.parametrize(
    ("reactions", "expected"),
    [
        ([("reviewer", "rita")], True),
        ([("user", "ann"), ("reviewer", "rita")], True),
        ([("reviewer", "rob")], False),
        ([("user", "rita")], False),
        ([("machine", "rita"), ("reviewer", "rob")], False),
        ([], False),
    ],
)
def test_a_review_can_be_retracted_by_its_reviewer(reactions: list[tuple[str, str]], expected: bool) -> None:
    assert page().has_reviewed([{"origin": origin, "user_id": user} for origin, user in reactions]) is expected


@pytest.mark.parametrize(("reviewed", "waits"), [(None, False), (SHOWN, False), (STRAY, False), (OTHER, True)])
def test_a_review_that_is_not_shown_yet_is_announced(reviewed: UUID | None, waits: bool) -> None:
    assert page().review_waits(reviewed) is waits


def test_the_paths_of_a_conversation_quote_its_ids() -> None:
    path = "/conversations/acme/sup%2Fport/c%2F1%20%C3%A4/turns/t%2F1/reviews"
    assert page().review_path("t/1") == path
    assert path_of("/x/{tenant}/{project}", Project("a/b", "c d")) == "/x/a%2Fb/c%20d"


@pytest.mark.parametrize(
    ("template", "trace", "url"),
    [
        ("https://traces.example/{trace_id}/view", "tr/1", "https://traces.example/tr%2F1/view"),
        ("https://traces.example/{trace_id}", None, None),
        ("https://traces.example/{trace_id}", "", None),
        (None, "tr/1", None),
    ],
)
def test_a_trace_has_a_url_if_both_are_known(template: str | None, trace: str | None, url: str | None) -> None:
    assert trace_url(template, trace) == url
    assert page(trace_url_template=template).trace(trace) == url


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([("r1", ""), ("r2", ""), ("a", "r1"), ("b", "r2"), ("c", "r1")], ["r1", "a", "c", "r2", "b"]),
        ([("a", "gone"), ("r1", ""), ("b", "gone"), ("c", "r1")], ["a", "b", "r1", "c"]),
        ([("r1", ""), ("a", "gone"), ("b", "gone2"), ("c", "gone")], ["r1", "a", "c", "b"]),
        ([("a", "r1"), ("r1", ""), ("b", "r1")], ["r1", "a", "b"]),
        ([("a", "b"), ("b", "c"), ("r", "")], ["a", "b", "r"]),
        ([("a", ""), ("b", "")], ["a", "b"]),
        ([], []),
    ],
)
def test_a_thread_follows_its_root_and_nothing_is_lost(given: list[tuple[str, str]], expected: list[str]) -> None:
    assert [one.message_id for one in by_thread([line(name, thread) for name, thread in given])] == expected
