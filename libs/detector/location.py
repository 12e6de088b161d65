"""Location of the earlier agent message that feedback is about."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Final

from detector.model import Message, Target, TargetRule
from detector.text import Prepared

SIMILARITY_WEIGHT: Final = 0.85
RECENCY_WEIGHT: Final = 0.15
TOP_K: Final = 5
MAX_AGE_US: Final = 365 * 24 * 3600 * 1_000_000

#: Share of shared words in the similarity; the rest is the cosine. High, so that a message without names ("I don't like
#: it") does not move to an earlier answer for a small difference in cosine.
WORDS: Final = 0.8


_JUDGING: Final = """
wrong right correct incorrect error errors mistake bad good great nice perfect fine better best worse thank thanks job
work works working worked like liked love loved hate help helps helpful answer answers said meant want wanted need still
again never earlier before previous first last one ok okay yes bug problem broken fails failed fail idea try really
actually sorry please well done sounds sound looks look seems seem thing things else recommend suggest way lot bit
"""
#: Words that judge an answer or refer to one without naming its content.
JUDGING: Final = frozenset(_JUDGING.split())
#: Weight of such a word relative to others: it may be part of a title.
JUDGED: Final = 0.75


def named(message: Prepared) -> frozenset[str]:
    """Return the words of a message that may name the content of an answer."""
    return message.content - JUDGING


def likeness(
    message: Prepared, candidates: Sequence[Prepared], cosines: Sequence[float], requests: Sequence[Prepared] = ()
) -> list[float]:
    """Return the similarity in [0, 1] of a message to each candidate, from shared words, rare ones first, and the
    cosines.

    `requests` are the questions behind the candidates. They are compared if no answer has a word that the message
    names.
    """
    words = named(message)
    if requests and not any(c.content & words for c in candidates):
        shared = [r.content & message.content for r in requests]
    else:
        shared = [c.content & message.content for c in candidates]
    seen = Counter(chain.from_iterable(shared))
    # fsum does not depend on the order of a set.
    weights = {
        word: math.log1p(len(candidates) / (seen[word] or 1)) * (JUDGED if word in JUDGING else 1.0)
        for word in message.content
    }
    whole = math.fsum(weights.values()) or 1.0
    return [
        WORDS * (math.fsum(weights[word] for word in own) / whole if own else 0.0) + (1 - WORDS) * cosine
        for own, cosine in zip(shared, cosines, strict=True)
    ]


def score(similarity: float, turns_back: int) -> float:
    """Return the probability that a message is about an answer of that similarity and distance (1: the latest)."""
    return SIMILARITY_WEIGHT * similarity + RECENCY_WEIGHT / turns_back


def locate(
    candidates: Sequence[Message], similarity: Sequence[float], now: int, top_k: int = TOP_K
) -> tuple[Target, ...]:
    """Return the `top_k` best targets, best first.

    `candidates` are agent messages by time, `similarity` their similarity to the judged message in [0, 1]. Recency is 1
    for the latest agent message, then 1/2, 1/3, ... Candidates more than 365 days older than `now` are excluded; later
    ones than `now` (a clock that went backwards) are included.
    """
    scored = [
        target
        for place, alike in enumerate(similarity)
        if (target := place_at(candidates, place, alike, now)) is not None
    ]
    scored.sort(key=lambda one: (-one.score, one.turns_back))
    return tuple(scored[:top_k])


def place_at(
    candidates: Sequence[Message], place: int, similarity: float, now: int, rule: TargetRule = "own_latest"
) -> Target | None:
    """Return `candidates[place]` as a target, or None if it is more than 365 days older than `now`."""
    message = candidates[place]
    if now - message.at > MAX_AGE_US:
        return None
    turns_back = len(candidates) - place
    alike = min(1.0, max(0.0, float(similarity)))
    return Target(
        turn_id=message.turn_id,
        message_id=message.message_id,
        agent_id=message.agent_id or message.sender_id,
        score=round(score(alike, turns_back), 6),
        similarity=round(alike, 6),
        recency=round(1.0 / turns_back, 6),
        turns_back=turns_back,
        rule=rule,
    )
