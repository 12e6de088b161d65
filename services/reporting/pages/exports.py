"""Exports of the feedback list: files that are streamed in bounded memory, and URLs of the API's datasets."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, get_args

import asyncpg

from reporting.exports.examples import Format
from reporting.feedback.search import FoundFeedback, as_answer
from reporting.http.exports import EXPORTS
from reporting.model.selection import Project
from reporting.pages.view import address, path_of

LIST: Final = "/dashboard/feedback"
_DATASETS: Final = tuple(name for name in get_args(Format) if name != "detector")
"""Formats that the pages offer. Datasets for the detector are made by developers."""
COLUMNS: Final = tuple(FoundFeedback.model_fields)
_CHUNK: Final = 200
# A spreadsheet evaluates a cell as a formula if it begins with one of these characters.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def dataset_urls(project: Project, filters: Mapping[str, Any]) -> dict[str, str]:
    """Return the URL of a dataset in each format, by the format's name.

    Args:
        filters: Query parameters of the export. Verdicts of people and of the machine are exported.
    """
    parameters = {**filters, "everyone": "true"}
    return {
        name.upper(): address(path_of(EXPORTS.replace("{wanted:segment}", name), project), parameters)
        for name in _DATASETS
    }


async def as_csv(rows: AsyncIterator[asyncpg.Record]) -> AsyncIterator[bytes]:
    """Yield a CSV file (RFC 4180, UTF-8) with a header, in chunks.

    Text that a spreadsheet would evaluate as a formula is prefixed with an apostrophe.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    count = 0
    async for row in rows:
        record = as_answer(row).model_dump(mode="json")
        writer.writerow([_cell(record[name]) for name in COLUMNS])
        count += 1
        if count % _CHUNK == 0:
            yield _taken(buffer)
    yield _taken(buffer)


async def as_jsonl(rows: AsyncIterator[asyncpg.Record]) -> AsyncIterator[bytes]:
    """Yield JSON lines with the fields of a search result, in chunks."""
    buffer, count = io.StringIO(), 0
    async for row in rows:
        buffer.write(as_answer(row).model_dump_json() + "\n")
        count += 1
        if count % _CHUNK == 0:
            yield _taken(buffer)
    yield _taken(buffer)


def _cell(value: object) -> object:
    if isinstance(value, list):
        value = "; ".join(value)
    return "'" + value if isinstance(value, str) and value.startswith(_FORMULA) else value


def _taken(buffer: io.StringIO) -> bytes:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text.encode()
