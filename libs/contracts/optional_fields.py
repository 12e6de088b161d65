"""Names the fields of inbound events that are dropped if they are invalid, instead of the event.

A field that the model learns was passed over before: producers that use its name for something else stay accepted.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from contracts.base import Envelope

DECISIVE: Final = frozenset({"version", "sequence", "turn_id", "reply_to_message_id", "agent_id", "action"})
"""Optional fields without which an event would say something else: invalid ones are refused. No field joins them."""


@cache
def droppable(model: type[Envelope]) -> frozenset[str]:
    """Return the names, on the wire, of the model's optional fields that are not decisive."""
    fields = model.model_fields.items()
    return frozenset(one.alias or name for name, one in fields if not one.is_required() and name not in DECISIVE)
