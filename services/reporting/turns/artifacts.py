"""Search for artifacts, which are effective reactions and turn logs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import asyncpg
from pydantic import Field

from contracts.instants import format_instant
from contracts.message_fields import TurnKey
from reporting.mirror.objects import TURN_LOG, WantedArtifact, content_of
from reporting.model.responses import REACTION_KIND, ResponseModel, Time
from reporting.model.selection import Project
from reporting.sql import SQL

Kind = Literal["turn.log.reaction", "turn.log"]
KINDS: Final[tuple[Kind, ...]] = ("turn.log.reaction", "turn.log")
Operator = Literal["=", "<>", "<", "<=", ">", ">="]
_VIEWS: Final[dict[Kind, str]] = {"turn.log.reaction": "reaction_artifacts", "turn.log": "turn_log_artifacts"}
_TURN_TAG: Final = "turn:"


@dataclass(frozen=True, slots=True)
class Search:
    """Search criteria. None matches everything. Times are in microseconds."""

    kinds: Sequence[Kind]
    conversation_id: str | None
    user_id: str | None
    all_tags: Sequence[str]
    since: int
    moments: Sequence[tuple[Operator, int]]
    oldest_first: bool
    limit: int


class Artifact(ResponseModel):
    """An artifact of a turn.

    `hosted_uri` is the URL of the payload in the object store, and null until the payload is stored there. When an
    artifact changes, it gets a new `hosted_uri` and the previous object is deleted. `user_id` is null if the person was
    erased. `payload` is null unless `with_payload` was set.
    """

    id: Annotated[str, Field(description="The artifact's resource name.")]
    role: Annotated[Literal["artifact"], Field(description="Always `artifact`.")]
    ts: Annotated[Time, Field(description="Time of the reaction or of the turn.")]
    tags: Annotated[list[str], Field(description="Kind, turn, origin and track of the artifact.")]
    text: Annotated[str, Field(description="The reaction or the log of the turn, as JSON.")]
    user_id: Annotated[str | None, Field(description="The person.")]
    conversation_id: Annotated[str, Field(description="The conversation, also called thread.")]
    turn_id: Annotated[str, Field(description="The turn: a person's question and the agent's answer to it.")]
    track_id: Annotated[str | None, Field(description="The platform's track that the answer belongs to.")]
    bundle_id: Annotated[str | None, Field(description="The platform's bundle that produced the answer.")]
    hosted_uri: Annotated[
        str | None, Field(description="URL of the payload in the object store; null until it is stored there.")
    ]
    payload: Annotated[dict[str, Any] | None, Field(description="The complete content; null unless requested.")]


class Artifacts(ResponseModel):
    items: Annotated[list[Artifact], Field(description="The results.")]


async def artifacts(
    pool: asyncpg.Pool, project: Project, search: Search, *, with_payload: bool, store_url: str | None
) -> Artifacts:
    """Return the artifacts that match, newest first by default.

    The payload of a turn log has the newest 1 MiB of reactions to its turn, like the object in the object store.
    """
    if not search.kinds:
        return Artifacts(items=[])
    rows = await pool.fetch(*_statement(project, search, with_payload))
    logs = [(row["conversation_id"], row["turn_id"]) for row in rows if with_payload and _is_log(row)]
    reactions: dict[tuple[str, str], list[WantedArtifact]] = {turn: [] for turn in logs}
    if logs:
        for row in await pool.fetch(*SQL.reactions_of_turn_logs.bulk(logs, **project._asdict())):
            reactions[row["conversation_id"], row["turn_id"]].append(_content(project, row, REACTION_KIND))
    return Artifacts(items=[_artifact(row, store_url, _payload(project, row, reactions)) for row in rows])


def _is_log(row: asyncpg.Record) -> bool:
    return f"artifact:{TURN_LOG}" in row["tags"]


def _content(project: Project, row: asyncpg.Record, kind: str) -> WantedArtifact:
    turn = TurnKey(*project, row["conversation_id"], row["turn_id"])
    return WantedArtifact(turn, row["id"], kind, row["occurred_at"], row["text"], json.loads(row["payload"]))


def _payload(
    project: Project, row: asyncpg.Record, reactions: Mapping[tuple[str, str], Sequence[WantedArtifact]]
) -> dict[str, Any] | None:
    if row["payload"] is None:
        return None
    kind = TURN_LOG if _is_log(row) else REACTION_KIND
    return content_of(_content(project, row, kind), reactions.get((row["conversation_id"], row["turn_id"]), ()))


def _statement(project: Project, search: Search, with_payload: bool) -> tuple[Any, ...]:
    values: dict[str, Any] = {**project._asdict(), "since": search.since, "limit": search.limit}
    clauses = ["tenant = :tenant", "project = :project", "occurred_at >= :since"]

    def also(name: str, clause: str, value: object) -> None:
        values[name] = value
        clauses.append(clause.format(name=f":{name}"))

    if search.conversation_id is not None:
        also("conversation_id", "conversation_id = {name}", search.conversation_id)
    if search.user_id is not None:
        also("user_id", "user_id = {name}", search.user_id)
    for n, tag in enumerate(search.all_tags):
        if tag.startswith(_TURN_TAG):
            also(f"turn_{n}", "turn_id = {name}", tag.removeprefix(_TURN_TAG))
    if search.all_tags:
        also("tags", "tags @> {name}::text[]", list(search.all_tags))
    for n, (operator, moment) in enumerate(search.moments):
        also(f"moment_{n}", f"occurred_at {operator} {{name}}", moment)
    order = "occurred_at, id" if search.oldest_first else "occurred_at desc, id"
    payload = "payload" if with_payload else "null::jsonb"
    parts = []
    for kind in search.kinds:
        theirs = [SQL.part("is_in_their_conversations")] if kind == "turn.log" and search.user_id is not None else []
        where = " and ".join([*clauses, *theirs])
        parts.append(SQL.part("artifacts_in", view=_VIEWS[kind], payload=payload, where=where, order=order))
    return SQL.search_artifacts.filled(rows=" union all ".join(parts), order=order)(**values)


def _artifact(row: asyncpg.Record, store_url: str | None, payload: dict[str, Any] | None) -> Artifact:
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
        payload=payload,
    )
