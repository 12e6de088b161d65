"""One record on its way out, and what must become of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from chaos.poison import Headers

MESSAGE, REPLY, REACTION = "chat.message.ingested", "chat.message.reply.ingested", "chat.message.reaction.ingested"
EXPLICIT = "feedback.explicit.received"
Fate = Literal["good", "poison", "hostile", "harmless", "either"]
"""Good is counted, poison goes to the dead letters. Of the hostile sample: must go there, must not, or may."""


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
