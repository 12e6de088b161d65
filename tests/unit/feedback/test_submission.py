"""The event of a judgement: its time and sequence, what a retraction drops, and what is copied from the answer."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.erasure import Person
from contracts.instants import MINUTE
from contracts.message_fields import TurnKey
from contracts.provenance import Provenance
from feedback.registry import TurnAnswer, TurnFacts
from feedback.reward import explicit_key
from feedback.submission import ExplicitIntake, TurnJudgement, explicit_event
from servicekit.errors import RequestRefused
from tests.support.hand_clock import FixedClock
from tests.support.logs import NOW, RecordingLog

KEY = TurnKey("acme", "support", "c1", "t1")
MADE = Provenance("track", "bundle", "v1", "model", "trace", "hours")
ANSWER = TurnAnswer("a1", "bot", MADE, "th", "q1")
WHOLE: dict[str, Any] = {"text": "Too early.", "tags": ("wrong",), "correction": "At ten."}
RATED: dict[str, Any] = {**WHOLE, "rating": 2, "best_rating": 5}


def event_of(reaction: Any = "ok", *, now: int = NOW, reference_time: int | None = None, **said: Any) -> Any:
    return explicit_event(KEY, TurnFacts(ANSWER, "paid"), TurnJudgement("ann", reaction, **said), now, reference_time)


@pytest.mark.parametrize(
    ("ts", "reference_time", "occurred_at", "sequence"),
    [
        (None, None, NOW, None),
        (NOW, None, NOW, None),
        (NOW + 1, None, NOW, None),
        (NOW - 1, None, NOW - 1, NOW),
        (None, NOW + 1, NOW, None),
        (None, NOW - 5, NOW - 5, NOW),
        (NOW - 1, NOW - 5, NOW - 5, NOW),
        (NOW - 9, NOW - 5, NOW - 9, NOW),
    ],
)
def test_a_judgement_is_never_later_than_its_receipt_or_the_bound(
    ts: int | None, reference_time: int | None, occurred_at: int, sequence: int | None
) -> None:
    event = event_of(ts=ts, reference_time=reference_time)
    assert (event.occurred_at, event.sequence, event.given_at) == (occurred_at, sequence, ts)
    assert event.timed_by_log


def test_the_event_has_what_was_said_and_where_the_answer_came_from() -> None:
    event = event_of("not_ok", **RATED)
    assert (event.text, event.tags, event.correction) == ("Too early.", ("wrong",), "At ten.")
    assert (event.rating, event.worst_rating, event.best_rating) == (2, 1, 5)
    assert (event.agent_id, event.agent_message_id, event.question_message_id, event.thread_id) == (
        "bot",
        "a1",
        "q1",
        "th",
    )
    assert (event.tenant, event.project, event.conversation_id, event.turn_id) == KEY
    assert (event.user_id, event.user_type, event.reaction) == ("ann", "paid", "not_ok")
    assert {name: getattr(event, name) for name in MADE.fields()} == MADE.fields()
    assert event.event_id != event_of("not_ok", **RATED).event_id


def test_empty_texts_are_no_texts() -> None:
    event = event_of(text="", correction="")
    assert (event.text, event.correction) == (None, None)


@pytest.mark.parametrize("kept", [{}, {"reviews": "t1"}], ids=str)
def test_a_retraction_has_no_words_and_is_of_the_same_kind(kept: dict[str, Any]) -> None:
    event = event_of(None, **RATED, **kept)
    assert (event.reaction, event.text, event.tags, event.correction, event.rating) == (None, None, (), None, None)
    assert (event.user_id, event.reviews) == ("ann", kept.get("reviews"))


def test_a_judgement_replaces_that_of_the_same_person_kind_and_turn() -> None:
    def id_of(key: TurnKey = KEY, user: str = "ann", **said: Any) -> Any:
        return explicit_key(explicit_event(key, TurnFacts(ANSWER), TurnJudgement(user, "ok", **said), NOW)).feedback_id

    same = [id_of(), id_of(text="Again."), id_of(ts=NOW), id_of(rating=2, best_rating=5)]
    assert len({*same}) == 1
    keys = [KEY._replace(**{name: "other"}) for name in KEY._fields]
    others = [id_of(key) for key in keys]
    others += [id_of(user="bob"), id_of(reviews="t1")]
    assert len({*same, *others}) == 1 + len(others)
    assert id_of(reviews="t1") == id_of(reviews="m1")


async def test_a_person_over_the_limit_is_refused_before_the_registry_is_asked() -> None:
    class Exhausted:
        async def take(self, _person: Person) -> None:
            raise RequestRefused(429, "Too many.", 1)

    fakes: Any = (None, None, RecordingLog(), FixedClock(NOW), Exhausted())
    with pytest.raises(RequestRefused) as refused:
        await ExplicitIntake(*fakes, reference_time=None).take(KEY, TurnJudgement("ann", "ok"))
    assert refused.value.status == 429


@pytest.mark.parametrize(
    ("erased_at", "ts", "seconds"),
    [
        (None, None, None), (NOW, None, 300), (NOW - 5 * MINUTE, None, 1), (NOW - 5 * MINUTE - 1, None, None),
        (NOW - 9 * MINUTE, NOW - 8 * MINUTE, 1), (NOW - 9 * MINUTE, NOW - 3 * MINUTE, None),
    ],
)  # fmt: skip
async def test_a_judgement_that_an_erasure_covers_is_refused_and_not_published(
    erased_at: int | None, ts: int | None, seconds: int | None
) -> None:
    class Erased:
        async def find(self, *_: object) -> TurnFacts:
            return TurnFacts(ANSWER, erased_at=erased_at)

    log = RecordingLog()
    fakes: Any = (Erased(), None, log, FixedClock(NOW))
    intake = ExplicitIntake(*fakes, reference_time=None)
    if seconds is None:
        await intake.take(KEY, TurnJudgement("ann", "ok", ts))
        assert len(log.messages) == 1
        return
    with pytest.raises(RequestRefused, match=r"feedback of a time until \d{4}-.*Z is not stored") as error:
        await intake.take(KEY, TurnJudgement("ann", "ok", ts))
    assert (error.value.status, error.value.retry_after, log.messages) == (409, seconds, [])
