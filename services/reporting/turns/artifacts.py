"""Search for artifacts, which are effective reactions and turn logs."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Annotated, Any, Final, Literal, Self

import asyncpg
from pydantic import ConfigDict, Field, StringConstraints, model_validator

from contracts.base import Id, Label
from contracts.instants import DAY, format_instant
from contracts.message_fields import TurnKey
from reporting.mirror.objects import TURN_LOG, WantedArtifact, content_of
from reporting.model.requests import Days, Limit, Moment, RequestBody
from reporting.model.responses import ResponseModel, Time
from reporting.model.selection import ALWAYS, Project
from reporting.sql import SQL

Kind = Literal["turn.log.reaction", "turn.log"]
KINDS: Final[tuple[Kind, ...]] = ("turn.log.reaction", "turn.log")
Operator = Literal["=", "<>", "<", "<=", ">", ">="]
_TURN_TAG: Final = "turn:"


Tag = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]


class MomentFilter(RequestBody):
    op: Annotated[Operator, Field(description="Comparison operator.")]
    value: Annotated[Moment, Field(description="The time to compare with, RFC 3339.")]


class ArtifactsBody(RequestBody):
    """Search for artifacts.

    The scope `conversation` requires `conversation_id`, and `user_id` is an optional filter. The scope `user` requires
    `user_id`, and `conversation_id` is an optional filter. For compatibility with older clients, kinds and tags may
    start with `kind:`.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"kinds": ["turn.log.reaction"], "conversation_id": "c-42"}]}
    )

    kinds: Annotated[list[Label], Field(max_length=10)] | None = Field(
        default=None, description="Kinds to find; null for all."
    )
    roles: Annotated[list[Label], Field(max_length=10)] | None = Field(
        default=None, description="Roles to find; null for all."
    )
    scope: Literal["conversation", "user"] = Field(
        default="conversation", description="Search in one conversation or for one person."
    )
    conversation_id: Annotated[Id | None, Field(description="The conversation to search.")] = None
    user_id: Annotated[Id | None, Field(description="The person to search for.")] = None
    all_tags: list[Tag] = Field(default=[], max_length=20, description="Tags; an artifact must have all of them.")
    days: Days = 365
    timestamp_filters: list[MomentFilter] = Field(
        default=[], max_length=10, description="Conditions on the time; all must hold."
    )
    sort: Annotated[
        Literal["recency", "newest", "oldest"], Field(description="`recency` is another name for `newest`.")
    ] = "newest"
    limit: Limit = 100
    with_payload: Annotated[
        bool, Field(strict=True, description="True to return each artifact's complete content.")
    ] = False

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if (self.conversation_id if self.scope == "conversation" else self.user_id) is None:
            raise ValueError(f"the scope {self.scope} needs {self.scope}_id")
        return self

    @property
    def wanted_kinds(self) -> list[Kind]:
        """The kinds to find; empty if `roles` is given without the role `artifact`."""
        kinds = KINDS if self.kinds is None else [_kind(name) for name in self.kinds]
        return [kind for kind in KINDS if kind in kinds and (self.roles is None or "artifact" in self.roles)]

    @property
    def tags(self) -> list[str]:
        """The tags as they are stored."""
        return [f"artifact:{_kind(tag)}" if tag.startswith("kind:") else tag for tag in self.all_tags]


def _kind(name: str) -> str:
    return name.removeprefix("kind:").removeprefix("artifact:")


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
    pool: asyncpg.Pool, project: Project, body: ArtifactsBody, now: int, store_url: str | None
) -> Artifacts:
    """Return the artifacts that match, newest first by default.

    The payload of a turn log has the newest 1 MiB of reactions to its turn, like the object in the object store.
    """
    rows = await pool.fetch(*_statement(project, body, now))
    logs = [(row["conversation_id"], row["turn_id"]) for row in rows if body.with_payload and row["kind"] == TURN_LOG]
    reactions: dict[TurnKey, list[WantedArtifact]] = defaultdict(list)
    if logs:
        for row in await pool.fetch(*SQL.reactions_of_turn_logs.bulk(logs, **project._asdict())):
            reaction = _wanted(project, row)
            reactions[reaction.turn].append(reaction)
    items = []
    for row in rows:
        wanted = _wanted(project, row) if body.with_payload else None
        items.append(_artifact(row, store_url, content_of(wanted, reactions[wanted.turn]) if wanted else None))
    return Artifacts(items=items)


def _wanted(project: Project, row: asyncpg.Record) -> WantedArtifact:
    turn = TurnKey(*project, row["conversation_id"], row["turn_id"])
    return WantedArtifact(turn, row["id"], row["kind"], row["occurred_at"], row["text"], json.loads(row["payload"]))


def _statement(project: Project, body: ArtifactsBody, now: int) -> tuple[Any, ...]:
    turns = {tag.removeprefix(_TURN_TAG) for tag in body.tags if tag.startswith(_TURN_TAG)}
    since, until = max(0, now - body.days * DAY), ALWAYS.end
    for moment in body.timestamp_filters:
        if moment.op in (">", ">=", "="):
            since = max(since, moment.value + (moment.op == ">"))
        if moment.op in ("<", "<=", "="):
            until = min(until, moment.value + (moment.op != "<"))
    return SQL.search_artifacts(
        **project._asdict(),
        kinds=body.wanted_kinds,
        conversation_id=body.conversation_id,
        user_id=body.user_id,
        turn_id=min(turns, default=None),
        tags=body.tags or None,
        since=since,
        until=until,
        not_at=[moment.value for moment in body.timestamp_filters if moment.op == "<>"],
        oldest_first=body.sort == "oldest",
        limit=body.limit,
        with_payload=body.with_payload,
    )


def _artifact(row: asyncpg.Record, store_url: str | None, payload: dict[str, Any] | None) -> Artifact:
    columns = ("id", "role", "tags", "text", "conversation_id", "turn_id", "track_id", "bundle_id")
    return Artifact(
        **{name: row[name] for name in columns},
        ts=format_instant(row["occurred_at"]),
        user_id=row["user_id"] or None,
        hosted_uri=f"{store_url.rstrip('/')}/{row['hosted']}" if store_url and row["hosted"] else None,
        payload=payload,
    )
