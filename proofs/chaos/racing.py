"""The load of concurrent writers: many judgements of the same few feedback records. No I/O."""

from __future__ import annotations

import json
import random

from contracts.instants import format_instant
from proofs.chaos.outgoing import EXPLICIT, Outgoing

SECOND = 1_000_000


def races(seed: int, count: int, now: int, about: int | None = None) -> tuple[list[Outgoing], list[Outgoing]]:
    """Return `count` judgements for each of two writers, of two people on five turns of this race only.

    A lost write shows only if no later one covers it, so every race uses new turns; races with the same `about` use the
    same turns.
    """
    left, right = (_judgements(seed, writer, count, now, about or now) for writer in ("left", "right"))
    return left, right


def _judgements(seed: int, writer: str, count: int, now: int, about: int) -> list[Outgoing]:
    rng = random.Random(f"{seed}-{writer}-{now}")
    found = []
    for n in range(count):
        event = {
            "eventId": f"hot{seed}-{writer}-{now}-{n}",
            "occurredAt": format_instant(now - rng.randrange(3_600 * SECOND)),
            "tenant": "north",
            "project": "p1",
            "conversationId": f"hot{seed}",
            "turnId": f"hot{seed}-{about}-{rng.randrange(5)}",
            "agentId": "agent-1",
            "userId": f"user-{rng.randrange(2)}",
            "reaction": rng.choice(("ok", "not_ok", "neutral", None)),
            "text": f"{writer} {n}",
        }
        key, value = f"north/p1/hot{seed}", json.dumps(event).encode()
        found.append(Outgoing(EXPLICIT, key, value, [], "good", "event", scattered=True, wait=0.0))
    return found
