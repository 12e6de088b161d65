"""SQL statements of the feedback service."""

from pathlib import Path
from typing import Final

from contracts.message_fields import ANSWER_FIELDS, Fields
from contracts.sources import REVIEW
from servicekit import Statements, load_statements

_ANSWER: Final[Fields] = {
    "agent_message_id": "text",
    "answer_version": "bytea",
    "about": "text",
    "reply_to": "text",
    "thread": "text",
}
_ASKER: Final[Fields] = {"user_id": "text", "user_at": "bigint", "user_message_id": "text"}


def statements(fields: Fields = ANSWER_FIELDS) -> Statements:
    """Return the statements for a registry of turns with these fields of answers."""
    rows = {"answer": {**fields, **_ANSWER}, "asker": _ASKER}
    return load_statements(Path(__file__).parent, rows, review=REVIEW)


SQL: Final = statements()
