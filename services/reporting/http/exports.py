"""HTTP routes that stream and count training examples."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import asyncpg
from fastapi import Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from contracts.scopes import EXPORT
from reporting.access.log import AccessLog
from reporting.exports.cases import cases
from reporting.exports.examples import FeedbackCase, Format, LeftOut
from reporting.exports.files import MEDIA_TYPE, as_jsonl, count_examples
from reporting.http.bodies import FilterBody
from reporting.http.paths import FAILURES, PROJECT, ProjectPath
from reporting.model.selection import Filters, Project
from reporting.read_models.projects import is_known
from servicekit.errors import RequestRefused
from servicekit.web.auth import RequestCaller
from servicekit.web.routes import Routes

EXPORTS = PROJECT + "/exports/{wanted:segment}"
COUNTS = EXPORTS + "/counts"


class ExportCounts(BaseModel):
    """Number of examples in an export, and of judged answers that it leaves out."""

    examples: int = Field(description="The number of examples.")
    left_out: dict[LeftOut, int] = Field(
        description="The number of judged answers without an example, by reason. `answer_unknown`, `question_unknown`: "
        "the message is not known, or the question is deleted. `answer_empty`: the answer is deleted or has no text. "
        "`answer_edited`: it was edited after the verdict. `question_edited`: the question was edited after the "
        "answer. `question_uncertain`: the answer replies to a message that is unknown or empty, or an empty message "
        "of a person stands between question and answer. `neutral` (`kto`): the verdict is neutral. `not_rejected`, "
        "`no_better_answer` (`dpo`): the answer was not rejected; or there is neither a correction nor an accepted "
        "answer. `not_accepted` (`sft`): the answer was neither accepted nor corrected."
    )


class ExportQuery(FilterBody):
    """Filters of an export. A search has the same filters.

    By default, only verdicts of people and reviewers are exported.
    """

    everyone: bool = Field(
        default=False,
        description="Also export machine verdicts. By default, if `origin` is not given, only verdicts of people and"
        " reviewers are exported.",
    )
    records: bool = Field(
        default=False,
        description="Export every feedback record. By default, an export has one row per judged answer and person: the"
        " verdict that counts. With `events`, records include replies.",
    )

    def filters_for(self, wanted: Format) -> Filters:
        """Return the filters for an export in the given format.

        Verdicts of people and reviewers are exported by default. Only `events` with `records` includes replies.
        """
        filters = self.filters.replace(by_answer=True, trainable=True)
        if wanted == "kto":  # without accepted answers, a model would only learn what not to say
            filters = filters.replace(issue=None, topic=filters.issue)
        if not (self.origin or self.everyone):
            filters = filters.replace(origins=("user", "reviewer"))
        if wanted == "events" and self.records:
            return filters
        if filters.feedback_type == "implicit":
            return filters.replace(origins=())  # matches nothing
        return filters.replace(feedback_type=filters.feedback_type or "verdict")


@dataclass(frozen=True, slots=True)
class _Handlers:
    pool: asyncpg.Pool
    access_log: AccessLog | None

    async def export(
        self,
        project: ProjectPath,
        wanted: Format,
        query: Annotated[ExportQuery, Query()],
        caller: RequestCaller,
    ) -> StreamingResponse:
        """Stream the matching feedback as training examples, newest first, in TRL's conversational format.

        `kto` examples consist of a prompt, a completion and a label. `dpo` examples consist of a prompt, a chosen
        answer and a rejected answer. The chosen answer is a person's correction, or an accepted answer to the same
        question or to a later question with the same text. `sft` examples consist of a prompt and a completion, which
        come from accepted answers and corrections. `events` contains the verdicts themselves. An export has one row per
        judged answer and person, even if a turn has several answers. `GET …/exports/{wanted}/counts` tells which judged
        answers are left out. Erased feedback is omitted, and so are people who forbid training. An unknown project
        gives 404.
        """
        stream = as_jsonl(await self._cases(project, wanted, query), wanted)
        if self.access_log is not None:
            await self.access_log.note(caller.subject, *project, "exported", wanted)
        # Read the first chunk before the response starts, so that an unavailable database gives a 503.
        first = await anext(stream, b"")
        return StreamingResponse(
            _joined(first, stream),
            media_type=MEDIA_TYPE,
            headers={
                "Content-Disposition": f'attachment; filename="{project.project}-{wanted}.jsonl"',
                "X-Content-Type-Options": "nosniff",
            },
        )

    async def count(self, project: ProjectPath, wanted: Format, query: Annotated[ExportQuery, Query()]) -> ExportCounts:
        """Count the examples of an export, and the judged answers that it leaves out, by reason."""
        number, reasons = await count_examples(await self._cases(project, wanted, query), wanted)
        return ExportCounts(examples=number, left_out=reasons)

    async def _cases(
        self, project: Project, wanted: Format, query: ExportQuery
    ) -> AsyncIterator[Sequence[FeedbackCase]]:
        """Return the cases of an export. Raises RequestRefused with status 404 if the project is unknown."""
        if not await is_known(self.pool, project):
            name = f"The project {project.project} of the tenant {project.tenant}"
            raise RequestRefused(404, f"{name} has no messages and no feedback.")
        filters, every_record = query.filters_for(wanted), query.records
        return cases(self.pool, project, query.span, filters, every_record=every_record)


def exports_router(pool: asyncpg.Pool, access_log: AccessLog | None = None) -> Routes:
    """Return the routes that stream and count exports. If there is an access log, each export is recorded in it."""
    router, handlers = Routes("exports", FAILURES), _Handlers(pool, access_log)
    unknown = {404: "The project has no messages and no feedback."}
    router.at("GET", EXPORTS, EXPORT, unknown, response_class=StreamingResponse)(handlers.export)
    router.at("GET", COUNTS, EXPORT, unknown)(handlers.count)
    return router


async def _joined(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece
