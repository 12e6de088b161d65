"""Files of exports: chunks in bounded memory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from reporting.exports.files import as_jsonl


class Rows:
    """Training examples that count how many of them were read."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.read = 0

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        for number in range(self._count):
            self.read += 1
            said = [{"role": "user", "content": f"ä{number}"}]
            yield {"prompt": said, "completion": said, "label": number % 2 == 0, "confidence": 0.5}


@pytest.mark.parametrize(("count", "lines"), [(0, [0]), (199, [199]), (200, [200, 0]), (401, [200, 200, 1])])
async def test_json_lines_are_sent_two_hundred_at_a_time(count: int, lines: list[int]) -> None:
    rows, found, read = Rows(count), [], []
    async for chunk in as_jsonl(rows.__aiter__()):
        found.append(chunk)
        read.append(rows.read)
    assert [chunk.count(b"\n") for chunk in found] == lines
    assert read == [sum(lines[: at + 1]) for at in range(len(lines))]
    whole = b"".join(found).decode()
    assert [json.loads(line)["prompt"][0]["content"] for line in whole.splitlines()] == [f"ä{n}" for n in range(count)]
    assert count == 0 or "ä0" in whole, "readable UTF-8"
