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
RECORD: Final[Fields] = {
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
    "revision": "bigint",
    "created_revision": "bigint",
    "overruled_by": "uuid",
    "training_allowed": "boolean",
}


_ROWS: Final = {"key": MESSAGE_KEY, "said": {**MESSAGE_FIELDS, **_REGISTERED}, "position": _POSITION, "record": RECORD}
SQL: Final = Statements(Path(__file__).parent, _ROWS, review=REVIEW, reach=REACH)
