"""Record to publish, with its expected outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from proofs.chaos.poison import Headers

MESSAGE, REPLY, REACTION = "chat.message.ingested", "chat.message.reply.ingested", "chat.message.reaction.ingested"
EXPLICIT = "feedback.explicit.received"
Fate = Literal["good", "poison", "hostile", "harmless", "either"]
"""Good records are counted, poison becomes a dead letter. Records of the hostile sample must, must not, or may
become one."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One record to publish. `scattered`: on any partition, without a key; `wait` in seconds before it is sent."""

    topic: str
    key: str
    value: bytes | None
    headers: Headers
    fate: Fate
    kind: str
    scattered: bool
    wait: float
