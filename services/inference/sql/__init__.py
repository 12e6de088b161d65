"""SQL statements of the inference service."""

from pathlib import Path
from typing import Final

from contracts.erasure import ERASURE_MARGIN
from contracts.message_fields import MESSAGE_FIELDS, MESSAGE_KEY, Fields
from servicekit.db.statements import Statements

_RENAMED: Final = {"sender_type": "role", "content": "text"}
_QUESTION: Final[Fields] = {
    "user_version": "bytea",
    "user_message_id": "text",
    "user_id": "text",
    "user_text": "text",
    "user_vector": "bytea",
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
    "assistant_vector": "bytea",
}
_STAMP: Final[Fields] = {"release": "integer", "mode": "smallint", "digest": "text", "evaluation": "bigint"}
_VERDICT: Final[Fields] = {
    "turn_id": "text",
    "detected_in_turn_id": "text",
    "status": "text",
    "confidence": "float8",
    "correction_type": "text",
    "decided_by": "text",
    "announced": "boolean",
    "at": "bigint",
    **_STAMP,
}
_PREVIOUS: Final[Fields] = {**_STAMP, "announced": "boolean", "emitted_turn_id": "text", "emitted_agent_id": "text"}
_ORDER: Final[Fields] = {"position": "bytea", "version": "bytea", "reply_to": "text", "thread": "text"}
_EMISSION: Final[Fields] = {"sender_id": "text", "agent_id": "text"}


_SAID: Final[Fields] = {
    **{_RENAMED.get(name, name): kind for name, kind in MESSAGE_FIELDS.items()},
    "about": "text",
    "user_type": "text",
}
SQL: Final = Statements(
    Path(__file__).parent,
    {
        "key": MESSAGE_KEY,
        "said": _SAID,
        "order": _ORDER,
        "question": _QUESTION,
        "answer": _ANSWER,
        "verdict": _VERDICT,
        "emission": _EMISSION,
        "previous": _PREVIOUS,
    },
    erasure_margin=ERASURE_MARGIN,
)
