"""Select the optional fields that are dropped, if invalid, so that the rest of an inbound event is accepted.

Events have always been allowed unknown fields, which are ignored. A producer may therefore use a name for its own
purposes that later becomes the name of an optional field. Its events must still be accepted.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from contracts.base import Envelope

DECISIVE: Final = frozenset(
    {"version", "sequence", "turn_id", "reply_to_message_id", "agent_id", "action", "comment_id", "parent_comment_id"}
)
"""Optional fields that affect the meaning of an event. If one is invalid, the event is rejected. Only fields that an
event has had from its first version may be added."""


@cache
def droppable(model: type[Envelope]) -> frozenset[str]:
    """Return the wire names of the model's optional fields that are dropped if invalid (all except DECISIVE)."""
    fields = model.model_fields.items()
    return frozenset(one.alias or name for name, one in fields if not one.is_required() and name not in DECISIVE)
