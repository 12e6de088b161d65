"""Export files: JSON lines in UTF-8."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Final

from reporting.exports.examples import EXAMPLES, FeedbackCase, Format, LeftOut, left_out

MEDIA_TYPE: Final = "application/x-ndjson"
_CHUNK: Final = 200


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
        of_case = sum(1 for _ in make(case))
        number += of_case
        if not of_case:
            reasons[left_out(case, wanted)] += 1
    return number, dict(reasons.most_common())


async def as_jsonl(rows: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    """Encode rows as JSON lines in UTF-8 and yield the file in chunks."""
    lines: list[str] = []
    async for row in rows:
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
        if len(lines) >= _CHUNK:
            yield "".join(lines).encode()
            lines.clear()
    yield "".join(lines).encode()
