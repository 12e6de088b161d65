"""Export files: JSON lines in UTF-8."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Final

from reporting.exports.examples import EXAMPLES, FeedbackCase, Format, LeftOut, left_out

MEDIA_TYPE: Final = "application/x-ndjson"


async def as_jsonl(pages: AsyncIterator[Sequence[FeedbackCase]], wanted: Format) -> AsyncIterator[bytes]:
    """Yield the training examples of each page in the given format, as JSON lines in UTF-8."""
    make = EXAMPLES[wanted]
    async for page in pages:
        lines = (json.dumps(example, ensure_ascii=False) for case in page for example in make(case))
        yield "".join(line + "\n" for line in lines).encode()


async def count_examples(
    pages: AsyncIterator[Sequence[FeedbackCase]], wanted: Format
) -> tuple[int, dict[LeftOut, int]]:
    """Return the number of examples, and the number of judged answers that are left out, by reason."""
    make, number = EXAMPLES[wanted], 0
    reasons: Counter[LeftOut] = Counter()
    async for page in pages:
        for case in page:
            of_case = sum(1 for _ in make(case))
            number += of_case
            if not of_case:
                reasons[left_out(case, wanted)] += 1
    return number, dict(reasons.most_common())
