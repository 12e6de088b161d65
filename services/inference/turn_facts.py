"""What messages tell of their turns. Facts about a turn join in any order to the same turn. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from contracts.base import TEXT_LIMIT
from contracts.chat import ChatMessageIngested
from inference.model import NEIGHBOURHOOD, Message
from inference.store import MessageKey, Placed
from inference.turns import TurnKey


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asked. Of two the one with the higher (order, message_id) stands.

    `order` is the message's time in microseconds where it names the turn itself. An answer that is a turn of its own
    answers the latest human message before it: there `order` is the evaluation of the answer, far below any time.
    """

    order: int
    message_id: str
    user_id: str
    text: str

    @property
    def rank(self) -> tuple[int, str]:
        return self.order, self.message_id


@dataclass(frozen=True, slots=True)
class Reply:
    """What an agent answered, and what the platform told of it. The latest (said_at, message_id) stands."""

    said_at: int
    message_id: str
    agent_id: str
    text: str
    intent: str | None = None
    strategy: str | None = None
    validation_outcome: str | None = None
    quality_score: float | None = None
    track_id: str | None = None
    bundle_id: str | None = None

    @property
    def rank(self) -> tuple[int, str]:
        return self.said_at, self.message_id


Ranked = TypeVar("Ranked", Question, Reply)


@dataclass(frozen=True, slots=True)
class Facts:
    """Something known of a turn. `at` is the time of the earliest message known of it."""

    key: TurnKey
    at: int | None = None
    question: Question | None = None
    reply: Reply | None = None

    def joined(self, other: Facts) -> Facts:
        """What both know together; of two of one rank the held one stays."""
        times = [at for at in (self.at, other.at) if at is not None]
        return replace(
            self,
            at=min(times, default=None),
            question=_later(self.question, other.question),
            reply=_later(self.reply, other.reply),
        )

    @property
    def text(self) -> str | None:
        """What the turn's vector is made of: the answer first, then the question; None without an answer."""
        return turn_text(self.reply.text, self.question.text if self.question else None) if self.reply else None


def turn_text(answer: str, question: str | None) -> str:
    """The text of a whole turn."""
    return f"{answer}\n{question}" if question else answer


def facts_of(event: ChatMessageIngested) -> Facts:
    """What a message tells of the turn it names; one that names none is a turn of its own."""
    key = TurnKey(event.tenant, event.project, event.conversation_id, event.turn_id or event.message_id)
    text, at = event.content[:TEXT_LIMIT], event.occurred_at
    if event.sender_type == "human" or event.agent_id is None:
        return Facts(key, at, question=Question(at, event.message_id, event.sender_id, text))
    reply = Reply(
        said_at=at,
        message_id=event.message_id,
        agent_id=event.agent_id,
        text=text,
        intent=event.intent,
        strategy=event.strategy,
        validation_outcome=event.validation_outcome,
        quality_score=event.quality_score,
        track_id=event.track_id,
        bundle_id=event.bundle_id,
    )
    return Facts(key, at, reply=reply)


def questions_of(stretch: Sequence[Placed], arrived: Collection[MessageKey]) -> list[Facts]:
    """What the agent messages of an ordered stretch answer, as far as an arrived message may bear on it."""
    found: list[Facts] = []
    by_turn: dict[str, list[Placed]] = {}
    latest: Placed | None = None
    since_arrival = NEIGHBOURHOOD + 1
    for placed in stretch:
        message = placed.indexed.message
        came = placed.indexed.key in arrived
        since_arrival = 0 if came else since_arrival + 1
        if message.role == "human":
            by_turn.setdefault(message.turn_id, []).append(placed)
            latest = placed
        elif message.turn_id == message.message_id:
            if latest is not None and since_arrival <= NEIGHBOURHOOD:
                found.append(_asked(placed, latest.indexed.message, placed.evaluation))
        elif came:
            found += [_asked(placed, q.indexed.message, q.indexed.said_at) for q in by_turn.get(message.turn_id, ())]
    return found


def collapse(facts: Iterable[Facts]) -> list[Facts]:
    """One per turn, by key."""
    joined: dict[TurnKey, Facts] = {}
    for one in facts:
        held = joined.get(one.key)
        joined[one.key] = one if held is None else held.joined(one)
    return [joined[key] for key in sorted(joined)]


def _asked(answer: Placed, question: Message, order: int) -> Facts:
    key = TurnKey(*answer.indexed.conversation, answer.indexed.message.turn_id)
    return Facts(key, question=Question(order, question.message_id, question.sender_id, question.text))


def _later(held: Ranked | None, other: Ranked | None) -> Ranked | None:
    if held is None or other is None:
        return held or other
    return other if other.rank > held.rank else held
