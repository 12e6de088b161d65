"""Selection of the optional fields that are dropped from an inbound event if invalid, so that the event is accepted.

Events have always been allowed unknown fields, which are ignored. A producer may therefore already use the name of a
later optional field for something else, and its events must still be accepted.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from contracts.base import Envelope

DECISIVE: Final = frozenset(
    {"version", "sequence", "turn_id", "reply_to_message_id", "agent_id", "action", "comment_id", "parent_comment_id"}
)
"""Optional fields that affect an event's meaning: if one is invalid, the event is rejected. Only add a field that
its event has had from the start."""


@cache
def droppable(model: type[Envelope]) -> frozenset[str]:
    """Return the wire names of the model's optional fields that are not decisive (see DECISIVE)."""
    fields = model.model_fields.items()
    return frozenset(one.alias or name for name, one in fields if not one.is_required() and name not in DECISIVE)
