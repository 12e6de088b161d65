"""Optional fields that are dropped from an inbound event if they are invalid.

The rest of the event is still accepted. Unknown fields are ignored, so producers may send fields of their own. If a
later release defines an optional field with the same name as a producer's own field, the producer's events must not be
rejected.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from contracts.base import Envelope

DECISIVE: Final = frozenset(
    {
        "version",
        "sequence",
        "message_id",
        "turn_id",
        "reply_to_message_id",
        "agent_id",
        "action",
        "emoji",
        "comment_id",
        "parent_comment_id",
    }
)
"""Optional fields that affect the meaning of an event. If one is invalid, the event is rejected. Only fields that an
event has had from its first version may be added."""


@cache
def droppable(model: type[Envelope]) -> frozenset[str]:
    """Return the wire names of a model's optional fields that are dropped if they are invalid.

    These are all optional fields except those in DECISIVE.
    """
    fields = model.model_fields.items()
    return frozenset(field.alias or name for name, field in fields if not field.is_required() and name not in DECISIVE)
