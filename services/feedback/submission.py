"""Intake of explicit feedback: checks the turn registry and publishes to the log. It does not write to the store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID, uuid4

from contracts.base import PERSON, Reaction, UserType
from contracts.erasure import Person
from contracts.feedback import FeedbackExplicitReceived
from contracts.ids import feedback_id
from contracts.log_time import at_log_time
from contracts.sources import RATING, REVIEW
from contracts.topics import EXPLICIT_RECEIVED
from feedback.rate_limit import PersonLimit
from feedback.registry import AgentAnswer, Registry, TurnKey
from servicekit import Clock, Message, Producer

T = TypeVar("T")


class UnknownTurn(Exception):
    """No agent has answered in the turn, although the registry has read the log up to the request."""


class RegistryBehind(Exception):
    """The turn is unknown, but the registry has not yet read the log up to the request."""


class GivenRating(NamedTuple):
    """Rating, with the worst and the best rating of its scale."""

    rating: int
    worst_rating: int
    best_rating: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """A person's judgement of a turn. If `reaction` is None, it is a retraction.

    `ts` is in microseconds; None means now. For a reviewer's judgement, `reviews` is the feedback id of the machine's
    verdict, or the id of the turn. `rating` is the rating from which `reaction` was derived, if any. With a `scale`,
    the judgement is a rating on the project's own scale.
    """

    user_id: str
    reaction: Reaction | None
    ts: int | None = None
    text: str | None = None
    tags: tuple[str, ...] = ()
    correction: str | None = None
    reviews: str | None = None
    rating: GivenRating | None = None
    scale: str | None = None

    @property
    def source(self) -> str:
        if self.scale is not None:
            return RATING
        return "api" if self.reviews is None else REVIEW


@dataclass(frozen=True, slots=True)
class Accepted:
    """Judgement that was written to the log. `occurred_at` is the effective time in microseconds."""

    feedback_id: UUID
    occurred_at: int


class KnownAnswer(NamedTuple):
    """Answer of a turn, the question if it is known, and the person's user type."""

    answer: AgentAnswer
    question_message_id: str | None
    user_type: str | None


class TurnProgress(Protocol):
    """Progress of the consumer group `feedback_turns`, which fills the turn registry."""

    async def look_until_read(self, seconds: float, look: Callable[[], Awaitable[T | None]]) -> tuple[T | None, bool]:
        """Call `look` until it finds something, the group has read the log, or `seconds` have passed.

        The log counts as read when the group has read everything that it contained at the start. Return the last result
        of `look`, and True if the log was read before that call. Raises Unavailable.
        """
        ...


class ExplicitIntake:
    """Intake of judgements. If a turn is unknown, it waits up to `wait_seconds` for the registry to read the log.

    `judge_at` (microseconds) is an upper limit of the current time. Consumers must use the same value, because they
    reject events with later times.
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
        """Publish the judgement and wait for the acknowledgement.

        Raises UnknownTurn, RegistryBehind, LimitReached, LogFull, and Unavailable if the log or the database does not
        respond. Reviewers have no rate limit. `limited` is False for a back end that sends judgements for people
        without naming them.
        """
        answer, question, role = await self._answer(key, judgement.user_id)
        if self._rate_limit is not None and limited and judgement.reviews is None:
            await self._rate_limit.take(Person(key.tenant, judgement.user_id))
        event = explicit_event(key, answer, judgement, self._clock.now(), self._judge_at, role or PERSON, question)
        [place] = await self._log.send([Message.of(EXPLICIT_RECEIVED, event)])
        if place.log_time is not None:
            event = at_log_time(event, place.log_time, place.offset, self._judge_at)
        return Accepted(feedback_id_of(key, judgement), event.occurred_at)

    async def _answer(self, key: TurnKey, user_id: str) -> KnownAnswer:
        """Return the answer of a turn. Raises UnknownTurn, RegistryBehind or Unavailable."""
        if known := await self._known(key, user_id):
            return known
        known, passed = await self._progress.look_until_read(self._wait_seconds, lambda: self._known(key, user_id))
        if known:
            return known
        raise UnknownTurn if passed else RegistryBehind

    async def _known(self, key: TurnKey, user_id: str) -> KnownAnswer | None:
        """Return the answer of a turn if it is in the registry, otherwise None.

        Raises Unavailable if the database does not respond.
        """
        turn, user_type = await self._registry.find(key, user_id)
        if turn is None or turn.answer is None:
            return None
        return KnownAnswer(turn.answer, turn.question_message_id, user_type)


def feedback_id_of(key: TurnKey, judgement: Judgement) -> UUID:
    """Return the feedback id of a judgement. It is derived from its source, person, turn and scale.

    A later judgement with the same source, person, turn and scale replaces the earlier one.
    """
    return feedback_id(
        key.tenant,
        key.project,
        key.conversation_id,
        source=judgement.source,
        user_id=judgement.user_id,
        agent_id="",
        source_id=key.turn_id if judgement.scale is None else f"{key.turn_id}:{judgement.scale}",
    )


def explicit_event(
    key: TurnKey,
    answer: AgentAnswer,
    judgement: Judgement,
    now: int,
    judge_at: int | None = None,
    user_type: UserType = "human",
    question_message_id: str | None = None,
) -> FeedbackExplicitReceived:
    """Return the event of a judgement received at `now` (microseconds). Pure except for the random event id.

    Consumers replace its time by the log's time (`contracts/log_time.py`). For a log without times, and for older
    consumers, the event's time is at most `now` and at most `judge_at`. The sequence is `now` if the event has an
    earlier time, otherwise None. A retraction drops rating, text, tags and correction.
    """
    latest = now if judge_at is None else min(now, judge_at)
    occurred_at = latest if judgement.ts is None else min(judgement.ts, latest)
    said = (
        judgement
        if judgement.reaction is not None
        else Judgement(judgement.user_id, None, reviews=judgement.reviews, scale=judgement.scale)
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
        question_message_id=question_message_id,
        thread_id=answer.thread_id,
        user_id=said.user_id,
        user_type=user_type,
        reaction=said.reaction,
        text=said.text or None,
        tags=said.tags,
        correction=said.correction or None,
        reviews=said.reviews,
        scale=said.scale,
        **({} if said.rating is None else said.rating._asdict()),
        timed_by_log=True,
        given_at=judgement.ts,
        **answer.provenance.fields(),
    )
