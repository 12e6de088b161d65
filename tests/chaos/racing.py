"""The load of writers that race each other: many judgements on the same few feedbacks. Pure."""

from __future__ import annotations

import json
import random

from chaos.outgoing import EXPLICIT, Outgoing
from contracts.instants import format_instant

SECOND = 1_000_000


def hot_explicit(seed: int, writer: str, count: int, now: int) -> list[Outgoing]:
    """Judgements of a few people on a few turns, for writers that race each other on the same feedbacks."""
    rng = random.Random(f"{seed}-{writer}-{now}")
    found = []
    for n in range(count):
        hot = rng.randrange(5)
        event = {
            "eventId": f"hot{seed}-{writer}-{now}-{n}",
            "occurredAt": format_instant(now - rng.randrange(3_600 * SECOND)),
            "tenant": "north",
            "project": "p1",
            "conversationId": f"hot{seed}",
            "turnId": f"hot{seed}-{hot}",
            "agentId": "agent-1",
            "userId": f"user-{rng.randrange(2)}",
            "reaction": rng.choice(("ok", "not_ok", "neutral", None)),
            "text": f"{writer} {n}",
        }
        key, value = f"north/p1/hot{seed}", json.dumps(event).encode()
        found.append(Outgoing(EXPLICIT, key, value, [], "good", "event", scattered=True, wait=0.0))
    return found
