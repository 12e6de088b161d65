"""Names the optional fields of inbound events that are dropped if invalid, so that the event is still accepted.

Unknown fields are ignored. When a model gains a field, producers that use its name differently must stay accepted.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from contracts.base import Envelope

DECISIVE: Final = frozenset({"version", "sequence", "turn_id", "reply_to_message_id", "agent_id", "action"})
"""Optional fields whose loss would change an event's meaning: if invalid, the event is refused. Add no field."""


@cache
def droppable(model: type[Envelope]) -> frozenset[str]:
    """Return the wire names of the model's optional fields that are not decisive."""
    fields = model.model_fields.items()
    return frozenset(one.alias or name for name, one in fields if not one.is_required() and name not in DECISIVE)
