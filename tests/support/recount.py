"""Independent recount of the feedback in an event file, without the services' code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"the shared samples are not at {SAMPLES}")
CHAT_EVENTS = SAMPLES / "chat_events.jsonl"
HOSTILE = SAMPLES / "chat_events_hostile.jsonl"
JUDGED_AT = "2026-11-20T00:00:00Z"
"""Date for which the samples were made."""


REWARDS = {"👍": ("ok", 0.6), "❤️": ("ok", 0.8), "👎": ("not_ok", -0.6)}


class Said(NamedTuple):
    """One live record of a person: its subject, its author, and its content."""

    tenant: str
    conversation: str
    kind: str
    user: str
    about: str
    reaction: str | None


def recount(lines: Iterable[bytes]) -> set[Said]:
    """Return every live reply and reaction to an agent's message, assuming valid lines."""
    events = [json.loads(line) for line in lines]
    agents = {
        (event["tenant"], event["messageId"]): event["agentId"]
        for event in events
        if event["topic"] == "chat.message.ingested" and event["senderType"] == "agent"
    }
    found: set[Said] = set()
    emojis: dict[tuple[str, str, str, str], dict[str, tuple[str, bool]]] = {}
    for event in events:
        if event["topic"] == "chat.message.reply.ingested":
            if (event["tenant"], event["originalMessageId"]) in agents:
                where = event["tenant"], event["conversationId"]
                found.add(Said(*where, "implicit", event["senderId"], event["messageId"], None))
        elif event["topic"] == "chat.message.reaction.ingested" and (event["tenant"], event["messageId"]) in agents:
            key = event["tenant"], event["conversationId"], event["userId"], event["messageId"]
            held = emojis.setdefault(key, {})
            change = event["occurredAt"], event["action"] == "added"
            held[event["emoji"]] = max(held.get(event["emoji"], change), change)
    for (tenant, conversation, user, message), held in emojis.items():
        present = [(at, emoji) for emoji, (at, added) in held.items() if added]
        if present:
            reaction, _ = REWARDS[max(present)[1]]
            found.add(Said(tenant, conversation, "reaction", user, message, reaction))
    return found


def lines_of(file: Path) -> list[bytes]:
    return [line for line in file.read_bytes().split(b"\n") if line.strip()]
