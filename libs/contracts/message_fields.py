"""Message fields stored by several message indexes, with the PostgreSQL types of their columns. No I/O.

The upserts of all indexes are generated from this declaration. An index stores the fields of the highest version of a
message (`versions.py`). To add a field, add it here and to the row type of each index, and a column to the schema of
each index.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

Fields = Mapping[str, str]
"""PostgreSQL type by column name, in column order."""

MESSAGE_KEY: Final[Fields] = MappingProxyType(
    {"tenant": "text", "project": "text", "conversation_id": "text", "message_id": "text"}
)
MESSAGE_FIELDS: Final[Fields] = MappingProxyType(
    {"turn_id": "text", "sender_id": "text", "sender_type": "text", "agent_id": "text", "content": "text"}
)
"""Fields that the message indexes of chat_bridge, feedback, inference and reporting store.

In inference, two of the columns have other names.
"""


class MessageKey(NamedTuple):
    """Key of a message. It includes the conversation, because many chats number messages per conversation."""

    tenant: str
    project: str
    conversation_id: str
    message_id: str


class TurnKey(NamedTuple):
    """Key of a turn: a person's question and the agent's answer to it."""

    tenant: str
    project: str
    conversation_id: str
    turn_id: str
