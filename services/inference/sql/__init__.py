"""SQL statements of the inference service."""

from pathlib import Path
from typing import Final

from contracts.message_fields import MESSAGE_FIELDS, MESSAGE_KEY, Fields
from inference.turns.model import SIMILARITY_THRESHOLD
from inference.turns.vectors import DIMENSION
from servicekit.db.statements import Statements

_RENAMED: Final = {"sender_type": "role", "content": "text"}
_QUESTION: Final[Fields] = {
    "user_version": "bytea",
    "user_message_id": "text",
    "user_id": "text",
    "user_text": "text",
}
_ANSWER: Final[Fields] = {
    "assistant_version": "bytea",
    "agent_message_id": "text",
    "agent_id": "text",
    "assistant_text": "text",
    "intent": "text",
    "strategy": "text",
    "validation_outcome": "text",
    "quality_score": "float8",
    "track_id": "text",
    "bundle_id": "text",
}
_VERDICT: Final[Fields] = {
    "turn_id": "text",
    "detected_in_turn_id": "text",
    "status": "text",
    "confidence": "float8",
    "correction_type": "text",
    "decided_by": "text",
    "announced": "boolean",
    "at": "bigint",
    "release": "integer",
    "mode": "smallint",
    "digest": "text",
    "evaluation": "bigint",
}
_PREVIOUS: Final[Fields] = {
    "turn_id": "text",
    "release": "integer",
    "mode": "smallint",
    "digest": "text",
    "evaluation": "bigint",
    "announced": "boolean",
    "emitted_turn_id": "text",
    "emitted_agent_id": "text",
}
_ORDER: Final[Fields] = {"position": "bytea", "version": "bytea", "reply_to": "text", "thread": "text"}
_EMISSION: Final[Fields] = {"sender_id": "text", "agent_id": "text"}


def statements(fields: Fields = MESSAGE_FIELDS) -> Statements:
    """Return the SQL statements of the service, with `fields` as the columns of the message index."""
    content = {_RENAMED.get(name, name): kind for name, kind in fields.items()} | {"about": "text", "user_type": "text"}
    rows = {
        "key": MESSAGE_KEY,
        "said": content,
        "order": _ORDER,
        "question": _QUESTION,
        "answer": _ANSWER,
        "verdict": _VERDICT,
        "emission": _EMISSION,
        "previous": _PREVIOUS,
    }
    return Statements(Path(__file__).parent, rows, alike_from=SIMILARITY_THRESHOLD, dimension=DIMENSION)


SQL: Final = statements()
