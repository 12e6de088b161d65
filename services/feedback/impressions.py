"""Intake of impressions: reports that a person saw the feedback controls of a turn.

Impressions are written only to the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import uuid4

from contracts.erasure import Person
from contracts.feedback import FeedbackImpressionsReceived, ShownTurn
from contracts.topics import IMPRESSIONS_RECEIVED
from feedback.rate_limit import PersonLimit
from feedback.registry import AgentAnswer, Registry, TurnKey
from feedback.submission import RegistryBehind, TurnProgress, UnknownTurn
from servicekit import Clock, Message, Producer


class ShownPlace(NamedTuple):
    """Conversation whose turns are reported."""

    tenant: str
    project: str
    conversation_id: str


class ImpressionIntake:
    """Intake of impressions.

    Args:
        wait_seconds: Maximum time to wait for the turn registry to catch up with the log if a turn is unknown.
        judge_at: Upper bound for event times in microseconds, as in `ExplicitIntake`.
    """

    def __init__(
        self,
        registry: Registry,
        progress: TurnProgress,
        log: Producer,
        clock: Clock,
        rate_limit: PersonLimit,
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

    async def take(self, place: ShownPlace, user_id: str, turn_ids: Sequence[str], *, limited: bool = True) -> int:
        """Publish one event with all known turns, and wait for the acknowledgement.

        Args:
            limited: False disables the rate limit, for a back end that reports for people without naming them.

        Returns:
            The number of known turns.

        Raises:
            UnknownTurn: None of the turns is known.
            RegistryBehind: A turn is unknown, but may still be in messages that the registry has not read yet.
            LimitReached: The person has sent too many requests.
            LogFull: The log has no room for the event.
            Unavailable: The log or the database does not respond.
        """
        if limited:
            await self._rate_limit.take(Person(place.tenant, user_id))
        wanted = list(dict.fromkeys(turn_ids))
        answers = await self._answers(place, user_id, wanted)
        if len(answers) < len(wanted):

            async def look() -> Mapping[str, AgentAnswer] | None:
                nonlocal answers
                answers = await self._answers(place, user_id, wanted)
                return answers if len(answers) == len(wanted) else None

            found, passed = await self._progress.look_until_read(self._wait_seconds, look)
            if found is None and not passed:
                raise RegistryBehind
        if not answers:
            raise UnknownTurn
        event = impressions_event(place, user_id, answers, self._clock.now(), self._judge_at)
        await self._log.send([Message.of(IMPRESSIONS_RECEIVED, event)])
        return len(answers)

    async def _answers(self, place: ShownPlace, user_id: str, turn_ids: Sequence[str]) -> dict[str, AgentAnswer]:
        """Return the agents' answers by turn id. Turns without an answer are omitted.

        Raises:
            Unavailable: The database does not respond.
        """
        found = await asyncio.gather(*(self._registry.find(TurnKey(*place, turn), user_id) for turn in turn_ids))
        return {
            name: facts.turn.answer
            for name, facts in zip(turn_ids, found, strict=True)
            if facts.turn is not None and facts.turn.answer is not None
        }


def impressions_event(
    place: ShownPlace, user_id: str, answers: Mapping[str, AgentAnswer], now: int, judge_at: int | None = None
) -> FeedbackImpressionsReceived:
    """Return the event for impressions that were received at `now`.

    Times are in microseconds. Pure except for the random event id.

    Args:
        judge_at: Upper bound for the event's time, if given.
    """
    return FeedbackImpressionsReceived(
        event_id=str(uuid4()),
        occurred_at=now if judge_at is None else min(now, judge_at),
        **place._asdict(),
        user_id=user_id,
        turns=tuple(
            ShownTurn(
                turn_id=name,
                agent_id=answer.agent_id,
                agent_version=answer.provenance.agent_version,
                model=answer.provenance.model,
            )
            for name, answer in answers.items()
        ),
    )
