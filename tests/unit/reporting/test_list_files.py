"""Files of the feedback list: chunks in bounded memory, and cells that no spreadsheet evaluates."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from reporting.pages.feedback_list import COLUMNS, as_csv

ROW: dict[str, Any] = {
    **dict.fromkeys(COLUMNS),
    "feedback_id": UUID(int=1),
    "rn": "ef:acme:support:ann:c1:t1:artifact:1",
    "conversation_id": "c1",
    "turn_id": "t1",
    "agent_id": "bot",
    "user_id": "ann",
    "user_type": "human",
    "origin": "user",
    "feedback_type": "explicit",
    "reaction": "not_ok",
    "value": -0.5,
    "confidence": 1.0,
    "tags": [],
    "source": "api",
    "occurred_at": 1_790_000_000_000_000,
}


class Rows:
    """Rows that count how many of them were read."""

    def __init__(self, *changes: dict[str, Any]) -> None:
        self._changes = changes
        self.read = 0

    async def __aiter__(self) -> AsyncIterator[Any]:
        for changed in self._changes:
            self.read += 1
            yield ROW | changed


@pytest.mark.parametrize(
    ("count", "lines"),
    [(0, [0]), (1, [1]), (199, [199]), (200, [200, 0]), (201, [200, 1]), (450, [200, 200, 50])],
)
async def test_a_file_is_sent_two_hundred_records_at_a_time(count: int, lines: list[int]) -> None:
    rows = Rows(*({"text": f"n{n}"} for n in range(count)))
    found, read = [], []
    async for chunk in as_csv(rows.__aiter__()):
        found.append(chunk)
        read.append(rows.read)
    assert [chunk.count(b"\n") for chunk in found] == [lines[0] + 1, *lines[1:]]
    assert read == [sum(lines[: at + 1]) for at in range(len(lines))], "a chunk is sent before more is read"
    whole = b"".join(found).decode()
    assert [row["text"] for row in csv.DictReader(io.StringIO(whole))] == [f"n{n}" for n in range(count)]


@pytest.mark.parametrize(
    ("changed", "cells"),
    [
        *(({"text": f"{first}1"}, {"text": f"'{first}1"}) for first in "=+-@\t\r"),
        ({"text": "a=1", "correction": "'=1"}, {"text": "a=1", "correction": "'=1"}),
        ({"tags": ["=a", "b"]}, {"tags": "'=a; b"}),
        ({"tags": ["a"], "agent_version": "-1"}, {"tags": "a", "agent_version": "'-1"}),
        ({}, {"value": "-0.5", "text": "", "tags": "", "ts": "2026-09-21T14:13:20.000000Z", "origin": "user"}),
        ({"text": 'two\nlines, "quoted" ä'}, {"text": 'two\nlines, "quoted" ä'}),
    ],
)
async def test_a_cell_is_text_or_a_number_and_never_a_formula(changed: dict[str, Any], cells: dict[str, str]) -> None:
    whole = b"".join([chunk async for chunk in as_csv(Rows(changed).__aiter__())]).decode()
    [row] = csv.DictReader(io.StringIO(whole, newline=""))
    assert tuple(row) == COLUMNS
    assert {name: row[name] for name in cells} == cells
