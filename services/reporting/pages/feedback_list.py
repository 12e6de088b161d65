"""Feedback list, its download as a CSV file that is streamed in bounded memory, and URLs of the API's datasets."""

from __future__ import annotations

import asyncio
import csv
import io
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, get_args

import asyncpg
from fastapi import Response
from fastapi.responses import StreamingResponse

from contracts.instants import format_instant
from contracts.scopes import ADMIN, REVIEW
from reporting.access.sign_in import PRIVATE
from reporting.exports.examples import Format
from reporting.feedback.found_counts import found_and_counted
from reporting.feedback.search import SCANNED, FoundFeedback, as_answer, every, with_answers
from reporting.http.exports import EXPORTS
from reporting.model.cursor import BadCursor
from reporting.model.selection import ALWAYS, Project, TimeSpan
from reporting.pages.view import address, path_of
from reporting.pages.visits import PageSources, Visit

LIST: Final = "/dashboard/feedback"
_PAGE: Final = 50
COLUMNS: Final = tuple(FoundFeedback.model_fields)
_CHUNK: Final = 200
# A spreadsheet evaluates a cell as a formula if it begins with one of these characters.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


async def show_list(sources: PageSources, visit: Visit) -> Response:
    """Render a page of the feedback list."""
    # Reviewers must see their own review at once.
    pool = sources.current if REVIEW in visit.caller.scopes else sources.reports
    span, after = _continued(visit.view.cursor) or (await sources.span(visit), None)
    (rows, cursor, total), controls = await asyncio.gather(
        found_and_counted(pool, visit.project, span, visit.view.listed, _PAGE, after), sources.controls(visit, span)
    )
    window = {"start": format_instant(span.start), "end": format_instant(span.end - 1)}
    return visit.page(
        "list.html",
        found=await with_answers(pool, visit.project, rows),
        next=None if cursor is None else f"{span.start}-{span.end}-{cursor}",
        **controls,
        total=total,
        looked_through=SCANNED,
        datasets=dataset_urls(visit.project, visit.view.filter_parameters | window),
        may_erase=ADMIN in visit.caller.scopes and visit.caller.may_touch(visit.project.tenant, None),
    )


def _continued(cursor: str | None) -> tuple[TimeSpan, str] | None:
    """Split a list cursor into the time window of the first page and the position in the list.

    Returns None without a cursor. Raises BadCursor if the cursor is malformed.
    """
    if cursor is None:
        return None
    parts = re.fullmatch(r"(\d{1,18})-(\d{1,18})-(.*)", cursor)
    if parts is None or not int(parts[1]) < int(parts[2]) <= ALWAYS.end:
        raise BadCursor
    return TimeSpan(int(parts[1]), int(parts[2])), parts[3]


async def download_csv(sources: PageSources, visit: Visit) -> Response:
    """Stream the list as a CSV file."""
    await sources.note(visit, "exported", "csv")
    rows = every(sources.reports, visit.project, await sources.span(visit), visit.view.listed)
    headers = {**PRIVATE, "Content-Disposition": 'attachment; filename="feedback.csv"'}
    return StreamingResponse(as_csv(rows), media_type="text/csv; charset=utf-8", headers=headers)


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
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


def _cell(value: object) -> object:
    if isinstance(value, list):
        value = "; ".join(value)
    return "'" + value if isinstance(value, str) and value.startswith(_FORMULA) else value


def dataset_urls(project: Project, filters: Mapping[str, Any]) -> dict[str, str]:
    """Return the URL of a dataset in each format, by the format's name.

    Args:
        filters: Query parameters of the export. Verdicts of people and of the machine are exported.
    """
    parameters = {**filters, "everyone": "true"}
    return {
        name.upper(): address(path_of(EXPORTS.replace("{wanted:segment}", name), project), parameters)
        for name in get_args(Format)
    }
