"""SQL statements of the feedback service."""

from pathlib import Path
from typing import Final

from contracts.exchange import REACH
from contracts.message_fields import MESSAGE_FIELDS, MESSAGE_KEY, Fields
from contracts.sources import REVIEW
from servicekit.db.statements import Statements

_REGISTERED: Final[Fields] = {
    "user_type": "text",
    "about": "text",
    "reply_to": "text",
    "thread": "text",
    "has_text": "boolean",
    "version": "bytea",
}
_POSITION: Final[Fields] = {"at": "bigint", "sequence": "bigint", "first_log_time": "bigint", "log_offset": "bigint"}
_RECORD: Final[Fields] = {
    "feedback_id": "uuid",
    "tenant": "text",
    "project": "text",
    "conversation_id": "text",
    "source": "text",
    "user_id": "text",
    "agent_id": "text",
    "source_id": "text",
    "feedback_type": "text",
    "origin": "text",
    "slots": "jsonb",
    "live": "boolean",
    "reaction": "text",
    "revision": "bigint",
    "created_revision": "bigint",
    "overruled_by": "uuid",
    "training_allowed": "boolean",
}


def statements(fields: Fields = MESSAGE_FIELDS) -> Statements:
    """Return the SQL statements of the service.

    Args:
        fields: Columns of the message registry that all message indexes have.
    """
    rows: dict[str, Fields | type] = {
        "key": MESSAGE_KEY,
        "said": {**fields, **_REGISTERED},
        "position": _POSITION,
        "record": _RECORD,
    }
    return Statements(Path(__file__).parent, rows, review=REVIEW, reach=REACH)


SQL: Final = statements()
