"""SQL statements of the feedback service."""

from pathlib import Path
from typing import Final

from contracts.message_fields import ANSWER_FIELDS, Fields
from contracts.sources import REVIEW
from servicekit import Statements

_ANSWER: Final[Fields] = {
    "agent_message_id": "text",
    "answer_version": "bytea",
    "about": "text",
    "reply_to": "text",
    "thread": "text",
}
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
}
_ASKER: Final[Fields] = {"user_id": "text", "user_at": "bigint", "user_message_id": "text"}


def statements(fields: Fields = ANSWER_FIELDS) -> Statements:
    """Return the SQL statements of the service.

    Args:
        fields: Columns of an answer in the turn registry.
    """
    rows: dict[str, Fields | type] = {
        "answer": {**fields, **_ANSWER},
        "asker": _ASKER,
        "record": _RECORD,
    }
    return Statements(Path(__file__).parent, rows, review=REVIEW)


SQL: Final = statements()
