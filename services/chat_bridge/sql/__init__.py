"""SQL statements of the bridge."""

from pathlib import Path
from typing import Final

from contracts.exchange import REACH
from contracts.message_fields import MESSAGE_FIELDS, MESSAGE_KEY, Fields
from servicekit.db.statements import Statements

_STORED: Final[Fields] = {
    "truncated": "boolean",
    "version": "bytea",
    "reply_to": "text",
    "thread": "text",
    "has_text": "boolean",
}
_POSITION: Final[Fields] = {"at": "bigint", "sequence": "bigint", "first_log_time": "bigint", "log_offset": "bigint"}
_PARKED_KEY: Final[Fields] = {"tenant": "text", "project": "text", "topic": "text", "identity": "text"}
_PARKED: Final[Fields] = {
    "conversation_id": "text",
    "original_message_id": "text",
    "record_key": "bytea",
    "value": "bytea",
    "cause": "text",
    "traceparent": "text",
    "user_id": "text",
    "said_at": "bigint",
    "log_time": "bigint",
    "parked_at": "bigint",
}

SQL: Final = Statements(
    Path(__file__).parent,
    {
        "key": MESSAGE_KEY,
        "said": {**MESSAGE_FIELDS, "about": "text"},
        "stored": _STORED,
        "position": _POSITION,
        "parked_key": _PARKED_KEY,
        "parked": _PARKED,
    },
    reach=REACH,
)
