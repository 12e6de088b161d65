"""The reporting HTTP API's exports: training examples as a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated

import asyncpg
from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import Field

from contracts.scopes import READ
from reporting.api import FAILURES, PROJECT, ProjectPath, TenantPath
from reporting.bodies import FilterBody
from reporting.exports.cases import cases
from reporting.exports.examples import Format
from reporting.exports.files import (
    MEDIA_TYPES,
    FileType,
    ParquetMissing,
    as_jsonl,
    as_parquet,
    check_available,
    examples,
)
from reporting.queries.projects import is_known
from reporting.selection import Filters, Project
from servicekit.web.auth import caller_of
from servicekit.web.permissions import Permissions, needs
from servicekit.web.refusals import documented, refusal

EXPORT = PROJECT + "/exports/{wanted:segment}"
PERMISSIONS: Permissions = {("GET", EXPORT): needs(READ)}


class ExportQuestion(FilterBody):
    """Filters of an export, as of a search. Unless asked otherwise, it has people's and reviewers' verdicts alone."""

    everyone: bool = Field(
        default=False, description="Machine verdicts, too. Without it, and without `origin`, people's and reviewers'."
    )
    file: FileType = Field(default="jsonl", description="`jsonl`, or `parquet` where pyarrow is installed.")

    def filters_for(self, wanted: Format) -> Filters:
        """Return the filters with the default origins; `detector` has all machine verdicts, overruled or not."""
        if wanted == "detector":
            return replace(self.filters, origins=("machine",), overruled=True)
        return self.filters if self.origin or self.everyone else replace(self.filters, origins=("user", "reviewer"))


def exports_router(pool: asyncpg.Pool) -> APIRouter:
    """Return the route that streams exports."""
    router = APIRouter(dependencies=[Depends(caller_of)], responses=FAILURES, tags=["exports"])

    @router.get(
        EXPORT,
        summary="Export training examples",
        response_class=StreamingResponse,
        responses=documented(404, "Nothing was ever said in the project."),
    )
    async def export(
        tenant: TenantPath,
        project: ProjectPath,
        wanted: Annotated[Format, Path(description="kto, dpo, sft, events or detector.", examples=["kto"])],
        question: Annotated[ExportQuestion, Query()],
    ) -> StreamingResponse:
        """Stream every feedback that matches as training examples, newest first, in TRL's conversational columns.

        `kto`: prompt, completion, label. `dpo`: prompt, chosen, rejected, from corrections and from the same request
        answered badly, then well. `sft`: prompt, completion, from accepted answers and corrections. `events`: the
        feedbacks themselves. `detector`: machine verdicts beside people's. What was erased is left out. An unknown
        project is a 404.
        """
        try:
            check_available(question.file)
        except ParquetMissing:
            raise refusal(422, "file: parquet needs agent-feedback[parquet] on the server; ask for jsonl") from None
        if not await is_known(pool, Project(tenant, project)):
            raise refusal(404, f"Nothing was ever said in the project {project} of the tenant {tenant}.")
        rows = examples(cases(pool, Project(tenant, project), question.span, question.filters_for(wanted)), wanted)
        stream = as_jsonl(rows) if question.file == "jsonl" else as_parquet(rows, wanted)
        # The first piece is made before the answer begins, so that a database that is down is a 503.
        first = await anext(stream, b"")
        name = f"{project}-{wanted}.{question.file}"
        return StreamingResponse(
            _joined(first, stream),
            media_type=MEDIA_TYPES[question.file],
            headers={"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"},
        )

    return router


async def _joined(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece
