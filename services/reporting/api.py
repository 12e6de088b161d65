"""The reporting HTTP API: questions about feedback, inside one tenant and project each."""

from __future__ import annotations

from typing import Annotated

import asyncpg
from fastapi import APIRouter, Depends, HTTPException, Path, Query

from contracts.base import Id, Scope
from contracts.instants import DAY
from reporting.bodies import ArtifactsBody, LatestBody, PeriodBody, TurnsBody
from reporting.cursor import decode
from reporting.errors import FAILURES, Route
from reporting.queries.artifacts import Artifacts, artifacts
from reporting.queries.conversations import ConversationsInPeriod, conversations_in_period
from reporting.queries.latest import Latest, OwnFeedback, latest, own_feedback
from reporting.queries.turns import TurnsWithFeedbacks, turns_with_feedbacks
from reporting.scope import Conversation, Project
from servicekit.auth import ON_BEHALF, Caller, caller_in
from servicekit.clock import Clock

TenantPath = Annotated[Scope, Path(examples=["acme"])]
ProjectPath = Annotated[Scope, Path(examples=["support"])]
ConversationPath = Annotated[Id, Path(examples=["c-42"])]
TurnPath = Annotated[Id, Path(examples=["t-7"])]
PROJECT = "/conversations/{tenant}/{project}"
CONVERSATION = PROJECT + "/{conversation_id:path}"


def conversations_router(pool: asyncpg.Pool, clock: Clock, hosted_uri_base: str | None = None) -> APIRouter:
    """Questions about conversations and their turns."""
    router = APIRouter(route_class=Route, dependencies=[Depends(caller_in)], responses=FAILURES, tags=["reporting"])

    @router.post(PROJECT + "/feedback/conversations-in-period")
    async def period(tenant: TenantPath, project: ProjectPath, body: PeriodBody) -> ConversationsInPeriod:
        """Conversations with reactions in a window, newest activity first; `next_cursor` is null at the end."""
        return await conversations_in_period(
            pool,
            Project(tenant, project),
            body.span,
            include_turns=body.include_turns,
            limit=body.limit,
            cursor=decode(body.cursor) if body.cursor else None,
        )

    @router.post(PROJECT + "/feedback/artifacts")
    async def search(tenant: TenantPath, project: ProjectPath, body: ArtifactsBody) -> Artifacts:
        """The index search: reaction artifacts and turn logs of a conversation or a person."""
        return await artifacts(
            pool,
            Project(tenant, project),
            body.search(clock.now()),
            with_payload=body.with_payload,
            hosted_uri_base=hosted_uri_base,
        )

    @router.post(CONVERSATION + "/turns-with-feedbacks")
    async def turns(
        tenant: TenantPath, project: ProjectPath, conversation_id: ConversationPath, body: TurnsBody
    ) -> TurnsWithFeedbacks:
        """The conversation's turns with their texts and the reactions that count."""
        since = max(0, clock.now() - body.days * DAY)
        async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            return await turns_with_feedbacks(
                connection, Conversation(tenant, project, conversation_id), body.turn_ids, since
            )

    @router.post(CONVERSATION + "/feedback/latest")
    async def latest_feedback(
        tenant: TenantPath, project: ProjectPath, conversation_id: ConversationPath, body: LatestBody
    ) -> Latest:
        """The latest reaction of each turn that changed since a moment; taken back ones come with reaction null."""
        since = -1 if body.since is None else body.since
        async with pool.acquire() as connection:
            return await latest(connection, Conversation(tenant, project, conversation_id), body.turn_ids, since)

    @router.get(CONVERSATION + "/turns/{turn_id:path}/feedback")
    async def own(
        tenant: TenantPath,
        project: ProjectPath,
        conversation_id: ConversationPath,
        turn_id: TurnPath,
        caller: Annotated[Caller, Depends(caller_in)],
        user_id: Annotated[Id | None, Query(description="Another person's; needs the scope on_behalf.")] = None,
    ) -> OwnFeedback:
        """What the caller holds on a turn."""
        if user_id not in (None, caller.subject) and ON_BEHALF not in caller.scopes:
            raise HTTPException(403, "This token may not ask on behalf of others.")
        at = Conversation(tenant, project, conversation_id)
        async with pool.acquire() as connection:
            return await own_feedback(connection, at, turn_id, user_id or caller.subject)

    return router
