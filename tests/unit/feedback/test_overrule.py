"""A review replaces the machine's verdicts on its turn, in any order of arrival."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from feedback.handlers import FeedbackHandler
from feedback.model import reviews_that_count
from feedback.reward import DEFAULT_REWARDS
from feedback.store import Saved
from tests.support.feedback_events import RecordingProducer, batch, erasure, explicit, inferred, received, record
from tests.support.feedback_memory import MemoryStore


def test_only_reviews_that_are_not_retracted_overrule() -> None:
    judged = record("judged")
    review = replace(record("review"), key=judged.key._replace(source="review", user_id="rita"))
    retracted = replace(review, slots=record("gone", present=False).slots)
    assert reviews_that_count([judged, retracted]) == {}
    assert reviews_that_count([judged, review]) == {review.turn: review.feedback_id}


class Ledger:
    """Handler on an in-memory store, and the last announcement of each feedback record."""

    def __init__(self) -> None:
        self.store, self.log = MemoryStore(), RecordingProducer()
        self.handler = FeedbackHandler(self.store, self.log, DEFAULT_REWARDS)

    async def take(self, *events: Any) -> None:
        await self.handler.handle(batch(*events))

    @property
    def newest(self) -> list[dict[str, Any]]:
        """Return the announcement of the highest revision of each record."""
        newest: dict[str, dict[str, Any]] = {}
        for message in self.log.sent:
            if message.value is not None:
                event = json.loads(message.value)
                if event["revision"] > newest.get(event["feedbackId"], {"revision": -1})["revision"]:
                    newest[event["feedbackId"]] = event
        return list(newest.values())

    @property
    def verdict(self) -> dict[str, Any]:
        (verdict,) = [event for event in self.newest if event["origin"] == "machine"]
        return verdict

    @property
    def review(self) -> dict[str, Any]:
        (review,) = [event for event in self.newest if event["origin"] == "reviewer"]
        return review

    @property
    def counted(self) -> list[tuple[str, float]]:
        return sorted((event["origin"], event["value"]) for event in self.newest if event["value"] is not None)


def review(reaction: str | None = "ok", *, at: float = 10, user: str = "rita", **fields: Any) -> Any:
    return explicit(reaction, at=at, user_id=user, reviews="verdict", event=f"{user}{at}", **fields)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


async def test_a_reviewed_verdict_is_cleared_and_names_the_review(ledger: Ledger) -> None:
    await ledger.take(inferred())
    before = ledger.verdict
    await ledger.take(review("ok"))
    after = ledger.verdict
    assert (before["change"], before["value"], before["overruledBy"]) == ("created", -1.0, None)
    assert (after["change"], after["value"], after["reaction"]) == ("cleared", None, None)
    assert (after["overruledBy"], after["overruledReaction"]) == (ledger.review["feedbackId"], "not_ok")
    kept = ("confidence", "text", "tags", "correctionType", "turnId")
    assert [after[name] for name in kept] == [before[name] for name in kept]
    assert after["revision"] > before["revision"]
    assert (ledger.review["origin"], ledger.review["value"], ledger.review["userId"]) == ("reviewer", 1.0, "rita")


async def test_a_retracted_review_restores_the_verdict_under_a_higher_revision(ledger: Ledger) -> None:
    await ledger.take(inferred())
    await ledger.take(review("ok"))
    overruled = ledger.verdict
    await ledger.take(review(None, at=11))
    assert (ledger.verdict["change"], ledger.verdict["value"], ledger.verdict["overruledBy"]) == ("updated", -1.0, None)
    assert ledger.verdict["revision"] > overruled["revision"]
    assert ledger.counted == [("machine", -1.0)]


async def test_no_later_evaluation_reverts_a_review(ledger: Ledger) -> None:
    await ledger.take(inferred(), review("ok"))
    await ledger.take(inferred(evaluation=2, confidence=0.99))
    assert ledger.counted == [("reviewer", 1.0)]
    await ledger.take(review(None, at=11))
    assert ledger.verdict["confidence"] == 0.99


async def test_a_verdict_on_a_turn_that_was_reviewed_before_it_was_judged_is_overruled_at_once(ledger: Ledger) -> None:
    await ledger.take(review("ok"))
    await ledger.take(inferred())
    assert all(event["change"] == "cleared" for event in _said_by_the_machine(ledger))
    assert ledger.counted == [("reviewer", 1.0)]


async def test_a_verdict_that_moves_to_another_turn_counts_there(ledger: Ledger) -> None:
    await ledger.take(inferred(), review("ok"))
    await ledger.take(inferred(evaluation=2, turn_id="t0"))
    assert ledger.counted == [("machine", -1.0), ("reviewer", 1.0)]
    await ledger.take(inferred(evaluation=3))
    assert ledger.counted == [("reviewer", 1.0)]


async def test_a_verdict_that_the_machine_withdraws_is_overruled_by_nobody(ledger: Ledger) -> None:
    await ledger.take(inferred(), review("ok"), inferred(None, evaluation=2))
    assert (ledger.verdict["change"], ledger.verdict["overruledBy"]) == ("cleared", None)


async def test_of_two_reviewers_the_later_one_overrules_and_the_other_takes_over(ledger: Ledger) -> None:
    await ledger.take(inferred(), review("neutral", user="sam", at=12), review("ok", user="rita", at=10))
    by_user = {event["userId"]: event["feedbackId"] for event in ledger.newest if event["origin"] == "reviewer"}
    assert ledger.verdict["overruledBy"] == by_user["sam"]
    await ledger.take(review(None, user="sam", at=13))
    assert ledger.verdict["overruledBy"] == by_user["rita"]


async def test_an_erased_reviewers_review_overrules_nothing(ledger: Ledger) -> None:
    await ledger.take(inferred(), review("ok"))
    await ledger.take(received(erasure("rita", at=20)))
    assert ledger.counted[0] == ("machine", -1.0)
    assert ledger.verdict["overruledBy"] is None


async def test_an_erased_persons_overruled_verdict_leaves_a_stub(ledger: Ledger) -> None:
    await ledger.take(inferred(), review("ok"))
    await ledger.take(received(erasure("ann", at=20)))
    (stub,) = [one for one in (await _everything(ledger)) if one.key.source == "inference"]
    assert stub.forgotten
    assert stub.overruled_by is None


async def test_a_review_overrules_on_its_own_turn_alone(ledger: Ledger) -> None:
    elsewhere: dict[str, Any] = {"turn_id": "t0", "conversation_id": "c2", "project": "other", "tenant": "globex"}
    for name, value in elsewhere.items():
        await ledger.take(review("ok", **{name: value}))
    await ledger.take(inferred())
    assert ledger.verdict["value"] == -1.0


async def test_a_repeated_review_announces_the_verdict_again_to_the_byte(ledger: Ledger) -> None:
    said = batch(inferred(), review("ok"))
    await ledger.handler.handle(said)
    first = ledger.log.last
    ledger.log.sent.clear()
    await ledger.handler.handle(said)
    assert ledger.log.last == first
    ledger.log.sent.clear()
    await ledger.handler.commit_lost(batch(review("ok")))
    assert ledger.log.last == first


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
async def test_any_order_and_any_batches_lead_to_the_same_ledger(order: tuple[int, ...]) -> None:
    events = [inferred(), inferred(evaluation=2, turn_id="t0"), review("ok"), review("neutral", user="sam", at=12)]
    whole, single = Ledger(), Ledger()
    await whole.take(*(events[n] for n in order))
    for n in order:
        await single.take(events[n])
        await single.take(events[n])
    expected = [("machine", -1.0), ("reviewer", 0.0), ("reviewer", 1.0)]
    assert whole.counted == single.counted == expected


class _ReviewedMeanwhile(MemoryStore):
    """Store in which another process commits a review, or its retraction, before the first save."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: list[Any] = []

    async def save(self, *arguments: Any) -> Saved:
        if self.meanwhile:
            event = self.meanwhile.pop()
            await FeedbackHandler(self, RecordingProducer(), DEFAULT_REWARDS).handle(batch(event))
        return await super().save(*arguments)


@pytest.mark.parametrize(("before", "meanwhile", "counted"), [((), "ok", "reviewer"), (("ok",), None, "machine")])
async def test_a_review_that_another_process_commits_between_look_and_write_is_kept_to(
    before: tuple[str, ...], meanwhile: str | None, counted: str
) -> None:
    ledger = Ledger()
    ledger.store = _ReviewedMeanwhile()
    ledger.handler = FeedbackHandler(ledger.store, ledger.log, DEFAULT_REWARDS)
    await ledger.take(*(review(one) for one in before))
    ledger.store.meanwhile = [review(meanwhile, at=11)]
    await ledger.take(inferred())
    (verdict,) = [one for one in await _everything(ledger) if one.origin == "machine"]
    assert verdict.live is (counted == "machine")
    assert ledger.verdict["revision"] == verdict.revision


def _said_by_the_machine(ledger: Ledger) -> list[dict[str, Any]]:
    events = [json.loads(message.value) for message in ledger.log.sent if message.value is not None]
    return [event for event in events if event["origin"] == "machine"]


async def _everything(ledger: Ledger) -> list[Any]:
    return list(ledger.store._records.values())
