"""Job that requests titles for issues from a language model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

import asyncpg
import structlog

from chat_completions.completion import WrongAnswer
from chat_completions.endpoint import EndpointFailed
from contracts.instants import MINUTE
from reporting.issues.sentences import MOST_EXAMPLES, RejectedTexts, request_of, sentence_in
from reporting.issues.store import Rejection, rejections
from reporting.queries.selection import Project
from reporting.sql import SQL
from servicekit import Clock

PAUSE: Final = 15 * MINUTE
"""Minimum time between two requests for the title of the same issue, in microseconds."""
QUESTIONS: Final = 10
"""Maximum number of requests per run."""
SECONDS: Final = 30.0
"""Time limit of a request in seconds."""
log = structlog.get_logger(part="reporting")


class _TooSlow(EndpointFailed):
    """Error for an endpoint that does not respond within the time limit."""


class TitleEndpoint(Protocol):
    async def complete(self, body: bytes) -> bytes:
        """Return the body of a chat completion.

        Raises:
            EndpointFailed, WrongAnswer: If there is no usable response.
        """
        ...


class IssueTitler:
    """Job that requests a title from a language model for each issue without one. It may run concurrently."""

    def __init__(
        self, pool: asyncpg.Pool, clock: Clock, endpoint: TitleEndpoint, model: str, *, seconds: float = SECONDS
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._endpoint = endpoint
        self._model = model
        self._seconds = seconds

    async def title_issues(self) -> int:
        """Request titles for up to QUESTIONS issues, largest first, and return the number of titles stored.

        A failed request is not repeated within PAUSE. The run ends if the endpoint fails or is too slow.
        """
        stored = 0
        for _ in range(QUESTIONS):
            now = self._clock.now()
            row = await self._pool.fetchrow(*SQL.claim_untitled_issue(now=now, due=now + PAUSE))
            if row is None:
                break
            try:
                stored += await self._title(row)
            except WrongAnswer as error:
                log.warning("issue_title_failed", reason="wrong", why=str(error))
            except _TooSlow:
                log.warning("issue_title_failed", reason="slow")
                break
            except EndpointFailed as error:
                log.warning("issue_title_failed", reason="broken", why=str(error))
                break
        return stored

    async def _title(self, issue: asyncpg.Record) -> bool:
        """Request the title of an issue claimed by this run. Returns True if the title was stored."""
        of = {"tenant": issue["tenant"], "project": issue["project"], "id": issue["id"]}
        shown = await self._typical(Project(issue["tenant"], issue["project"]), issue["id"])
        if not shown:
            return False
        body = request_of(self._model, [RejectedTexts(one.question, one.complaint) for one in shown])
        try:
            async with asyncio.timeout(self._seconds):
                completion = await self._endpoint.complete(body)
        except TimeoutError:
            raise _TooSlow from None
        put = SQL.put_sentence(
            **of,
            due=issue["sentence_due"],
            sentence=sentence_in(completion),
            words=issue["words"],
            conversations=[one.conversation_id for one in shown],
            turns=[one.turn_id for one in shown],
        )
        return await self._pool.fetchval(*put) is not None

    async def _typical(self, at: Project, issue: int) -> Sequence[Rejection]:
        """Return the turns nearest to the issue's centre, with their texts.

        Turns are skipped if the people in their stored row are outdated. An erasure finds the titles to delete by the
        people in these rows, so it would not find a title based on such a turn.
        """
        typical = SQL.typical_turns(**at._asdict(), issue_id=issue, limit=MOST_EXAMPLES)
        rows = await self._pool.fetch(*typical)
        people = {(row["conversation_id"], row["turn_id"]): (row["user_id"], row["asker_id"]) for row in rows}
        found = {one.turn: one for one in await rejections(self._pool, at, people)}
        in_order = [found[turn] for turn in people if turn in found]
        return [
            one
            for one in in_order
            if (one.user_id, one.asker_id) == people[one.turn] and (one.question.strip() or one.complaint.strip())
        ]
