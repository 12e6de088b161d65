"""HTTP routes that query conversations and their feedback. Each query covers one project of a tenant."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Annotated

import asyncpg
from fastapi import Query

from contracts.base import Id
from contracts.instants import DAY
from contracts.scopes import DETECT, READ
from reporting.access.log import AccessAction, AccessLog
from reporting.feedback.search import FoundFeedbacks, as_answer, found
from reporting.http.bodies import SearchBody
from reporting.http.paths import CONVERSATION, FAILURES, PROJECT, ConversationPath, ProjectPath
from reporting.model.selection import ConversationScope, Project
from reporting.turns.artifacts import Artifacts, ArtifactsBody, artifacts
from reporting.turns.conversations import ConversationsInPeriod, PeriodBody, conversations_in_period
from reporting.turns.latest import Latest, LatestBody, OwnFeedback, latest, own_feedback
from reporting.turns.turns import TurnsBody, TurnsWithFeedbacks, turns_with_feedbacks
from servicekit.clock import Clock
from servicekit.web.auth import Caller, RequestCaller
from servicekit.web.routes import Routes


@dataclass(frozen=True, slots=True)
class _Handlers:
    pool: asyncpg.Pool
    current: asyncpg.Pool
    clock: Clock
    artifact_store_url: str | None
    access_log: AccessLog | None

    async def period(self, project: ProjectPath, body: PeriodBody, caller: RequestCaller) -> ConversationsInPeriod:
        """List the conversations with reactions in a period, most recently active first.

        No conversation is listed twice. If a conversation changes after the first page, it may be missing from later
        pages. A new query then lists it.
        """
        response = await conversations_in_period(self.current, project, body)
        if body.include_turns:
            await self._note(caller, project, response.items, "searched", "conversations-in-period")
        return response

    async def find(self, project: ProjectPath, body: SearchBody, caller: RequestCaller) -> FoundFeedbacks:
        """List the feedback records that match all filters, including replies to answers.

        The newest records come first, unless `sort` is `oldest`.
        """
        rows, next_cursor = await found(
            self.pool, project, body.span, body.filters, body.limit, body.cursor, oldest_first=body.sort == "oldest"
        )
        await self._note(caller, project, rows, "searched", "search")
        return FoundFeedbacks(items=[as_answer(row) for row in rows], next_cursor=next_cursor)

    async def find_artifacts(self, project: ProjectPath, body: ArtifactsBody, caller: RequestCaller) -> Artifacts:
        """Search for the artifacts of a conversation or a person: effective reactions and turn logs."""
        response = await artifacts(self.pool, project, body, self.clock.now(), self.artifact_store_url)
        await self._note(caller, project, response.items, "searched", "artifacts")
        return response

    async def turns(self, scope: ConversationPath, body: TurnsBody, caller: RequestCaller) -> TurnsWithFeedbacks:
        """List the turns of a conversation in time order, with their texts and effective reactions."""
        since = max(0, self.clock.now() - body.days * DAY)
        async with (
            self.pool.acquire() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            response = await turns_with_feedbacks(connection, scope, body, since)
        await self._note(caller, scope, response.turns, "read", scope.conversation_id)
        return response

    async def latest_feedback(self, scope: ConversationPath, body: LatestBody, caller: RequestCaller) -> Latest:
        """List the latest reaction of each changed turn, oldest change first.

        A null reaction means that the last reaction to the turn was retracted and none is left. To get only later
        changes, send the `watermark` of the last page with the next query. No change is missed, even if it was
        written concurrently.
        """
        async with self.current.acquire() as connection:
            response = await latest(connection, scope, body)
        await self._note(caller, scope, response.items, "read", scope.conversation_id)
        return response

    async def own(
        self,
        scope: ConversationPath,
        turn_id: Id,
        caller: RequestCaller,
        user_id: Annotated[Id | None, Query(description="Another person's id; needs the scope on_behalf.")] = None,
    ) -> OwnFeedback:
        """Get the caller's own feedback on a turn."""
        async with self.current.acquire() as connection:
            return await own_feedback(connection, scope, turn_id, caller.person(user_id))

    async def _note(
        self, caller: Caller, scope: Project | ConversationScope, texts: Sized, action: AccessAction, about: str
    ) -> None:
        """Record the caller if the response contains texts."""
        if self.access_log is not None and texts:
            await self.access_log.note(caller.subject, scope.tenant, scope.project, action, about)


def conversations_router(
    pool: asyncpg.Pool,
    clock: Clock,
    artifact_store_url: str | None = None,
    access_log: AccessLog | None = None,
    current: asyncpg.Pool | None = None,
) -> Routes:
    """Return the query routes for conversations, turns and their feedback.

    Args:
        access_log: Log of the callers who get texts of messages or feedback.
        current: Connection pool for queries that return watermarks or must see the latest writes. Defaults to `pool`.
    """
    router, handlers = (
        Routes("reporting", FAILURES),
        _Handlers(pool, current or pool, clock, artifact_store_url, access_log),
    )
    router.at("POST", PROJECT + "/feedback/conversations-in-period", READ)(handlers.period)
    router.at("POST", PROJECT + "/feedback/search", READ)(handlers.find)
    router.at("POST", PROJECT + "/feedback/artifacts", READ)(handlers.find_artifacts)
    router.at("POST", CONVERSATION + "/turns-with-feedbacks", READ)(handlers.turns)
    router.at("POST", CONVERSATION + "/feedback/latest", (READ, DETECT))(handlers.latest_feedback)
    router.at("GET", CONVERSATION + "/turns/{turn_id:segment}/feedback", "any token")(handlers.own)
    return router
