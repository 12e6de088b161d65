"""Extraction of facts about turns from messages. No I/O.

Facts can be merged in any order with the same result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from contracts.base import TEXT_LIMIT
from contracts.chat import words_of
from contracts.exchange import question_of
from contracts.versions import COPY, MessageEvent, message_in, version_of
from detector.addressing import exchange_message
from detector.model import NEIGHBOURHOOD
from detector.preceding import SAME_INSTANT
from inference.neighbours import MessageRange
from inference.store import Placed
from inference.turns.rules import TurnKey


@dataclass(frozen=True, slots=True)
class Question:
    """A person's question.

    If a turn has several questions, the one with the highest (version, message_id, text) is used.

    If the person's message names its turn, `version` is the version of that message.

    An answer without a turn id is a turn of its own, and the detector looks for its question among the preceding
    messages. For such a question, `version` is `looked_at(evaluation)`, where `evaluation` is that of the answer. This
    is lower than the version of any message. If the detector finds no question, all other fields are None.
    """

    version: bytes
    message_id: str | None = None
    user_id: str | None = None
    text: str | None = None

    @property
    def rank(self) -> tuple[bytes, str, str]:
        return self.version, self.message_id or "", self.text or ""


@dataclass(frozen=True, slots=True)
class Reply:
    """An agent's answer with its provenance.

    If a turn has several answers, the one with the highest (version, message_id, text) is used.
    """

    version: bytes
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
    def rank(self) -> tuple[bytes, str, str]:
        return self.version, self.message_id, self.text


Ranked = TypeVar("Ranked", Question, Reply)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a turn. `at` is the time of its earliest known message, in microseconds."""

    key: TurnKey
    at: int | None = None
    question: Question | None = None
    reply: Reply | None = None

    @property
    def texts(self) -> list[str]:
        """The known, non-empty texts of the question and the answer."""
        both = (self.question.text if self.question else None, self.reply.text if self.reply else None)
        return [text for text in both if text]

    def joined(self, other: Facts) -> Facts:
        """Merge these facts with other facts about the same turn.

        If both have the same rank, the facts of this object are kept.
        """
        times = [at for at in (self.at, other.at) if at is not None]
        return replace(
            self,
            at=min(times, default=None),
            question=_later(self.question, other.question),
            reply=_later(self.reply, other.reply),
        )


def facts_of(event: MessageEvent, version: bytes | None = None) -> Facts:
    """Return the facts that a message provides about its turn.

    A message without a turn id is a turn of its own.

    Args:
        version: The result of `version_of(event)`, if the caller has already computed it.
    """
    said, version = message_in(event), version or version_of(event)
    key = TurnKey(said.tenant, said.project, said.conversation_id, said.turn_id or said.message_id)
    text, at = words_of(said.content)[:TEXT_LIMIT], said.occurred_at
    if said.sender_type == "human" or said.agent_id is None:
        return Facts(key, at, question=Question(version, said.message_id, said.sender_id, text))
    reply = Reply(
        version=version,
        message_id=said.message_id,
        agent_id=said.agent_id,
        text=text,
        intent=said.intent,
        strategy=said.strategy,
        validation_outcome=said.validation_outcome,
        quality_score=said.quality_score,
        track_id=said.track_id,
        bundle_id=said.bundle_id,
    )
    return Facts(key, at, reply=reply)


def questions_of(span: MessageRange) -> list[Facts]:
    """Find the questions of the dependent answers in a range that have no turn id.

    Each such answer is a turn of its own. The questions of other answers cannot have changed. An answer for which no
    question is found is included in the result, because it may have had a question before.
    """
    found: list[Facts] = []
    for number in span.dependent:
        placed = span.rows[number]
        message = placed.indexed.message
        if message.role == "agent" and message.turn_id == message.message_id:
            first = max(0, number - NEIGHBOURHOOD)
            near = span.rows[first : number + SAME_INSTANT + 1]
            parts = [exchange_message(one.indexed.message, place) for place, one in enumerate(near)]
            question = question_of(parts[number - first], parts)
            found.append(_asked(placed, None if question is None else near[parts.index(question)]))
    return found


def joined(facts: Iterable[Facts]) -> list[Facts]:
    """Merge the facts about each turn, and return one object per turn, sorted by key."""
    known: dict[TurnKey, Facts] = {}
    for one in facts:
        held = known.get(one.key)
        known[one.key] = one if held is None else held.joined(one)
    return [known[key] for key in sorted(known)]


def looked_at(evaluation: int) -> bytes:
    """Return the version of a question that the detector found among the messages before an answer.

    The version increases with `evaluation` and is lower than the version of any message.
    """
    return COPY + evaluation.to_bytes(8)


def _asked(answer: Placed, question: Placed | None) -> Facts:
    key = TurnKey(*answer.indexed.conversation, answer.indexed.message.turn_id)
    version = looked_at(answer.evaluation)
    if question is None:
        return Facts(key, question=Question(version))
    message = question.indexed.message
    return Facts(key, question=Question(version, message.message_id, message.sender_id, message.text))


def _later(held: Ranked | None, other: Ranked | None) -> Ranked | None:
    if held is None or other is None:
        return held or other
    return other if other.rank > held.rank else held
