"""HTTP routes of the audit: draw answers for review, list pending answers and get the machine's accuracy."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Final, Self

import asyncpg
from fastapi import Query
from pydantic import Field, model_validator

from contracts.scopes import READ, REVIEW
from reporting.http.bodies import RequestBody, WindowQuestion
from reporting.http.paths import FAILURES, PROJECT, ProjectPath
from reporting.model.responses import ResponseModel, scope_of
from reporting.model.selection import Project, TimeSpan
from reporting.reviews.figures import Audit
from reporting.reviews.sample import Draw, PendingReview, agreement, draw, pending, pending_count, samples
from servicekit.clock import Clock
from servicekit.db.database import Database
from servicekit.web.routes import Routes

AUDIT: Final = PROJECT + "/audit"
DRAWS: Final = AUDIT + "/draws"


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


class PendingItems(ResponseModel):
    pending: Annotated[int, Field(description="Number of drawn answers that nobody has reviewed yet.")]
    items: Annotated[list[PendingReview], Field(description="Drawn answers, in drawing order.")]


@dataclass(frozen=True, slots=True)
class _Handlers:
    reads: asyncpg.Pool
    writes: Database
    clock: Clock

    async def audit(self, project: ProjectPath, question: Annotated[WindowQuestion, Query()]) -> Audit:
        """Get the precision of the machine's rejections, and the number of rejections that it missed.

        The figures cover the 15,000 newest answers of the window that a person responded to. Only reviews of randomly
        drawn answers count, because turns chosen by a reviewer would bias the figures.
        """
        return await figures(self.reads, project, question.span(self.clock.now()))

    async def waiting(self, project: ProjectPath, question: Annotated[PendingQuestion, Query()]) -> PendingItems:
        """List the drawn answers that have not been reviewed yet, in the order they were drawn."""
        items = await pending(self.reads, project, question.after, question.limit)
        return PendingItems(pending=await pending_count(self.reads, project), items=items)

    async def draw_more(self, project: ProjectPath, body: DrawBody) -> Drawn:
        """Draw random answers for review.

        Half of them have a rejection by the machine, and half have none. An answer is drawn again only for a second
        review.
        """
        drawn = await draw_sample(self.writes, project, body, self.clock.now())
        return Drawn(drawn=drawn, pending=await pending_count(self.reads, project))


def audit_router(reads: asyncpg.Pool, writes: Database, clock: Clock) -> Routes:
    """Return the routes of the audit.

    Args:
        reads: Connection pool for queries.
        writes: Connection pool for storing drawn answers.
    """
    router, handlers = Routes("reporting", FAILURES), _Handlers(reads, writes, clock)
    router.at("GET", AUDIT, READ)(handlers.audit)
    router.at("GET", DRAWS, REVIEW)(handlers.waiting)
    router.at("POST", DRAWS, REVIEW, status_code=201)(handlers.draw_more)
    return router


async def draw_sample(writes: Database, project: Project, body: DrawBody, now: int) -> int:
    """Draw random answers for review, and return their number. `now` is in microseconds."""
    async with writes.acquire() as connection, connection.transaction():
        return await draw(connection, project, body.span(now), Draw(body.count, body.assignee, body.second), now)


async def figures(pool: asyncpg.Pool, project: Project, span: TimeSpan) -> Audit:
    """Return the audit of a time window."""
    # Independent statements run at the same time on several connections.
    counted, waiting, agreed = await asyncio.gather(
        samples(pool, project, span),
        pending_count(pool, project),
        agreement(pool, project),
    )
    return Audit(
        **scope_of(project, span),
        pending=waiting,
        precision=counted[True],
        missed=counted[False],
        agreement=agreed,
    )
