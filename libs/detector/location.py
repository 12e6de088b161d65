"""Find the agent's message that feedback is about.

This is the latest answer, unless the words of the person's message point to an older one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

import numpy as np

from detector.addressing import Exchange
from detector.encoders.embedder import Embedder
from detector.evidence import Evidence
from detector.model import NEIGHBOURHOOD, Message, Target, TargetRule
from detector.patterns import Kinds
from detector.text import Prepared, cap, may_contain, prepare
from detector.words import JUDGING, names_in

SIMILARITY_WEIGHT: Final = 0.85
RECENCY_WEIGHT: Final = 0.15
TOP_K: Final = 5
MAX_AGE_US: Final = 365 * 24 * 3600 * 1_000_000

#: Weight of shared words in the similarity; the rest is the weight of the cosine. It is high, because a small
#: difference in cosine must not move a message such as "I don't like it" to an earlier answer.
WORDS: Final = 0.8
#: Weight of a word that judges (`JUDGING`) relative to other words. It is not 0, because such a word may be in a title.
JUDGED: Final = 0.75
#: Minimum share of common topic words, relative to the answer with fewer, at which an answer revises another.
REVISED: Final = 0.4

#: Restatements of the writer's own request, which are usually about the latest answer.
_RESTATES: Final = re.compile(
    r"\b(?:i (?:said|meant|mean|asked|told|wrote|wanted|want|need)|make it|still"
    r"|ich (?:meinte|meine|sagte|wollte|will)|(?:hatte|habe|hab) ich|immer noch"
    r"|j'ai (?:dit|demandé)|je (?:voulais|veux|parlais)|toujours|dije|quería|quiero|todavía)\b"
)
_RESTATING: Final[Kinds] = frozenset({"restate", "meant"})
#: References to an answer before the latest.
_POINTS_BACK: Final = re.compile(
    r"\b(?:you (?:wrote|gave|said|sent|told|suggested|mentioned|made|recommended|showed|listed)|earlier|previous(?:ly)?"
    r"|before|(?:the|your) first|above|from (?:just now|this morning|yesterday)|ago|in your|your \w+"
    r"|vorhin|vorher|von (?:eben|oben)|dein\w*|(?:du|sie) (?:\w+ )?(?:geschrieben|gesagt|empfohlen|vorgeschlagen)"
    r"|tout à l'heure|plus tôt|ton|ta|votre|tu m'as|de antes|antes|primer[oa]?|tu)\b"
)


def likeness(
    message: Prepared, candidates: Sequence[Prepared], cosines: Sequence[float], requests: Sequence[Prepared] = ()
) -> list[float]:
    """Return the similarity, in [0, 1], of a message to each candidate.

    The similarity combines shared words and cosines. Rare words have more weight than frequent ones.

    Args:
        message: The person's message.
        candidates: The agents' messages.
        cosines: The cosine of the message and each candidate.
        requests: The questions behind the candidates. Their words are used instead of the candidates' words if no
            candidate contains a word of the message that may name a topic.
    """
    words = message.content - JUDGING
    if requests and not any(c.content & words for c in candidates):
        shared = [r.content & message.content for r in requests]
    else:
        shared = [c.content & message.content for c in candidates]
    seen = Counter(chain.from_iterable(shared))
    # fsum, because a set has no fixed order and the sum must not depend on it.
    weights = {
        word: math.log1p(len(candidates) / (seen[word] or 1)) * (JUDGED if word in JUDGING else 1.0)
        for word in message.content
    }
    total = math.fsum(weights.values()) or 1.0
    return [
        WORDS * (math.fsum(weights[word] for word in own) / total if own else 0.0) + (1 - WORDS) * cosine
        for own, cosine in zip(shared, cosines, strict=True)
    ]


def score(similarity: float, turns_back: int) -> float:
    """Return the score of an answer, computed from its similarity and its distance (see `Target`).

    `turns_back` is 1 for the latest message of an agent, 2 for the one before, and so on.
    """
    return SIMILARITY_WEIGHT * similarity + RECENCY_WEIGHT / turns_back


def locate(
    candidates: Sequence[Message], similarity: Sequence[float], now: int, top_k: int = TOP_K
) -> tuple[Target, ...]:
    """Return the `top_k` most probable targets of a message, best first.

    Candidates more than 365 days older than `now` are skipped. Candidates later than `now` are kept, because clocks may
    differ.

    Args:
        candidates: The agents' messages, sorted by time.
        similarity: The similarity, in [0, 1], of each candidate to the message.
        now: The time of the message, in microseconds since the epoch.
        top_k: The maximum number of targets.
    """
    scored = [
        target
        for index, alike in enumerate(similarity)
        if (target := place_at(candidates, index, alike, now)) is not None
    ]
    scored.sort(key=lambda target: (-target.score, target.turns_back))
    return tuple(scored[:top_k])


def place_at(
    candidates: Sequence[Message], index: int, similarity: float, now: int, rule: TargetRule = "own_latest"
) -> Target | None:
    """Return `candidates[index]` as a target, or None if it is more than 365 days older than `now`."""
    message = candidates[index]
    if now - message.at > MAX_AGE_US:
        return None
    turns_back = len(candidates) - index
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


def named_alone(
    names: frozenset[str], answer: Prepared, request: Prepared, latest: frozenset[str], *, points_back: bool
) -> frozenset[str]:
    """Return the words of `names` that occur in an older answer, but not in the latest request and answer.

    The result is empty unless it has more words than the latest request and answer have words of `names`.

    Args:
        names: The words of the message that may name a topic.
        answer: The older answer.
        request: The question behind the older answer. Its words count like those of the answer if `points_back` is
            True, or if `latest` contains neither a word of `names` nor a word of the older question and answer.
        latest: The topic words of the latest request and answer.
        points_back: True if the message refers to an earlier answer.
    """
    shared = names & latest
    elsewhere = not shared and not (answer.content | request.content) & latest
    words = answer.content | request.content if points_back or elsewhere else answer.content
    alone = (names & words) - latest
    return alone if len(alone) > len(shared) else frozenset()


def revises(latest: Prepared, older: Prepared, language: str) -> bool:
    """Return True if the latest answer revises an older one, i.e. if they have many topic words in common."""
    earlier, again = topics_of((older,), language), topics_of((latest,), language)
    return len(earlier & again) >= REVISED * max(1, min(len(earlier), len(again)))


def topics_of(texts: tuple[Prepared, ...], language: str) -> frozenset[str]:
    """Return the words of texts in the given language that may name a topic."""
    return frozenset[str]().union(*(names_in(text.content, language) for text in texts))


def ranked(
    x: Exchange, e: Evidence, embedder: Embedder, top_k: int = TOP_K, names: Collection[str] | None = None
) -> tuple[Target, ...]:
    """Return the `top_k` best candidates as targets, ranked by a score that combines similarity and recency.

    With `names`, only the candidates with these ids are embedded, and the other targets have no cosine.
    """
    texts = [candidate.text for candidate in x.candidates]
    requests = [request.text if request else "" for request in x.requests]
    alike = [[prepare(t if may_contain(t, e.message.content) else "") for t in side] for side in (texts, requests)]
    read = [n for n, candidate in enumerate(x.candidates) if names is None or candidate.message_id in names]
    vectors = embedder.embed([x.message.text, *(texts[number] for number in read)])
    matrix = np.zeros((len(texts), embedder.dimension), np.float32)
    matrix[read] = vectors[1:]
    cosines = np.clip(matrix @ vectors[0], 0.0, 1.0).tolist()
    return locate(x.candidates, likeness(e.message, alike[0], cosines, alike[1]), x.message.at, top_k)


def addressed_target(x: Exchange, e: Evidence) -> Target | None:
    """Return a target for the answer that the message is addressed to, or None if there is no such answer."""
    if x.answered is None:
        return None
    index = len(x.candidates) - 1 - x.candidates[::-1].index(x.answered)
    return place_at(x.candidates, index, e.answer_similarity, x.message.at, x.address.rule)


def older_named(x: Exchange, e: Evidence, embedder: Embedder) -> Target | None:
    """Return an older answer that the message names, or None if there is no such answer.

    The message must contain words that occur only in the older answer or its request, and more of them than words of
    the latest exchange. If it restates a request, which is usually about the latest answer, neither the message nor the
    older exchange may contain a topic word of the latest exchange.
    """
    if x.answered is None or x.address.rule == "named":
        return None
    names = names_in(e.message.content, e.language)
    latest = topics_of((e.answer, e.request), e.language)
    is_restated = bool(_RESTATING & e.kinds) or _RESTATES.search(e.message.text) is not None
    if is_restated and names & latest:
        return None
    names_alone = names - latest
    if not may_contain("\n".join([cap(message.text) for message in x.before]), names_alone):
        return None
    near = {message.message_id for message in x.before if may_contain(message.text, names_alone)}
    exchanges = {
        answer.message_id: (prepare(answer.text), prepare(request.text if request else ""))
        for answer, request in zip(x.candidates, x.requests, strict=True)
        if not near.isdisjoint({answer.message_id, request.message_id if request else ""})
    }
    words = ((answer.content | request.content) & names_alone for answer, request in exchanges.values())
    counts = Counter(chain.from_iterable(words))
    names -= {word for word, count in counts.items() if count > 1}
    is_back = _POINTS_BACK.search(e.message.text) is not None
    named = {
        message_id
        for message_id, texts in exchanges.items()
        if named_alone(names, *texts, latest, points_back=is_back)
        and not revises(e.answer, texts[0], e.language)
        and not (is_restated and topics_of(texts, e.language) & latest)
    }
    if not named:
        return None
    best = next((target for target in ranked(x, e, embedder, NEIGHBOURHOOD, named) if target.message_id in named), None)
    return replace(best, rule="older_named") if best else None  # None if all named answers are too old
