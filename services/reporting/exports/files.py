"""File formats of exports: JSONL, or Parquet if pyarrow is installed."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Final, Literal

from reporting.exports.examples import EXAMPLES, FeedbackCase, Format, LeftOut, left_out

FileType = Literal["jsonl", "parquet"]
MEDIA_TYPES: Final[dict[FileType, str]] = {
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
_CHUNK: Final = 200
_ROW_GROUP: Final = 1_000
"""Number of examples per row group in a Parquet file."""


class ParquetMissing(Exception):
    """Error for a Parquet export if the package pyarrow is not installed."""


def check_available(file_type: FileType) -> None:
    """Check that the packages for a file type are installed.

    Raises:
        ParquetMissing: If the type is parquet and pyarrow is not installed.
    """
    if file_type == "parquet":
        try:
            import pyarrow.parquet  # noqa: F401  # only checks that it is installed
        except ImportError as error:
            raise ParquetMissing from error


async def examples(cases: AsyncIterator[FeedbackCase], wanted: Format) -> AsyncIterator[dict[str, Any]]:
    """Yield the training examples of all cases in the given format."""
    make = EXAMPLES[wanted]
    async for case in cases:
        for example in make(case):
            yield example


async def count_examples(cases: AsyncIterator[FeedbackCase], wanted: Format) -> tuple[int, dict[LeftOut, int]]:
    """Return the number of examples, and the number of judged answers that are left out, by reason."""
    make, number = EXAMPLES[wanted], 0
    reasons: Counter[LeftOut] = Counter()
    async for case in cases:
        made = sum(1 for _ in make(case))
        number += made
        if not made:
            reasons[left_out(case, wanted)] += 1
    return number, dict(reasons.most_common())


async def as_jsonl(rows: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    """Encode rows as JSON lines in UTF-8 and yield the file in chunks."""
    held: list[str] = []
    async for row in rows:
        held.append(json.dumps(row, ensure_ascii=False) + "\n")
        if len(held) >= _CHUNK:
            yield "".join(held).encode()
            held.clear()
    yield "".join(held).encode()


async def as_parquet(rows: AsyncIterator[dict[str, Any]], wanted: Format) -> AsyncIterator[bytes]:
    """Encode rows as Parquet and yield the file in chunks.

    The file has the columns of the format even if there are no rows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, _arrow_type(pa, kind)) for name, kind in _COLUMNS[wanted].items()])
    sink = _Pieces()
    writer = pq.ParquetWriter(pa.PythonFile(sink, "w"), schema)
    held: list[dict[str, Any]] = []
    async for row in rows:
        held.append(row)
        if len(held) >= _ROW_GROUP:
            writer.write_table(pa.Table.from_pylist(held, schema=schema))
            held.clear()
            yield sink.taken()
    if held:
        writer.write_table(pa.Table.from_pylist(held, schema=schema))
    writer.close()
    yield sink.taken()


class _Pieces(io.RawIOBase):
    """In-memory file that is written by a Parquet writer and emptied chunk by chunk.

    `tell` returns the total number of bytes written so far.
    """

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._place = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._held.append(piece)
        self._place += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._place

    def taken(self) -> bytes:
        piece = b"".join(self._held)
        self._held.clear()
        return piece


_TEXT, _NUMBER, _TRUTH, _TEXTS, _SAID = "text", "number", "truth", "texts", "messages"
_ORIGIN: Final = {
    **dict.fromkeys(("feedback_id", "rn", "conversation_id", "turn_id", "agent_id", "agent_version", "model"), _TEXT),
    "origin": _TEXT,
    "feedback_type": _TEXT,
    "confidence": _NUMBER,
    "ts": _TEXT,
    "detector": _TEXT,
    "decided_by": _TEXT,
}
_COLUMNS: Final[dict[Format, dict[str, str]]] = {
    "kto": {"prompt": _SAID, "completion": _SAID, "label": _TRUTH, **_ORIGIN},
    "dpo": {"prompt": _SAID, "chosen": _SAID, "rejected": _SAID, "pair": _TEXT, **_ORIGIN},
    "sft": {"prompt": _SAID, "completion": _SAID, **_ORIGIN},
    "events": {
        **_ORIGIN,
        **dict.fromkeys(("answer_message_id", "question_message_id", "user_id", "reaction"), _TEXT),
        "value": _NUMBER,
        "text": _TEXT,
        "tags": _TEXTS,
        **dict.fromkeys(("correction", "correction_type", "emoji", "scale"), _TEXT),
        **dict.fromkeys(("rating", "worst_rating", "best_rating"), _NUMBER),
    },
    "detector": {"history": _SAID, "message": _TEXT, "machine": _TEXT, "people": _TEXT, "reviewed": _TRUTH, **_ORIGIN},
}


def _arrow_type(pa: Any, kind: str) -> Any:
    types = {
        _TEXT: pa.string(),
        _NUMBER: pa.float64(),
        _TRUTH: pa.bool_(),
        _TEXTS: pa.list_(pa.string()),
        _SAID: pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())])),
    }
    return types[kind]
