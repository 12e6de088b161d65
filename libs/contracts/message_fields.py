"""Message fields that several indexes store, with the PostgreSQL types of their columns. Pure.

Each index reads the fields from the greatest version of a message (`versions.py`). The indexes' upserts are generated
from this declaration. An added field needs a line here, a field in each index's row type, and a migration per index.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

Fields = Mapping[str, str]
"""PostgreSQL type by column name, in column order."""

MESSAGE_KEY: Final[Fields] = MappingProxyType(
    {"tenant": "text", "project": "text", "conversation_id": "text", "message_id": "text"}
)
ANSWER_FIELDS: Final[Fields] = MappingProxyType({"agent_id": "text"})
"""Fields that the turn registry also stores, for answers."""
MESSAGE_FIELDS: Final[Fields] = MappingProxyType(
    {"turn_id": "text", "sender_id": "text", "sender_type": "text", **ANSWER_FIELDS, "content": "text"}
)
"""Fields that the message indexes of chat_bridge, inference and reporting store.

Inference uses different names for two of the columns.
"""
