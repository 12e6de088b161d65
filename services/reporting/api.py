"""The reporting HTTP API: questions about feedback, inside one tenant and project each."""

from __future__ import annotations

from typing import Annotated

import asyncpg
from fastapi import APIRouter, Depends, Path

from contracts.base import Id, Scope
from contracts.instants import DAY
from reporting.bodies import PeriodBody, TurnsBody
from reporting.cursor import decode
from reporting.errors import Route
from reporting.queries.conversations import ConversationsInPeriod, conversations_in_period
from reporting.queries.turns import TurnsWithFeedbacks, turns_with_feedbacks
from reporting.scope import Conversation, Project
from servicekit.auth import caller_in
from servicekit.clock import Clock

TenantPath = Annotated[Scope, Path(examples=["acme"])]
ProjectPath = Annotated[Scope, Path(examples=["support"])]
ConversationPath = Annotated[Id, Path(examples=["c-42"])]
TurnPath = Annotated[Id, Path(examples=["t-7"])]
PROJECT = "/conversations/{tenant}/{project}"
CONVERSATION = PROJECT + "/{conversation_id:path}"


def conversations_router(pool: asyncpg.Pool, clock: Clock) -> APIRouter:
    """Questions about conversations and their turns."""
    router = APIRouter(route_class=Route, dependencies=[Depends(caller_in)], tags=["reporting"])

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

    return router
