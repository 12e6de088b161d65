"""Of a message's verdicts, that of the higher release counts, then of the higher mode, then the higher evaluation."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import strategies as st

from feedback.handlers import FeedbackHandler
from feedback.reward import DEFAULT_REWARDS
from tests.support.feedback_events import RecordingProducer, batch, inferred
from tests.support.feedback_memory import MemoryStore

OLD, NEW, WORDS = "9.ffffffff", "10.00000000", "10.ffffffff-words"


def verdict(detector: str = OLD, said: str | None = "rejected", *, evaluation: int = 1) -> Any:
    event = f"{detector} {evaluation} {said}"
    fields: dict[str, Any] = {"detector_version": detector, "decided_by": "learned"}
    return inferred(said, evaluation=evaluation, event=event, **fields)


async def announced(*batches: list[Any]) -> dict[str, Any]:
    """Return the verdict's last announcement after these batches."""
    log, store = RecordingProducer(), MemoryStore()
    for events in batches:
        await FeedbackHandler(store, log, DEFAULT_REWARDS).handle(batch(*events))
    events = [json.loads(message.value or b"") for message in log.sent]
    return max((one for one in events if one["origin"] == "machine"), key=lambda one: one["revision"])


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        (verdict(OLD, evaluation=9), verdict(WORDS, None)),
        (verdict(WORDS, evaluation=9), verdict(NEW, None)),
        (verdict(NEW), verdict(NEW, None, evaluation=2)),
    ],
    ids=["release", "mode", "evaluation"],
)
async def test_the_higher_verdict_holds_in_either_order(lower: Any, higher: Any) -> None:
    for order in ((lower, higher), (higher, lower)):
        found = await announced(*([one] for one in order))
        assert (found["change"], found["detector"]) == ("cleared", higher.detector_version)


async def test_an_announcement_names_detector_and_what_decided() -> None:
    found = await announced([verdict(NEW)])
    assert (found["detector"], found["decidedBy"]) == (NEW, "learned")


async def test_a_later_detector_that_agrees_is_named() -> None:
    found = await announced([verdict(OLD)], [verdict(NEW)])
    assert (found["change"], found["detector"]) == ("updated", NEW)


verdicts = st.builds(
    verdict,
    st.sampled_from([WORDS, OLD, NEW]),
    st.sampled_from(["rejected", "accepted", None]),
    evaluation=st.integers(1, 3),
)
