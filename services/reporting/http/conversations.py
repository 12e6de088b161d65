"""HTTP routes that query conversations and their feedback. Each query covers one project of a tenant."""

from __future__ import annotations

from collections.abc import Sized
from typing import Annotated

import asyncpg
from fastapi import Query

from contracts.base import Id, Name
from contracts.instants import DAY
from contracts.scopes import DETECT, READ
from reporting.access.log import AccessAction, AccessLog
from reporting.feedback.search import FoundFeedbacks, search
from reporting.http.bodies import ArtifactsBody, LatestBody, PeriodBody, SearchBody, TurnsBody
from reporting.model.responses import Window
from reporting.model.selection import ConversationScope, Project
from reporting.turns.artifacts import Artifacts, artifacts
from reporting.turns.conversations import ConversationsInPeriod, conversations_in_period
from reporting.turns.latest import Latest, LatestQuestion, OwnFeedback, latest, own_feedback
from reporting.turns.turns import TurnsWithFeedbacks, turns_with_feedbacks
from servicekit.clock import Clock
from servicekit.web.auth import Caller, RequestCaller
from servicekit.web.routes import Routes

PROJECT = "/conversations/{tenant}/{project}"
CONVERSATION = PROJECT + "/{conversation_id:segment}"
FAILURES = {
    400: "The body is not readable, or the cursor or watermark belongs to another query.",
    401: "No valid access token.",
    403: "The token is not valid for this tenant, project or person, or lacks the scope.",
    413: "The body is too large.",
    422: "A path parameter, a query parameter or the body is invalid.",
    503: "The database is unavailable; retry after Retry-After.",
}
"""Error responses that every route may return."""


def conversations_router(
    pool: asyncpg.Pool,
    clock: Clock,
    artifact_store_url: str | None = None,
    access_log: AccessLog | None = None,
    current: asyncpg.Pool | None = None,
) -> Routes:
    """Return the query routes for conversations, turns and their feedback.

    Args:
        access_log: Log in which callers are recorded who get texts of messages or feedback.
        current: Connection pool for queries that return watermarks or must see the latest writes. Defaults to `pool`.
    """
    current = current or pool
    router = Routes("reporting", FAILURES)

    async def note(caller: Caller, project: Project, texts: Sized, action: AccessAction, about: str) -> None:
        """Record the caller unless the response has no texts."""
        if access_log is not None and texts:
            await access_log.note(caller.subject, *project, action, about)

    @router.at("POST", PROJECT + "/feedback/conversations-in-period", READ)
    async def period(tenant: Name, project: Name, body: PeriodBody, caller: RequestCaller) -> ConversationsInPeriod:
        """List the conversations with reactions in a period, most recently active first.

        No conversation is listed twice. If a conversation changes after the first page, it may be missing from later
        pages. A new query then lists it.
        """
        response = await conversations_in_period(
            current,
            Project(tenant, project),
            body.span,
            Window(start=body.start, end=body.end),
            include_turns=body.include_turns,
            limit=body.limit,
            cursor=body.cursor,
        )
        if body.include_turns:
            await note(caller, Project(tenant, project), response.items, "searched", "conversations-in-period")
        return response

    @router.at("POST", PROJECT + "/feedback/search", READ)
    async def find(tenant: Name, project: Name, body: SearchBody, caller: RequestCaller) -> FoundFeedbacks:
        """List the feedback records that match all filters, including replies to answers.

        The newest records come first, unless `sort` is `oldest`.
        """
        response = await search(
            pool,
            Project(tenant, project),
            body.span,
            body.filters,
            body.limit,
            body.cursor,
            oldest_first=body.sort == "oldest",
        )
        await note(caller, Project(tenant, project), response.items, "searched", "search")
        return response

    @router.at("POST", PROJECT + "/feedback/artifacts", READ)
    async def find_artifacts(tenant: Name, project: Name, body: ArtifactsBody, caller: RequestCaller) -> Artifacts:
        """Search for the artifacts of a conversation or a person: effective reactions and turn logs."""
        response = await artifacts(
            pool,
            Project(tenant, project),
            body.search(clock.now()),
            with_payload=body.with_payload,
            store_url=artifact_store_url,
        )
        await note(caller, Project(tenant, project), response.items, "searched", "artifacts")
        return response

    @router.at("POST", CONVERSATION + "/turns-with-feedbacks", READ)
    async def turns(
        tenant: Name, project: Name, conversation_id: Id, body: TurnsBody, caller: RequestCaller
    ) -> TurnsWithFeedbacks:
        """List the turns of a conversation in time order, with their texts and effective reactions."""
        since = max(0, clock.now() - body.days * DAY)
        scope = ConversationScope(tenant, project, conversation_id)
        async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            response = await turns_with_feedbacks(connection, scope, body.turn_ids, since, body.limit, body.cursor)
        await note(caller, Project(tenant, project), response.turns, "read", conversation_id)
        return response

    @router.at("POST", CONVERSATION + "/feedback/latest", (READ, DETECT))
    async def latest_feedback(
        tenant: Name, project: Name, conversation_id: Id, body: LatestBody, caller: RequestCaller
    ) -> Latest:
        """List the latest reaction of each changed turn, oldest change first.

        A null reaction means that the last reaction to the turn was retracted and none is left. To get only later
        changes, send the `watermark` of the last page with the next query. No change is missed, even if it was
        written concurrently.
        """
        scope = ConversationScope(tenant, project, conversation_id)
        query = LatestQuestion(body.turn_ids, body.since, body.watermark, body.limit, body.cursor)
        async with current.acquire() as connection:
            response = await latest(connection, scope, query)
        await note(caller, Project(tenant, project), response.items, "read", conversation_id)
        return response

    @router.at("GET", CONVERSATION + "/turns/{turn_id:segment}/feedback", "any token")
    async def own(
        tenant: Name,
        project: Name,
        conversation_id: Id,
        turn_id: Id,
        caller: RequestCaller,
        user_id: Annotated[Id | None, Query(description="Another person's id; needs the scope on_behalf.")] = None,
    ) -> OwnFeedback:
        """Get the caller's own feedback on a turn."""
        scope = ConversationScope(tenant, project, conversation_id)
        async with current.acquire() as connection:
            return await own_feedback(connection, scope, turn_id, caller.person(user_id))

    return router
