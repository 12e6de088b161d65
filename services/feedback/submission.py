"""Intake of explicit feedback, which looks up the turn in the registry and publishes the judgement to the log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID, uuid4

from contracts.base import Reaction
from contracts.erasure import ERASURE_MARGIN, Person, is_erased
from contracts.feedback import FeedbackExplicitReceived
from contracts.ids import feedback_id
from contracts.instants import SECOND, format_instant
from contracts.log_time import at_log_time
from contracts.sources import REVIEW
from contracts.topics import EXPLICIT_RECEIVED
from feedback.rate_limit import PersonLimit
from feedback.registry import Registry, TurnFacts, TurnKey
from servicekit.clock import Clock
from servicekit.log.messages import Message, Producer

T = TypeVar("T")


class UnknownTurn(Exception):
    """Raised if no agent has answered in the turn.

    The registry has read all messages that were in the log at the time of the request.
    """


class RegistryBehind(Exception):
    """Raised if the turn is unknown, but may still be in messages that the registry has not read yet."""


class PersonErased(Exception):
    """Raised if an erasure of the person covers the judgement, which would therefore never be stored.

    `seconds` is the time until a judgement without a time of its own is accepted again.
    """

    def __init__(self, erased_at: int, now: int) -> None:
        until = erased_at + ERASURE_MARGIN
        super().__init__(
            f"This person was erased: feedback of a time until {format_instant(until)} is not stored. Send it later."
        )
        self.seconds = max(1, -(-(until - now) // SECOND))


class GivenRating(NamedTuple):
    """A rating, with the worst and the best rating of its scale."""

    rating: int
    worst_rating: int
    best_rating: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """A person's judgement of a turn.

    Attributes:
        reaction: None retracts an earlier judgement.
        ts: The time of the judgement in microseconds. None means now.
        reviews: For a review, the feedback id of the machine's verdict, or the turn id if no verdict is reviewed.
        rating: The rating from which `reaction` was derived, if any.
    """

    user_id: str
    reaction: Reaction | None
    ts: int | None = None
    text: str | None = None
    tags: tuple[str, ...] = ()
    correction: str | None = None
    reviews: str | None = None
    rating: GivenRating | None = None

    @property
    def source(self) -> str:
        return "api" if self.reviews is None else REVIEW


@dataclass(frozen=True, slots=True)
class Accepted:
    """A judgement that was written to the log.

    `occurred_at` is its effective time in microseconds.
    """

    feedback_id: UUID
    occurred_at: int


class TurnProgress(Protocol):
    """Progress of the consumer group that fills the turn registry, on the topics of its messages."""

    async def look_until_read(self, seconds: float, look: Callable[[], Awaitable[T | None]]) -> tuple[T | None, bool]:
        """Call `look` repeatedly until it finds something, the consumer group has caught up, or the time is up.

        The group has caught up when it has read all records that were in the log at the start.

        Args:
            seconds: Maximum duration of the call.
            look: Function that returns None if it finds nothing.

        Returns:
            The last result of `look`, and True if the group had caught up before that call.

        Raises:
            Unavailable: The progress cannot be read.
        """
        ...


class ExplicitIntake:
    """Intake of judgements.

    Args:
        wait_seconds: Maximum time to wait for the turn registry to catch up with the log if a turn is unknown.
        judge_at: Upper bound for event times in microseconds. Consumers must use the same value, because they reject
            later times.
    """

    def __init__(
        self,
        registry: Registry,
        progress: TurnProgress,
        log: Producer,
        clock: Clock,
        rate_limit: PersonLimit | None = None,
        *,
        wait_seconds: float,
        judge_at: int | None,
    ) -> None:
        self._registry = registry
        self._progress = progress
        self._log = log
        self._clock = clock
        self._rate_limit = rate_limit
        self._wait_seconds = wait_seconds
        self._judge_at = judge_at

    async def take(self, key: TurnKey, judgement: Judgement, *, limited: bool = True) -> Accepted:
        """Publish the judgement, and wait for the acknowledgement.

        Args:
            limited: False disables the rate limit, for a back end that sends judgements for people without naming them.
                Reviews have no rate limit in any case.

        Raises:
            UnknownTurn: No agent has answered in the turn.
            RegistryBehind: The turn is unknown, but may still be in messages that the registry has not read yet.
            LimitReached: The person has sent too many judgements. Judgements of unknown turns count as well.
            PersonErased: An erasure of the person covers the judgement.
            LogFull: The log has no room for the event.
            Unavailable: The log or the database does not respond.
        """
        if self._rate_limit is not None and limited and judgement.reviews is None:
            await self._rate_limit.take(Person(key.tenant, judgement.user_id))
        facts = await self._facts(key, judgement.user_id)
        now = self._clock.now()
        event = explicit_event(key, facts, judgement, now, self._judge_at)
        if is_erased(event.occurred_at, facts.erased_at, now):
            raise PersonErased(facts.erased_at or 0, now)
        [written] = await self._log.send([Message.of(EXPLICIT_RECEIVED, event)])
        if written.log_time is not None:
            event = at_log_time(event, written.log_time, written.offset, self._judge_at)
        return Accepted(feedback_id_of(key, judgement), event.occurred_at)

    async def _facts(self, key: TurnKey, user_id: str) -> TurnFacts:
        """Return the facts about an answered turn. If no answer is known yet, wait for the registry to catch up.

        Raises:
            UnknownTurn: No agent has answered in the turn.
            RegistryBehind: The registry has not caught up in time.
            Unavailable: The log or the database does not respond.
        """

        async def answered() -> TurnFacts | None:
            facts = await self._registry.find(key, user_id)
            return facts if facts.answer else None

        if facts := await answered():
            return facts
        facts, has_caught_up = await self._progress.look_until_read(self._wait_seconds, answered)
        if facts:
            return facts
        raise UnknownTurn if has_caught_up else RegistryBehind


def feedback_id_of(key: TurnKey, judgement: Judgement) -> UUID:
    """Return the feedback id of a judgement.

    It is derived from the judgement's source, person and turn. A later judgement with the same values replaces
    the earlier one.
    """
    return feedback_id(
        key.tenant,
        key.project,
        key.conversation_id,
        source=judgement.source,
        user_id=judgement.user_id,
        agent_id="",
        source_id=key.turn_id,
    )


def explicit_event(
    key: TurnKey, facts: TurnFacts, judgement: Judgement, now: int, judge_at: int | None = None
) -> FeedbackExplicitReceived:
    """Return the event for a judgement that was received at `now` (microseconds).

    Pure except for the random event id.

    The event has the time given in the judgement, but at most `now` and `judge_at`. Consumers replace this time with
    the log's time (`contracts/log_time.py`), unless the log has no times. Consumers of old releases never replace it.
    If the event's time is earlier than `now`, its sequence is `now`, otherwise None.

    A retraction drops rating, text, tags and correction.

    Raises:
        UnknownTurn: No agent has answered in the turn.
    """
    answer = facts.answer
    if answer is None:
        raise UnknownTurn
    latest = now if judge_at is None else min(now, judge_at)
    occurred_at = latest if judgement.ts is None else min(judgement.ts, latest)
    content = (
        judgement if judgement.reaction is not None else Judgement(judgement.user_id, None, reviews=judgement.reviews)
    )
    return FeedbackExplicitReceived(
        event_id=str(uuid4()),
        occurred_at=occurred_at,
        sequence=None if occurred_at == now else now,
        tenant=key.tenant,
        project=key.project,
        conversation_id=key.conversation_id,
        turn_id=key.turn_id,
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
        **({} if content.rating is None else content.rating._asdict()),
        timed_by_log=True,
        given_at=judgement.ts,
        **answer.provenance.fields(),
    )
