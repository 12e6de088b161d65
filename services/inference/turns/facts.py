"""Extraction of facts about turns from messages. No I/O.

Facts can be merged in any order with the same result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from contracts.base import TEXT_LIMIT
from contracts.chat import words_of
from contracts.message_fields import TurnKey
from contracts.versions import MessageEvent, message_in, version_of
from inference.model import IndexedMessage


class Question(NamedTuple):
    """A person's question.

    If several questions are known for a turn, the one with the highest (version, message_id, text) is used.

    As long as the turn has no answer, `version` is that of the person's message. The question of an answer has the
    greater version `looked_up(evaluation)`, with the evaluation of the answer. If the answer has no question, all other
    fields are None.
    """

    version: bytes
    message_id: str | None = None
    user_id: str | None = None
    text: str | None = None


class Reply(NamedTuple):
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

        The earlier time and the later question and answer are kept.
        """
        times = [time for time in (self.at, other.at) if time is not None]
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
    message, version = message_in(event), version or version_of(event)
    key = TurnKey(message.tenant, message.project, message.conversation_id, message.turn_id or message.message_id)
    text, sent_at = words_of(message.content)[:TEXT_LIMIT], message.occurred_at
    if message.sender_type == "human" or message.agent_id is None:
        return Facts(key, sent_at, question=Question(version, message.message_id, message.sender_id, text))
    details = message.intent, message.strategy, message.validation_outcome, message.quality_score
    origin = message.track_id, message.bundle_id
    reply = Reply(version, message.message_id, message.agent_id, text, *details, *origin)
    return Facts(key, sent_at, reply=reply)


def joined(facts: Iterable[Facts]) -> list[Facts]:
    """Merge the facts about each turn, and return one object per turn, sorted by key."""
    turns: dict[TurnKey, Facts] = {}
    for fact in facts:
        turns[fact.key] = turns[fact.key].joined(fact) if fact.key in turns else fact
    return [turns[key] for key in sorted(turns)]


def looked_up(evaluation: int) -> bytes:
    """Return the version of the question that was looked up for an answer.

    The version increases with `evaluation` and is greater than the version of any message.
    """
    return b"\xff" + evaluation.to_bytes(8)


def answered(answer: IndexedMessage, question: IndexedMessage | None) -> Facts:
    """Return the facts about an answer's turn: its question, or that it has none."""
    key = TurnKey(*answer.conversation, answer.message.turn_id)
    version = looked_up(answer.evaluation)
    if question is None:
        return Facts(key, question=Question(version))
    message = question.message
    return Facts(key, question=Question(version, message.message_id, message.sender_id, message.text))


def _later(*facts: Ranked | None) -> Ranked | None:
    return max((fact for fact in facts if fact is not None), key=_rank, default=None)


def _rank(fact: Question | Reply) -> tuple[bytes, str, str]:
    return fact.version, fact.message_id or "", fact.text or ""
