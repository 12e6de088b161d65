"""Fields of a message that several indexes store, with PostgreSQL's type of their columns. Pure.

Each index takes them from the greatest version of a message (`versions.py`). Its upsert is made from this declaration,
so a new field needs a line here, the field in the rows of the indexes, and their migrations.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

Fields = Mapping[str, str]
"""PostgreSQL's type of each column, in order."""

MESSAGE_KEY: Final[Fields] = MappingProxyType(
    {"tenant": "text", "project": "text", "conversation_id": "text", "message_id": "text"}
)
ANSWER_FIELDS: Final[Fields] = MappingProxyType({"agent_id": "text"})
"""Fields that the registry of turns stores as well, of answers."""
MESSAGE_FIELDS: Final[Fields] = MappingProxyType(
    {"turn_id": "text", "sender_id": "text", "sender_type": "text", **ANSWER_FIELDS, "content": "text"}
)
"""Fields that the bridge, inference and reporting store. Inference uses other names for two of the columns."""
