"""Aggregation of the verdicts on a turn into one result per agent. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Literal, NamedTuple
from uuid import UUID

from contracts.effective import TurnReaction, effective, reaction_to_turn
from contracts.feedback import FeedbackAggregated, FeedbackCreated, FeedbackErased
from contracts.ids import conversation_key, derived_id, revision_event_id
from contracts.intervals import mean_reward
from contracts.topics import FEEDBACK_AGGREGATED
from feedback.registry import TurnKey
from servicekit import Message


class CountedVerdict(NamedTuple):
    """Row of the table `aggregated_verdicts`: the latest revision of a feedback record.

    `reaction` and `value` are None for retracted or overruled feedback. For an erased record, only `feedback_id` and
    `revision` are set.
    """

    feedback_id: UUID
    revision: int
    tenant: str | None = None
    project: str | None = None
    conversation_id: str | None = None
    turn_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    origin: str | None = None
    feedback_type: str | None = None
    reaction: str | None = None
    value: float | None = None
    occurred_at: int | None = None

    @property
    def rank(self) -> tuple[int, bool]:
        """Sort key of a record's revisions.

        An erasure sorts after a verdict with the same revision.
        """
        return self.revision, self.user_id is None


class Aggregate(NamedTuple):
    """Row of the table `aggregates`: the aggregated verdicts on an agent's answers in a turn.

    Attributes:
        verdicts: Number of effective verdicts.
        mean: Mean reward from -1 to 1. None if there are no verdicts.
        low: Lower bound of the mean's confidence interval. None if there are no verdicts.
        high: Upper bound of the mean's confidence interval. None if there are no verdicts.
    """

    aggregate_id: UUID
    revision: int
    created_revision: int
    tenant: str
    project: str
    conversation_id: str
    turn_id: str
    agent_id: str
    occurred_at: int
    verdicts: int
    mean: float | None
    low: float | None
    high: float | None

    @property
    def turn(self) -> TurnKey:
        return TurnKey(self.tenant, self.project, self.conversation_id, self.turn_id)


def verdict_of(event: FeedbackCreated | FeedbackErased) -> CountedVerdict | None:
    """Return the row for the verdict that an event announces or erases, or None if the event announces a reply."""
    if isinstance(event, FeedbackErased):
        return CountedVerdict(*event)
    one = reaction_to_turn(event)
    if one is None:
        return None
    said: Any = (one.user_id, one.origin, one.feedback_type, one.reaction, event.value, one.occurred_at)
    return CountedVerdict(one.feedback_id, event.revision, *one.turn, event.agent_id, *said)


def newest_verdicts(verdicts: Iterable[CountedVerdict | None]) -> list[CountedVerdict]:
    """Return the latest revision of each record, sorted by id to avoid deadlocks.

    None values are skipped.
    """
    newest: dict[UUID, CountedVerdict] = {}
    for one in verdicts:
        if one is not None and (one.feedback_id not in newest or one.rank > newest[one.feedback_id].rank):
            newest[one.feedback_id] = one
    return sorted(newest.values(), key=lambda one: one.feedback_id.int)


def sum_up(turn: TurnKey, verdicts: Iterable[CountedVerdict], announced: Iterable[Aggregate]) -> list[Aggregate]:
    """Compute the aggregates of a turn, one per agent.

    An agent without effective verdicts gets an empty aggregate, but only if an aggregate was announced before.

    Args:
        verdicts: All verdicts on the turn.
        announced: The announced aggregates of the turn.

    Returns:
        The aggregates that differ from the announced ones, each with its next revision.
    """
    known = {one.feedback_id: one for one in verdicts}
    held = {one.agent_id: one for one in announced}
    counting: dict[str, list[float]] = {agent_id: [] for agent_id in held}
    for one in effective(_reaction(turn, verdict) for verdict in known.values()):
        verdict = known[one.feedback_id]
        counting.setdefault(str(verdict.agent_id), []).append(verdict.value or 0.0)
    revision = max((one.revision for one in known.values()), default=0)
    occurred = {
        agent_id: max(one.occurred_at or 0 for one in some)
        for agent_id, some in groupby(sorted(known.values(), key=_agent_of), _agent_of)
    }
    sums = [_summed(turn, agent_id, values, occurred.get(agent_id, 0)) for agent_id, values in counting.items()]
    return [_revised(one, held.get(one.agent_id), revision) for one in sums if _differs(one, held)]


def _agent_of(verdict: CountedVerdict) -> str:
    return str(verdict.agent_id)


def _reaction(turn: TurnKey, verdict: CountedVerdict) -> TurnReaction:
    said: Any = (verdict.user_id, verdict.origin, verdict.feedback_type, verdict.reaction, verdict.occurred_at)
    return TurnReaction(verdict.feedback_id, turn, *said)


def _summed(turn: TurnKey, agent_id: str, values: list[float], occurred_at: int) -> Aggregate:
    mean, (low, high) = mean_reward(values) if values else (None, (None, None))
    return Aggregate(derived_id(*turn, agent_id), 0, 0, *turn, agent_id, occurred_at, len(values), mean, low, high)


def _differs(one: Aggregate, held: Mapping[str, Aggregate]) -> bool:
    """Return True unless `held` contains an equal aggregate of the same agent."""
    before = held.get(one.agent_id)
    return before is None or (one.verdicts, one.mean, one.low, one.high) != before[-4:]


def _revised(one: Aggregate, before: Aggregate | None, verdicts_revision: int) -> Aggregate:
    """Return the aggregate with its next revision, in milliseconds.

    Args:
        before: The aggregate that was announced last, or None. The next revision is greater than that of this
            aggregate.
        verdicts_revision: Lower bound for the next revision.
    """
    if before is None:
        return one._replace(revision=verdicts_revision, created_revision=verdicts_revision)
    revision = max(before.revision + 1, verdicts_revision)
    occurred_at = max(before.occurred_at, one.occurred_at)
    return one._replace(revision=revision, created_revision=before.created_revision, occurred_at=occurred_at)


def announcement(one: Aggregate) -> Message:
    """Return the Kafka record that announces an aggregate. Equal aggregates give equal records."""
    change: Literal["created", "updated", "cleared"] = (
        "cleared" if one.verdicts == 0 else "created" if one.revision == one.created_revision else "updated"
    )
    event = FeedbackAggregated(
        event_id=revision_event_id(one.aggregate_id, one.revision),
        occurred_at=one.occurred_at,
        tenant=one.tenant,
        project=one.project,
        aggregate_id=one.aggregate_id,
        change=change,
        revision=one.revision,
        recorded_at=one.revision * 1_000,
        conversation_id=one.conversation_id,
        turn_id=one.turn_id,
        agent_id=one.agent_id,
        count=one.verdicts,
        mean_reward=one.mean,
        interval_low=one.low,
        interval_high=one.high,
    )
    value = event.model_dump_json(by_alias=True).encode()
    conversation = conversation_key(one.tenant, one.project, one.conversation_id)
    return Message(FEEDBACK_AGGREGATED.name, str(one.aggregate_id), value, placed_by=conversation)
