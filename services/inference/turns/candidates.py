"""Selection of the turns that a message may be about, among all answers the person has received. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from contracts.message_fields import TurnKey
from detector.location import TOP_K, likeness, score
from detector.model import Target
from detector.text import prepare
from inference.model import ConversationKey


@dataclass(frozen=True, slots=True)
class Answered:
    """An answered turn of a person.

    Attributes:
        turns_back: Position among the person's answered turns, counted from 1 for the latest.
        cosine: Cosine similarity of the answer and the message, from 0 to 1; 0 if unknown.
    """

    key: TurnKey
    message_id: str
    agent_id: str
    text: str
    turns_back: int
    cosine: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A turn, in any conversation, that a message may be about."""

    conversation: ConversationKey
    target: Target


def candidates(text: str, answered: Iterable[Answered], top_k: int = TOP_K) -> tuple[Candidate, ...]:
    """Return the `top_k` turns that `text` is most probably about, best first.

    Of turns with the same score, the later one comes first.
    """
    ordered = sorted(answered, key=lambda answer: (answer.turns_back, answer.key))
    cosines = [answer.cosine for answer in ordered]
    alike = likeness(prepare(text), [prepare(answer.text) for answer in ordered], cosines)
    results = [
        Candidate(
            ConversationKey(*answer.key[:3]),
            Target(
                turn_id=answer.key.turn_id,
                message_id=answer.message_id,
                agent_id=answer.agent_id,
                score=round(score(similarity, answer.turns_back), 6),
                similarity=round(similarity, 6),
                recency=round(1.0 / answer.turns_back, 6),
                turns_back=answer.turns_back,
            ),
        )
        for answer, similarity in zip(ordered, alike, strict=True)
    ]
    return tuple(sorted(results, key=lambda candidate: -candidate.target.score)[:top_k])
