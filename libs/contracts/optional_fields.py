"""Selection of the optional fields of inbound events that are dropped if invalid, so that the event is accepted.

Unknown fields are ignored. When a model gains a field, events of producers that use the name differently must still be
accepted.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from contracts.base import Envelope

DECISIVE: Final = frozenset(
    {"version", "sequence", "turn_id", "reply_to_message_id", "agent_id", "action", "comment_id", "parent_comment_id"}
)
"""Optional fields that affect an event's meaning: if one is invalid, the event is rejected. Do not add fields, except
those that an event has had from the start."""


@cache
def droppable(model: type[Envelope]) -> frozenset[str]:
    """Return the wire names of the model's optional fields that are not decisive."""
    fields = model.model_fields.items()
    return frozenset(one.alias or name for name, one in fields if not one.is_required() and name not in DECISIVE)
