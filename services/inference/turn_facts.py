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
    """What a person asked. Of two the one with the higher (order, message_id, text) stands.

    `order` is the message's time in microseconds where it names the turn itself. An answer that is a turn of its own
    answers the latest human message shortly before it, or none (then the other fields are None): there `order` is the
    evaluation of the answer, far below any time.
    """

    order: int
    message_id: str | None = None
    user_id: str | None = None
    text: str | None = None

    @property
    def rank(self) -> tuple[int, str, str]:
        return self.order, self.message_id or "", self.text or ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What an agent answered, and what the platform told of it. The greatest (said_at, message_id, text) stands."""

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
    def rank(self) -> tuple[int, str, str]:
        return self.said_at, self.message_id, self.text


Ranked = TypeVar("Ranked", Question, Reply)


@dataclass(frozen=True, slots=True)
class Facts:
    """Something known of a turn. `at` is the time of the earliest message known of it."""

    key: TurnKey
    at: int | None = None
    question: Question | None = None
    reply: Reply | None = None

    @property
    def texts(self) -> list[str]:
        """What was asked and answered, as far as it is known and says anything."""
        told = (self.question.text if self.question else None, self.reply.text if self.reply else None)
        return [text for text in told if text]

    def joined(self, other: Facts) -> Facts:
        """What both know together; of two of one rank the held one stays."""
        times = [at for at in (self.at, other.at) if at is not None]
        return replace(
            self,
            at=min(times, default=None),
            question=_later(self.question, other.question),
            reply=_later(self.reply, other.reply),
        )


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
    """What those agent messages of an ordered stretch answer that are turns of their own, from the first arrived
    message on: the latest human message among the `NEIGHBOURHOOD` before each. None is told, too, for an earlier look
    may have found one that a message has moved away from since.
    """
    found: list[Facts] = []
    latest: tuple[int, Message] | None = None
    touched = False
    for index, placed in enumerate(stretch):
        message = placed.indexed.message
        touched = touched or placed.indexed.key in arrived
        if message.role == "human":
            latest = index, message
        elif touched and message.turn_id == message.message_id:
            near = latest if latest and index - latest[0] <= NEIGHBOURHOOD else None
            found.append(_asked(placed, near[1] if near else None))
    return found


def joined(facts: Iterable[Facts]) -> list[Facts]:
    """One per turn, by key."""
    known: dict[TurnKey, Facts] = {}
    for one in facts:
        held = known.get(one.key)
        known[one.key] = one if held is None else held.joined(one)
    return [known[key] for key in sorted(known)]


def _asked(answer: Placed, question: Message | None) -> Facts:
    key = TurnKey(*answer.indexed.conversation, answer.indexed.message.turn_id)
    if question is None:
        return Facts(key, question=Question(answer.evaluation))
    asked = Question(answer.evaluation, question.message_id, question.sender_id, question.text)
    return Facts(key, question=asked)


def _later(held: Ranked | None, other: Ranked | None) -> Ranked | None:
    if held is None or other is None:
        return held or other
    return other if other.rank > held.rank else held
