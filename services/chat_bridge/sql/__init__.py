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


def statements(fields: Fields = MESSAGE_FIELDS) -> Statements:
    """Return the SQL statements of the service.

    Args:
        fields: Columns of the message index.
    """
    rows = {
        "key": MESSAGE_KEY,
        "said": {**fields, "about": "text"},
        "stored": _STORED,
        "position": _POSITION,
        "parked_key": _PARKED_KEY,
        "parked": _PARKED,
    }
    return Statements(Path(__file__).parent, rows, reach=REACH)


SQL: Final = statements()
