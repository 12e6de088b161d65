"""Of a message's verdicts, that of the higher release counts, then of the higher mode, then the higher evaluation."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.detectors import precedence
from feedback.emojis import DEFAULT_REWARDS
from feedback.handlers import FeedbackHandler
from feedback.store import RecordChanges, Saved
from tests.support.feedback_events import RecordingProducer, batch, explicit, inferred
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


async def test_an_announcement_of_people_names_none() -> None:
    log = RecordingProducer()
    await FeedbackHandler(MemoryStore(), log, DEFAULT_REWARDS).handle(batch(explicit("ok")))
    found = json.loads(log.sent[0].value or b"")
    assert (found["detector"], found["decidedBy"]) == (None, None)


async def test_a_later_detector_that_agrees_is_named() -> None:
    found = await announced([verdict(OLD)], [verdict(NEW)])
    assert (found["change"], found["detector"]) == ("updated", NEW)


async def test_no_detector_overrides_a_review() -> None:
    review = explicit("ok", at=10, user_id="rita", reviews="verdict", event="r")
    found = await announced([verdict(OLD)], [review], [verdict(NEW, evaluation=7)])
    assert (found["change"], found["overruledReaction"], found["detector"]) == ("cleared", "not_ok", NEW)
    assert found["overruledBy"] is not None


class SlowStore(MemoryStore):
    """Store whose calls let other writers run first, in a random order."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random

    async def _others(self) -> None:
        for _ in range(self._random.randrange(4)):
            await asyncio.sleep(0)

    async def changes(self, *arguments: Any) -> RecordChanges:
        await self._others()
        return await super().changes(*arguments)

    async def save(self, *arguments: Any) -> Saved:
        await self._others()
        return await super().save(*arguments)


verdicts = st.builds(
    verdict,
    st.sampled_from([WORDS, OLD, NEW]),
    st.sampled_from(["rejected", "accepted", None]),
    evaluation=st.integers(1, 3),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(verdicts, min_size=1, max_size=4), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_racing_writers_end_with_the_highest_verdict(batches: list[list[Any]], random: Random) -> None:
    async def race() -> tuple[RecordingProducer, Any]:
        store, log = SlowStore(random), RecordingProducer()
        handlers = [FeedbackHandler(store, log, DEFAULT_REWARDS) for _ in batches]
        await asyncio.gather(*(one.handle(batch(*said)) for one, said in zip(handlers, batches, strict=True)))
        (record,) = store._records.values()
        return log, record

    log, record = asyncio.run(race())
    given_ones = [one for said in batches for one in said]
    rank = max((precedence(one.detector_version), one.evaluation) for one in given_ones)
    shown = record.current_entry
    assert (precedence(shown.payload.detector), shown.stamp.evaluation) == rank
    last = max((json.loads(one.value or b"") for one in log.sent), key=lambda one: one["revision"])
    assert (last["revision"], last["detector"]) == (record.revision, shown.payload.detector)
