"""Which earlier agent message a feedback is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from inference.model import Message, Target

SIMILARITY_WEIGHT: Final = 0.85
RECENCY_WEIGHT: Final = 0.15
TOP_K: Final = 5
MAX_AGE_US: Final = 365 * 24 * 3600 * 1_000_000


def locate(
    candidates: Sequence[Message], similarity: Sequence[float], now: int, top_k: int = TOP_K
) -> tuple[Target, ...]:
    """The `top_k` best targets, best first.

    `candidates` are agent messages in order of time, `similarity` their likeness to the judged message in [0, 1].
    Recency falls with the number of agent messages in between: 1 for the latest, 1/2, 1/3, ... A candidate older than
    365 days before `now` is none; one that lies in the future (a clock that went backwards) is kept.
    """
    found = []
    for place, (message, alike) in enumerate(zip(candidates, similarity, strict=True)):
        if now - message.at > MAX_AGE_US:
            continue
        turns_back = len(candidates) - place
        recency = 1.0 / turns_back
        alike = min(1.0, max(0.0, float(alike)))
        found.append(
            Target(
                turn_id=message.turn_id,
                message_id=message.message_id,
                agent_id=message.agent_id or message.sender_id,
                score=SIMILARITY_WEIGHT * alike + RECENCY_WEIGHT * recency,
                similarity=alike,
                recency=recency,
                turns_back=turns_back,
            )
        )
    return tuple(sorted(found, key=lambda t: (-t.score, t.turns_back)))[:top_k]
