"""SQL statements of the reporting service."""

from pathlib import Path
from typing import Final, get_type_hints

from contracts.chat import DELETED
from contracts.erasure import ERASURE_MARGIN
from contracts.exchange import REACH
from contracts.instants import DAY, MINUTE
from contracts.message_fields import MESSAGE_FIELDS, MESSAGE_KEY, Fields
from detector.intervals import Z
from reporting.model.paging import ITEM_BYTES, OVERHEAD, PAGE_BYTES
from reporting.model.projection import COPIED, FeedbackRow
from reporting.model.selection import BINS, HOUR
from servicekit.db.statements import Statements

_DETAILS: Final = (
    *("user_type", "intent", "strategy", "track_id", "bundle_id", "agent_version", "model", "trace_id"),
    *("reply_to", "thread"),
)
_TEXT: Final[Fields] = {"text_since": "bigint", "other_text_at": "bigint"}
_POSITION: Final[Fields] = {
    "occurred_at": "bigint",
    "sequence": "bigint",
    "log_time": "bigint",
    "log_offset": "bigint",
}


def statements(fields: Fields = MESSAGE_FIELDS) -> Statements:
    """Return the SQL statements for read models that store the given fields of a message."""
    content = {**fields, **dict.fromkeys(_DETAILS, "text"), "attributes": "jsonb", "has_text": "boolean"}
    content["version"] = "bytea"
    columns = [*get_type_hints(FeedbackRow).items()]
    rows: dict[str, Fields | type] = {
        "key": MESSAGE_KEY,
        "said": content,
        "text": _TEXT,
        "position": _POSITION,
        "feedback": FeedbackRow,
        "judgement": type("JudgementRow", (), {"__annotations__": dict(columns[: -len(COPIED)])}),
    }
    return Statements(
        Path(__file__).parent,
        rows,
        bins=BINS,
        day=DAY,
        deleted=DELETED,
        erasure_margin=ERASURE_MARGIN,
        hour=HOUR,
        item_bytes=ITEM_BYTES,
        minute=MINUTE,
        overhead=OVERHEAD,
        page_bytes=PAGE_BYTES,
        reach=REACH,
        z=Z,
    )


SQL: Final = statements()
