"""Feedback list, and its download as a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import asyncpg
from fastapi import Response
from fastapi.responses import StreamingResponse

from contracts.instants import format_instant
from contracts.scopes import ADMIN, REVIEW
from reporting.feedback.found_counts import FoundPage, found_and_counted
from reporting.feedback.search import every, scanned_by, with_answers
from reporting.model.cursor import BadCursor
from reporting.model.selection import ALWAYS, TimeSpan
from reporting.pages.exports import as_csv, as_jsonl, dataset_urls
from reporting.pages.rendering import PRIVATE
from reporting.pages.visits import PageSources, Visit

_PAGE: Final = 50


async def show_list(sources: PageSources, visit: Visit) -> Response:
    """Render a page of the feedback list."""
    # Reviewers must see their own review at once.
    pool = sources.current if REVIEW in visit.caller.scopes else sources.reports
    span, after = _continued(visit.view.cursor) or (await sources.span(visit), None)
    (rows, page), controls = await asyncio.gather(_listed(pool, visit, span, after), sources.controls(visit, span))
    window = {"start": format_instant(span.start), "end": format_instant(span.end - 1)}
    return visit.page(
        "list.html",
        found=rows,
        next=None if page.cursor is None else f"{span.start}-{span.end}-{page.cursor}",
        **controls,
        total=page.total,
        looked_through=scanned_by(visit.view.listed),
        datasets=dataset_urls(visit.project, visit.view.filter_parameters | window),
        may_erase=ADMIN in visit.caller.scopes and visit.caller.may_touch(visit.project.tenant, None),
        oldest_first=visit.view.sort == "oldest",
    )


async def _listed(
    pool: asyncpg.Pool, visit: Visit, span: TimeSpan, after: str | None
) -> tuple[list[dict[str, Any]], FoundPage]:
    view = visit.view
    page = await found_and_counted(
        pool, visit.project, span, view.listed, _PAGE, after, oldest_first=view.sort == "oldest"
    )
    return await with_answers(pool, visit.project, page.rows), page


async def download_csv(sources: PageSources, visit: Visit) -> Response:
    """Stream the list as a CSV file."""
    await sources.note(visit, "exported", "csv")
    return _file(as_csv(await _rows(sources, visit)), "text/csv; charset=utf-8", "feedback.csv")


async def download_jsonl(sources: PageSources, visit: Visit) -> Response:
    """Stream the list as JSON lines."""
    await sources.note(visit, "exported", "jsonl")
    return _file(as_jsonl(await _rows(sources, visit)), "application/x-ndjson", "feedback.jsonl")


async def _rows(sources: PageSources, visit: Visit) -> AsyncIterator[asyncpg.Record]:
    return every(sources.reports, visit.project, await sources.span(visit), visit.view.listed)


def _continued(cursor: str | None) -> tuple[TimeSpan, str] | None:
    """Split a list cursor into the time window of the first page and the position in the list.

    Returns None without a cursor. Raises BadCursor if the cursor is malformed.
    """
    if cursor is None:
        return None
    start, _, rest = cursor.partition("-")
    end, _, after = rest.partition("-")
    if not (start.isdecimal() and end.isdecimal() and int(start) < int(end) <= ALWAYS.end):
        raise BadCursor
    return TimeSpan(int(start), int(end)), after


def _file(chunks: AsyncIterator[bytes], media_type: str, name: str) -> Response:
    return StreamingResponse(
        chunks, media_type=media_type, headers={**PRIVATE, "Content-Disposition": f'attachment; filename="{name}"'}
    )
