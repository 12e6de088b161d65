"""HTTP routes of the audit: draw answers for review, list pending answers and get the machine's accuracy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Annotated, Final, Self
from urllib.parse import parse_qsl, quote

import asyncpg
from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field, model_validator

from contracts.base import Name
from contracts.instants import format_instant
from contracts.scopes import READ, REVIEW
from reporting.figures.satisfaction import window_of
from reporting.http.bodies import RequestBody
from reporting.http.conversations import FAILURES, PROJECT
from reporting.http.query_parameters import WindowQuestion
from reporting.model.responses import ResponseModel, Time
from reporting.model.selection import Project, TimeSpan
from reporting.reviews.figures import Audit
from reporting.reviews.kinds import kinds_of
from reporting.reviews.sample import Draw, agreement, draw, pending, pending_count, reviewed_kinds, samples
from servicekit.clock import Clock
from servicekit.db.database import Database
from servicekit.web.bodies import read_body
from servicekit.web.routes import Routes

AUDIT: Final = PROJECT + "/audit"
DRAWS: Final = AUDIT + "/draws"
PAGE: Final = "/dashboard/accuracy"
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


class DrawBody(WindowQuestion):
    count: Annotated[
        int, Field(ge=2, le=1_000, description="Number of answers to draw; fewer if the window has fewer.")
    ] = 50
    assignee: Annotated[str, Field(max_length=256, pattern=r"^[^\x00-\x1f]*$")] = Field(
        default="", description="Name of the reviewer who is to review the answers; empty for any reviewer."
    )
    second: bool = Field(
        default=False,
        description="Draw answers that others have reviewed, so that the agreement of reviewers can be measured. "
        "Needs an `assignee`.",
    )

    @model_validator(mode="after")
    def _has_second_reviewer(self) -> Self:
        if self.second and not self.assignee:
            raise ValueError("a second review needs an assignee")
        return self


class PendingQuestion(RequestBody):
    after: Annotated[int, Field(ge=0, lt=2**63, description="List the answers after this position first.")] = 0
    limit: Annotated[int, Field(ge=1, le=1_000, description="Maximum number of answers in the response.")] = 100


class Drawn(ResponseModel):
    drawn: Annotated[int, Field(description="Number of answers drawn by this request.")]
    pending: Annotated[int, Field(description="Number of drawn answers that nobody has reviewed yet.")]


class PendingItem(ResponseModel):
    """A randomly drawn answer that has not been reviewed yet.

    Review it like any turn, with `POST .../turns/{turn_id}/reviews`.
    """

    position: Annotated[
        int, Field(description="Position in the queue; send it as `after` to continue after this answer.")
    ]
    conversation_id: Annotated[str, Field(description="The conversation, also called thread.")]
    turn_id: Annotated[str, Field(description="The turn: a person's question and the agent's answer to it.")]
    assignee: Annotated[str, Field(description="Reviewer who is to review the answer; empty for any reviewer.")]
    drawn_at: Annotated[Time, Field(description="Time of the draw.")]


class PendingItems(ResponseModel):
    pending: Annotated[int, Field(description="Number of drawn answers that nobody has reviewed yet.")]
    items: Annotated[list[PendingItem], Field(description="Drawn answers, in drawing order.")]


def audit_router(reads: asyncpg.Pool, writes: Database, clock: Clock) -> Routes:
    """Return the routes of the audit.

    Args:
        reads: Connection pool for queries.
        writes: Connection pool for storing drawn answers.
    """
    router = Routes("reporting", FAILURES)

    @router.at("GET", AUDIT, READ)
    async def audit(tenant: Name, project: Name, question: Annotated[WindowQuestion, Query()]) -> Audit:
        """Get the precision of the machine's rejections, and the number of rejections that it missed.

        The figures cover the 15,000 newest answers of the window that a person responded to. Only reviews of randomly
        drawn answers count, because turns chosen by a reviewer would bias the figures.
        """
        return await figures(reads, Project(tenant, project), question.span(clock.now()))

    @router.at("GET", DRAWS, REVIEW)
    async def waiting(tenant: Name, project: Name, question: Annotated[PendingQuestion, Query()]) -> PendingItems:
        """List the drawn answers that have not been reviewed yet, in the order they were drawn."""
        scope = Project(tenant, project)
        items = [
            PendingItem(
                position=drawn.position,
                conversation_id=drawn.conversation_id,
                turn_id=drawn.turn_id,
                assignee=drawn.assignee,
                drawn_at=format_instant(drawn.drawn_at),
            )
            for drawn in await pending(reads, scope, question.after, question.limit)
        ]
        return PendingItems(pending=await pending_count(reads, scope), items=items)

    @router.at(
        "POST",
        DRAWS,
        REVIEW,
        status_code=201,
        response_model=Drawn,
        openapi_extra={"requestBody": {"required": True, "content": {JSON: {"schema": DrawBody.model_json_schema()}}}},
    )
    async def draw_more(tenant: Name, project: Name, request: Request) -> Drawn | Response:
        """Draw random answers for review.

        Half of them have a rejection by the machine, and half have none. An answer is drawn again only for a second
        review.
        """
        readers: Mapping[str, Callable[[bytes], DrawBody]] = {JSON: DrawBody.model_validate_json, FORM: _form}
        body = await read_body(request, readers)
        scope, now = Project(tenant, project), clock.now()
        async with writes.acquire() as connection, connection.transaction():
            await writes.plan_freely(connection)
            drawn = await draw(connection, scope, body.span(now), Draw(body.count, body.assignee, body.second), now)
        if request.headers["content-type"].lower().startswith(FORM):
            return RedirectResponse(f"{PAGE}?at={quote(tenant, safe='')}/{quote(project, safe='')}", 303)
        return Drawn(drawn=drawn, pending=await pending_count(reads, scope))

    return router


def _form(raw: bytes) -> DrawBody:
    """Parse the form of the accuracy page."""
    fields = dict(parse_qsl(raw.decode(), max_num_fields=10))
    return DrawBody(assignee=fields.get("assignee", "").strip(), second="second" in fields)


async def figures(pool: asyncpg.Pool, project: Project, span: TimeSpan) -> Audit:
    """Return the audit of a time window."""
    # Independent statements run at the same time on several connections.
    counted, waiting, kinds, agreed = await asyncio.gather(
        samples(pool, project, span),
        pending_count(pool, project),
        reviewed_kinds(pool, project),
        agreement(pool, project),
    )
    return Audit(
        tenant=project.tenant,
        project=project.project,
        window=window_of(span),
        pending=waiting,
        precision=counted[True],
        missed=counted[False],
        agreement=agreed,
        kinds=kinds_of(kinds),
    )
