"""Effects of a batch of received feedback on an in-memory store."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from contracts.erasure import ERASURE_MARGIN, erasure_of
from contracts.feedback import FeedbackExplicitReceived
from feedback.emojis import DEFAULT_REWARDS
from feedback.handlers import FeedbackHandler
from feedback.store import Saved, Totals, sum_up
from servicekit.log.outcome import Outcome
from tests.support.feedback_events import (
    SECOND,
    START,
    RecordingProducer,
    batch,
    erasure,
    explicit,
    key,
    reaction,
    received,
    reply,
)
from tests.support.feedback_memory import MemoryStore


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def log() -> RecordingProducer:
    return RecordingProducer()


@pytest.fixture
def handler(store: MemoryStore, log: RecordingProducer) -> FeedbackHandler:
    return FeedbackHandler(store, log, DEFAULT_REWARDS)


async def test_outcomes_stand_in_the_batchs_order_and_each_feedback_is_announced_once(
    handler: FeedbackHandler, log: RecordingProducer
) -> None:
    outcomes = await handler.handle(
        batch(
            reaction("👍", event="r1"),
            explicit("ok"),
            reaction("🤔", event="r2"),
            reaction("👍", event="r1"),
            reply(reply_sender_id="agent-a"),
            explicit("not_ok", at=1, event="x2"),
            explicit("neutral", at=-1, event="x3"),
        )
    )
    assert outcomes == [
        Outcome.STORED,
        Outcome.STORED,
        Outcome.ignored("unmapped_emoji"),
        Outcome.UNCHANGED,
        Outcome.ignored("self_feedback"),
        Outcome.STORED,
        Outcome.ignored("superseded"),
    ]
    announced = {message.key: json.loads(message.value or b"") for message in log.sent}
    assert len(log.sent) == len(announced) == 2
    assert announced[str(key().feedback_id)]["reaction"] == "not_ok"
    assert {event["change"] for event in announced.values()} == {"created"}


async def test_a_repeated_batch_repeats_its_announcements_to_the_byte(
    handler: FeedbackHandler, log: RecordingProducer
) -> None:
    said = batch(reaction("👍"), explicit("ok"))
    await handler.handle(said)
    first, log.sent = log.sent, []
    assert await handler.handle(said) == [Outcome.UNCHANGED, Outcome.UNCHANGED]
    assert log.sent == first


async def test_an_announcement_names_the_chat_record_that_it_comes_from(
    handler: FeedbackHandler, log: RecordingProducer
) -> None:
    await handler.handle(batch(explicit("ok")))
    assert [dict(message.headers)["cause"] for message in log.sent] == [b"feedback.explicit.received:0:0"]


async def test_an_emoji_that_has_left_the_table_can_still_be_taken_back(
    store: MemoryStore, handler: FeedbackHandler, log: RecordingProducer
) -> None:
    await handler.handle(batch(reaction("👍", event="r1")))
    without = FeedbackHandler(store, log, {name: value for name, value in DEFAULT_REWARDS.items() if name != "👍"})
    taken_back = batch(reaction("👍", "removed", at=1, event="r2"))
    assert await without.handle(taken_back) == [Outcome.STORED]
    assert json.loads(log.sent[-1].value or b"")["change"] == "cleared"
    assert await without.handle(taken_back) == [Outcome.UNCHANGED]


async def test_taking_back_an_emoji_that_was_never_in_the_table_leaves_no_trace(
    store: MemoryStore, handler: FeedbackHandler, log: RecordingProducer
) -> None:
    never = reaction("🤔", "removed", at=1, event="r2")
    assert await handler.handle(batch(never)) == [Outcome.ignored("unmapped_emoji")]
    assert (await store.totals()).stored == 0
    await handler.handle(batch(reaction("👍", event="r1")))
    assert await handler.handle(batch(never)) == [Outcome.ignored("unmapped_emoji")]
    announced = json.loads(log.sent[-1].value or b"")
    assert (announced["change"], announced["emoji"]) == ("created", "👍")


async def test_an_event_that_comes_again_under_another_derived_id_stays_one_feedback(
    store: MemoryStore, handler: FeedbackHandler, log: RecordingProducer
) -> None:
    """An event that is read again under another id is merged by its content."""
    await handler.handle(batch(reaction("👍", event="e1")))
    assert await handler.handle(batch(reaction("👍", event="e2"))) == [Outcome.UNCHANGED]
    first, second = [json.loads(message.value or b"") for message in log.sent]
    assert second["feedbackId"] == first["feedbackId"]
    assert (await store.totals()).stored == 1
    differing = {name for name in first if first[name] != second[name]}
    assert differing <= {"eventId", "revision", "recordedAt", "causationId", "change"}


def revisions(log: RecordingProducer) -> list[int]:
    return [json.loads(message.value or b"")["revision"] for message in log.sent]


async def test_a_revision_is_the_log_time_of_the_last_event_that_changed_the_record(
    handler: FeedbackHandler, log: RecordingProducer
) -> None:
    first = explicit("ok")
    await handler.handle(batch(received(first, logged=5), received(first, logged=9)))
    assert revisions(log) == [START // 1_000 + 5_000]
    await handler.handle(batch(received(explicit("not_ok", at=-1, event="x0"), logged=20)))
    assert revisions(log)[-1] == START // 1_000 + 5_000, "an older judgement changes nothing"
    later = [received(explicit("not_ok", at=n, event=f"x{n}"), logged=20 + n) for n in (2, 3)]
    await handler.handle(batch(*later))
    assert revisions(log)[-1] == START // 1_000 + 23_000


async def test_a_batch_goes_on_after_an_event_that_was_erased(
    store: MemoryStore, handler: FeedbackHandler, log: RecordingProducer
) -> None:
    await store.note_erasures([erasure_of(erasure(at=0), START)])
    margin = ERASURE_MARGIN / SECOND
    said = [("ok", -1), ("ok", margin), ("ok", margin + 1), ("not_ok", margin + 2)]
    events = [explicit(reaction, at=at, event=f"x{number}") for number, (reaction, at) in enumerate(said)]
    assert await handler.handle(batch(*events)) == [
        Outcome.ignored("erased"),
        Outcome.ignored("erased"),
        Outcome.STORED,
        Outcome.STORED,
    ]
    assert len([one for one in log.sent if one.value]) == 1


def test_totals_add_every_group_to_its_own_sum() -> None:
    def group(n: int, reaction: str | None = None, kind: str = "explicit", **state: bool) -> dict[str, Any]:
        return {"n": n, "forgotten": False, "live": True, "feedback_type": kind, "reaction": reaction, **state}

    groups = [group(1, forgotten=True), group(2, live=False), group(4, "ok"), group(8), group(16, "ok", "reaction")]
    totals = Totals(2 + 4 + 8 + 16, 2, 1, Counter(explicit=12, reaction=16), Counter(ok=20))
    assert sum_up(groups) == sum_up(groups[::-1]) == totals
    assert sum_up([*groups, *groups]).forgotten == 2


class LosesOnce:
    """Store in which another process writes first, at the first save."""

    def __init__(self, store: MemoryStore, other: FeedbackHandler, word: Any) -> None:
        self._store, self._other, self._word = store, other, word

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def save(self, *arguments: Any) -> Saved:
        if self._word is not None:
            word, self._word = self._word, None
            await self._other.handle(batch(word))
        return await self._store.save(*arguments)


@pytest.mark.parametrize(
    ("theirs", "ours", "outcome", "shown"),
    [
        (explicit("ok", at=1), explicit("ok", at=1), Outcome.UNCHANGED, "ok"),
        (explicit("not_ok", at=2, event="x2"), explicit("ok", at=1), Outcome.ignored("superseded"), "not_ok"),
        (explicit("not_ok", at=1, event="x2"), explicit("ok", at=2), Outcome.STORED, "ok"),
    ],
    ids=["the same", "a newer one", "an older one"],
)
async def test_a_change_that_loses_to_another_writer_is_merged_with_what_won(
    store: MemoryStore,
    handler: FeedbackHandler,
    log: RecordingProducer,
    theirs: FeedbackExplicitReceived,
    ours: FeedbackExplicitReceived,
    outcome: Outcome,
    shown: str,
) -> None:
    slow = FeedbackHandler(LosesOnce(store, handler, theirs), log, DEFAULT_REWARDS)
    assert await slow.handle(batch(ours)) == [outcome]
    assert json.loads(log.sent[-1].value or b"")["reaction"] == shown
    (record,) = (await store.load([key().feedback_id])).values()
    assert record.current_entry.payload.reaction == shown


async def test_an_uncertain_batch_is_announced_as_it_stands_and_not_merged_again(
    store: MemoryStore, handler: FeedbackHandler, log: RecordingProducer
) -> None:
    said = batch(explicit("ok"))
    await handler.handle(said)
    await handler.handle(batch(explicit("not_ok", at=5, event="x2")))
    log.sent.clear()
    await handler.commit_lost(batch(explicit("ok"), explicit("neutral", at=9, event="never handled")))
    assert [json.loads(message.value or b"")["reaction"] for message in log.sent] == ["not_ok"]


async def test_a_project_may_have_a_table_of_its_own(store: MemoryStore, log: RecordingProducer) -> None:
    handler = FeedbackHandler(store, log, DEFAULT_REWARDS, {("acme", "support"): {"🤔": 0.9}})
    ours, theirs = reaction("🤔", event="r1"), reaction("🤔", event="r2").model_copy(update={"project": "sales"})
    assert await handler.handle(batch(ours, theirs)) == [Outcome.STORED, Outcome.ignored("unmapped_emoji")]
