"""Pages that list dead letters and parked events, without their contents.

Parked events are events that wait for their message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Literal

import structlog
from fastapi import APIRouter, Request, Response

from agent_feedback_kit.deadlines import within
from reporting.dashboard.rendering import error_page, page
from reporting.dashboard.view import address
from servicekit import Caller

DEAD_LETTERS: Final = "/dashboard/dead-letters"
PARKED: Final = "/dashboard/parked"
Kind = Literal["dead letters", "parked"]
Unprocessed = Callable[[Kind], Awaitable[Sequence[Mapping[str, str]]]]
"""Function that returns the dead letters, latest first, or the parked events, oldest first, of all tenants.

The keys of each record are `group` (consumer group), `record` (topic, partition and offset), `cause` (coordinates of
the chat record from which it was derived), `reason`, `detail`, `noted_at` (RFC 3339), `tenant`, `project`, `event_id`
and `message_id`. The last four are empty if the record does not contain them.
"""
_SECONDS: Final = 5.0
_LABELS: Final[Mapping[str, Kind]] = {DEAD_LETTERS: "dead letters", PARKED: "parked"}
log = structlog.get_logger(part="reporting")


def unprocessed_router(unprocessed: Unprocessed | None) -> APIRouter:
    """Return the routes of both pages.

    If `unprocessed` is None, the pages name the commands to use instead.
    """
    router = APIRouter(include_in_schema=False)

    async def show(request: Request) -> Response:
        caller: Caller = request.state.caller
        if caller.tenant is not None or caller.project is not None:
            why = "The page lists records of all tenants and projects, so it needs a token for all of them."
            return error_page(404, "This token has no access to this page", why)
        path = request.url.path
        rows: Sequence[Mapping[str, str]] | None = None
        try:
            rows = None if unprocessed is None else await within(_SECONDS, unprocessed(_LABELS[path]))
        except Exception as error:
            log.warning("unprocessed_unknown", error=type(error).__name__)
            return error_page(503, "The list could not be read", "Reload the page in a moment.")
        chosen = {name: request.query_params.get(name, "") for name in ("group", "reason")}
        counts = Counter((row["group"], row["reason"]) for row in rows or ())
        return page(
            "unprocessed.html",
            kind=_LABELS[path],
            path=path,
            known=rows is not None,
            rows=[row for row in rows or () if all(row[name] == value for name, value in chosen.items() if value)],
            counts=sorted(counts.items(), key=lambda one: (-one[1], one[0])),
            chosen=chosen,
            narrowed=any(chosen.values()),
            address=address,
        )

    for path in _LABELS:
        router.add_api_route(path, show, methods=["GET"], response_model=None)
    return router
