"""Search of artifacts: effective reactions and turn logs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import asyncpg

from contracts.instants import format_instant
from reporting.answers import ResponseModel, Time
from reporting.selection import Project

Kind = Literal["turn.log.reaction", "turn.log"]
KINDS: Final[tuple[Kind, ...]] = ("turn.log.reaction", "turn.log")
Operator = Literal["=", "<>", "<", "<=", ">", ">="]
_VIEWS: Final[dict[Kind, str]] = {"turn.log.reaction": "reaction_artifacts", "turn.log": "turn_log_artifacts"}
_TURN_TAG: Final = "turn:"
_THEIR_CONVERSATIONS: Final = """
 and conversation_id = any(array(
    select distinct conversation_id from messages
    where tenant = $1 and project = $2 and sender_id = ${at} and sender_type = 'human'
))"""
_HOSTED: Final = """(
    select name from hosted_artifacts h
    where h.tenant = $1 and h.project = $2 and h.conversation_id = found.conversation_id and h.turn_id = found.turn_id
      and h.artifact = found.id and h.state = 'current'
) as hosted"""


@dataclass(frozen=True, slots=True)
class Search:
    """Search criteria. Times are in microseconds; None matches everything."""

    kinds: Sequence[Kind]
    conversation_id: str | None
    user_id: str | None
    all_tags: Sequence[str]
    since: int
    moments: Sequence[tuple[Operator, int]]
    oldest_first: bool
    limit: int


class Artifact(ResponseModel):
    """Artifact of a turn.

    `hosted_uri` is the payload's address in the object store, null if it is not there (yet). A changed artifact gets
    another `hosted_uri`, and the previous object is deleted. `user_id` is null after the person's erasure. `payload` is
    null unless `with_payload` was set.
    """

    id: str
    role: Literal["artifact"]
    ts: Time
    tags: list[str]
    text: str
    user_id: str | None
    conversation_id: str
    turn_id: str
    track_id: str | None
    bundle_id: str | None
    hosted_uri: str | None
    payload: dict[str, Any] | None


class Artifacts(ResponseModel):
    items: list[Artifact]


async def artifacts(
    pool: asyncpg.Pool, at: Project, search: Search, *, with_payload: bool, store_url: str | None
) -> Artifacts:
    """Return the matching artifacts, newest first by default."""
    if not search.kinds:
        return Artifacts(items=[])
    statement, values = _statement(at, search, with_payload)
    rows = await pool.fetch(statement, *values)
    return Artifacts(items=[_artifact(row, store_url) for row in rows])


def _statement(at: Project, search: Search, with_payload: bool) -> tuple[str, list[Any]]:
    values: list[Any] = [*at, search.since]
    clauses = ["tenant = $1", "project = $2", "occurred_at >= $3"]

    def also(column: str, operator: str, value: object, cast: str = "") -> None:
        values.append(value)
        clauses.append(f"{column} {operator} ${len(values)}{cast}")

    user_at = 0
    if search.conversation_id is not None:
        also("conversation_id", "=", search.conversation_id)
    if search.user_id is not None:
        also("user_id", "=", search.user_id)
        user_at = len(values)
    for tag in search.all_tags:
        if tag.startswith(_TURN_TAG):
            also("turn_id", "=", tag.removeprefix(_TURN_TAG))
    if search.all_tags:
        also("tags", "@>", list(search.all_tags), "::text[]")
    for operator, moment in search.moments:
        also("occurred_at", operator, moment)
    order = "occurred_at, id" if search.oldest_first else "occurred_at desc, id"
    values.append(search.limit)
    columns = "id, role, tags, text, user_id, conversation_id, turn_id, track_id, bundle_id, occurred_at"
    columns += ", payload" if with_payload else ", null::jsonb as payload"
    parts = []
    for kind in search.kinds:
        # A turn log's person is only known after grouping; selecting their conversations first keeps the groups few.
        theirs = _THEIR_CONVERSATIONS.format(at=user_at) if kind == "turn.log" and user_at else ""
        parts.append(
            f"(select {columns} from {_VIEWS[kind]} where {' and '.join(clauses)}{theirs}"
            f" order by {order} limit ${len(values)})"
        )
    found = f"select * from ({' union all '.join(parts)}) found order by {order} limit ${len(values)}"
    return f"select found.*, {_HOSTED} from ({found}) found order by {order}", values


def _artifact(row: asyncpg.Record, store_url: str | None) -> Artifact:
    return Artifact(
        id=row["id"],
        role=row["role"],
        ts=format_instant(row["occurred_at"]),
        tags=row["tags"],
        text=row["text"],
        user_id=row["user_id"] or None,
        conversation_id=row["conversation_id"],
        turn_id=row["turn_id"],
        track_id=row["track_id"],
        bundle_id=row["bundle_id"],
        hosted_uri=f"{store_url.rstrip('/')}/{row['hosted']}" if store_url and row["hosted"] else None,
        payload=None if row["payload"] is None else json.loads(row["payload"]),
    )
