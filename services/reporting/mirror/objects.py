"""Comparison of a turn's artifacts with the objects recorded in the database. No I/O.

The result is the list of objects to write to the object store or delete from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from contracts.instants import format_instant
from contracts.message_fields import TurnKey

TURN_LOG: Final = "turn.log"
_MARKS: Final = {"user": "[USER FEEDBACK]", "machine": "[FEEDBACK]", "reviewer": "[FEEDBACK]"}


class WantedArtifact(NamedTuple):
    """Artifact that should be in the object store. `occurred_at` is in microseconds.

    `payload` is the content of the object. For a turn log, the reactions to the turn are added to it.
    """

    turn: TurnKey
    id: str
    kind: str
    occurred_at: int
    text: str
    payload: Mapping[str, Any]


class Hosted(NamedTuple):
    """Database record of an object in the store.

    `artifact` is the artifact id. `digest` is the SHA-256 digest of the written content.
    """

    turn: TurnKey
    artifact: str
    name: str
    digest: bytes | None
    state: str


class Put(NamedTuple):
    """Object to write, with a new name."""

    turn: TurnKey
    artifact: str
    name: str
    body: bytes

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.body).digest()


class ReplicationPlan(NamedTuple):
    """Objects to write to the store and names of objects to delete from it.

    An object that is replaced is deleted only after its replacement has been written.
    """

    puts: Sequence[Put]
    to_delete: Sequence[str]
    replaced: Mapping[str, str]
    """Maps the names of new objects in `puts` to the names of the objects they replace."""


def replication_plan(
    wanted: Iterable[WantedArtifact], hosted: Iterable[Hosted], new_id: Callable[[], str]
) -> ReplicationPlan:
    """Compare the artifacts of turns with the recorded objects and return the necessary changes.

    Args:
        new_id: Generates the unguessable part of an object name.
    """
    bodies = {(item.turn, item.id): body_of(item, reactions) for item, reactions in _with_reactions(wanted)}
    current = {(item.turn, item.artifact): item for item in hosted if item.state == "current"}
    # An object in the state `writing` may be incomplete, or its write may still arrive.
    to_delete = [item.name for item in hosted if item.state == "writing"]
    to_delete += [item.name for key, item in current.items() if key not in bodies]
    puts, replaced = [], {}
    for (turn, artifact), body in bodies.items():
        put = Put(turn, artifact, name_of(turn, new_id()), body)
        there = current.get((turn, artifact))
        if there is not None and there.digest == put.digest:
            continue
        puts.append(put)
        if there is not None:
            replaced[put.name] = there.name
    return ReplicationPlan(puts, to_delete, replaced)


def name_of(turn: TurnKey, unique: str) -> str:
    """Return an object name. It contains the tenant and project, but no id of a person, conversation or turn."""
    return f"tenant={turn.tenant}/project={turn.project}/{unique}.json"


def body_of(artifact: WantedArtifact, reactions: Sequence[WantedArtifact]) -> bytes:
    """Return the content of an artifact's object as JSON."""
    return json.dumps(content_of(artifact, reactions), ensure_ascii=False, sort_keys=True).encode()


def content_of(artifact: WantedArtifact, reactions: Sequence[WantedArtifact]) -> dict[str, Any]:
    """Return the complete content of an artifact.

    In a turn log, the effective reactions to the turn are appended to `text` and listed in `feedbacks` and `entries`.
    """
    content = dict(artifact.payload)
    if artifact.kind == TURN_LOG:
        ordered = sorted(reactions, key=lambda reaction: (reaction.occurred_at, reaction.id))
        content |= {
            "text": "\n".join([artifact.text, *map(_as_text, ordered)]),
            "feedbacks": [reaction.payload["reaction"] | {"rn": reaction.id} for reaction in ordered],
            "entries": [
                {"kind": reaction.kind, "ts": format_instant(reaction.occurred_at), "text": _as_text(reaction)}
                for reaction in ordered
            ],
        }
    return content


def _as_text(artifact: WantedArtifact) -> str:
    reaction = artifact.payload["reaction"]
    mark = _MARKS[reaction["origin"]]
    comment = f"\n{reaction['text']}" if reaction["text"] else ""
    return f"{mark} [ts: {reaction['ts']}] reaction: {reaction['reaction']}{comment}"


def _with_reactions(artifacts: Iterable[WantedArtifact]) -> Iterable[tuple[WantedArtifact, Sequence[WantedArtifact]]]:
    of_turn: dict[TurnKey, list[WantedArtifact]] = {}
    for artifact in artifacts:
        of_turn.setdefault(artifact.turn, []).append(artifact)
    for several in of_turn.values():
        reactions = [artifact for artifact in several if artifact.kind != TURN_LOG]
        for artifact in several:
            yield artifact, reactions
