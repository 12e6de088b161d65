"""Intake of explicit feedback, which looks up the turn in the registry and publishes the judgement to the log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

from pydantic import BaseModel, Field

from contracts.base import Reaction
from contracts.erasure import ERASURE_MARGIN, Person, is_erased
from contracts.feedback import FeedbackExplicitReceived
from contracts.instants import SECOND, format_instant
from contracts.log_time import at_log_time
from contracts.message_fields import TurnKey
from contracts.topics import EXPLICIT_RECEIVED
from feedback.rate_limit import PersonLimit
from feedback.registry import PostgresRegistry, TurnFacts
from feedback.reward import explicit_key
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.log.records import Message, Producer

PollUntilCaughtUp = Callable[[Callable[[], Awaitable[TurnFacts | None]]], Awaitable[tuple[TurnFacts | None, bool]]]
"""Function that calls a look-up until it returns facts, the registry has caught up with the log, or the time is up.

It returns the facts, and True if the registry had read all records that were in the log at the start.
"""


@dataclass(frozen=True, slots=True)
class TurnJudgement:
    """A person's judgement of a turn.

    Attributes:
        reaction: None retracts an earlier judgement.
        ts: The time of the judgement in microseconds. None means now.
        reviews: For a review, the feedback id of the machine's verdict, or the turn id if no verdict is reviewed.
        rating: The rating from which `reaction` was derived, from 1 to `best_rating`, if any.
    """

    user_id: str
    reaction: Reaction | None
    ts: int | None = None
    text: str | None = None
    tags: tuple[str, ...] = ()
    correction: str | None = None
    reviews: str | None = None
    rating: int | None = None
    best_rating: int | None = None


class AcceptedFeedback(BaseModel):
    """A judgement that was written to the log. It will be stored and announced under this id."""

    feedback_id: UUID = Field(description="The feedback's id.", examples=["0b8e3b1e-51d8-5f0a-9d8e-5c1f6c1d2a11"])
    ts: str = Field(description="The effective time of the judgement.", examples=["2026-11-20T09:30:00.000000Z"])


class ExplicitIntake:
    """Intake of judgements.

    Args:
        poll_until_caught_up: Waits for the turn registry to catch up with the log if a turn is unknown.
        reference_time: Upper bound for event times in microseconds. Consumers must use the same value: they reject
            later times.
    """

    def __init__(
        self,
        registry: PostgresRegistry,
        poll_until_caught_up: PollUntilCaughtUp,
        log: Producer,
        clock: Clock,
        rate_limit: PersonLimit | None = None,
        *,
        reference_time: int | None,
    ) -> None:
        self._registry = registry
        self._poll_until_caught_up = poll_until_caught_up
        self._log = log
        self._clock = clock
        self._rate_limit = rate_limit
        self._reference_time = reference_time

    async def take(self, key: TurnKey, judgement: TurnJudgement, *, limited: bool = True) -> AcceptedFeedback:
        """Publish the judgement, and wait for the acknowledgement.

        Args:
            limited: False disables the rate limit, for a back end that sends judgements for people without naming them.
                Reviews have no rate limit in any case.

        Raises:
            RequestRefused: 404 if no agent has answered in the turn, 503 if the registry may not have read the answer
                yet, 409 if an erasure of the person covers the judgement, which would never be stored, or 429 if the
                person has sent too many judgements. Judgements of unknown turns count as well.
            LogFull: The log has no room for the event.
            Unavailable: The log or the database does not respond.
        """
        if self._rate_limit is not None and limited and judgement.reviews is None:
            await self._rate_limit.take(Person(key.tenant, judgement.user_id))
        facts = await self._facts(key, judgement.user_id)
        now = self._clock.now()
        event = explicit_event(key, facts, judgement, now, self._reference_time)
        if facts.erased_at is not None and is_erased(event.occurred_at, facts.erased_at, now):
            until = facts.erased_at + ERASURE_MARGIN
            sentence = f"This person was erased: feedback of a time until {format_instant(until)} is not stored."
            raise RequestRefused(409, f"{sentence} Send it later.", max(1, -(-(until - now) // SECOND)))
        [written] = await self._log.send([Message.of(EXPLICIT_RECEIVED, event)])
        if written.log_time is not None:
            event = at_log_time(event, written.log_time, written.offset, self._reference_time)
        return AcceptedFeedback(feedback_id=explicit_key(event).feedback_id, ts=format_instant(event.occurred_at))

    async def _facts(self, key: TurnKey, user_id: str) -> TurnFacts:
        """Return the facts about an answered turn. If no answer is known yet, wait for the registry to catch up."""

        async def answered() -> TurnFacts | None:
            facts = await self._registry.find(key, user_id)
            return facts if facts.answer else None

        if facts := await answered():
            return facts
        facts, has_caught_up = await self._poll_until_caught_up(answered)
        if facts:
            return facts
        if has_caught_up:
            raise RequestRefused(404, "No agent has answered on that turn.")
        raise RequestRefused(503, "That turn is not known yet; send the request again.")


def explicit_event(
    key: TurnKey, facts: TurnFacts, judgement: TurnJudgement, now: int, reference_time: int | None = None
) -> FeedbackExplicitReceived:
    """Return the event for a judgement of an answered turn that was received at `now` (microseconds).

    Pure except for the random event id.

    The event has the time given in the judgement, but at most `now` and `reference_time`. If the log has times,
    consumers use the given time, capped by the log time, or otherwise the log time (`contracts/log_time.py`). If the
    event's time is earlier than `now`, its sequence is `now`, otherwise None.

    A retraction drops rating, text, tags and correction.
    """
    answer = facts.answer
    assert answer is not None
    latest = now if reference_time is None else min(now, reference_time)
    occurred_at = latest if judgement.ts is None else min(judgement.ts, latest)
    retraction = TurnJudgement(judgement.user_id, None, reviews=judgement.reviews)
    content = retraction if judgement.reaction is None else judgement
    return FeedbackExplicitReceived(
        event_id=str(uuid4()),
        occurred_at=occurred_at,
        sequence=None if occurred_at == now else now,
        **key._asdict(),
        agent_id=answer.agent_id,
        agent_message_id=answer.message_id,
        question_message_id=answer.question_message_id,
        thread_id=answer.thread_id,
        user_id=content.user_id,
        user_type=facts.user_type,
        reaction=content.reaction,
        text=content.text or None,
        tags=content.tags,
        correction=content.correction or None,
        reviews=content.reviews,
        rating=content.rating,
        worst_rating=None if content.rating is None else 1,
        best_rating=content.best_rating,
        timed_by_log=True,
        given_at=judgement.ts,
        **answer.provenance.fields(),
    )
