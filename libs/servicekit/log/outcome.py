"""Outcomes of records, for metrics, logs and the file of `agent-feedback up --outcomes`. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, Self

from contracts.topics import Consumer


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of handling a record.

    | kind | meaning |
    |---|---|
    | stored | the record has an effect, such as a changed row or a published event: `Outcome.STORED` |
    | unchanged | the record repeats one that was processed before: `Outcome.UNCHANGED` |
    | ignored | the record is valid but has no effect |
    | parked | the record waits for another one that has not arrived yet |
    | dead_lettered | the record cannot be processed and was written to the dead letters |

    `reason` is a short name; the first two kinds have none. `detail` is a readable description of the invalid
    field and the violated rule; comparisons ignore it. Neither contains user text.
    """

    kind: Literal["stored", "unchanged", "ignored", "parked", "dead_lettered"]
    reason: str = ""
    detail: str = field(default="", compare=False)

    STORED: ClassVar[Outcome]
    UNCHANGED: ClassVar[Outcome]

    @classmethod
    def ignored(cls, reason: str) -> Self:
        return cls("ignored", reason)

    @classmethod
    def parked(cls, reason: str) -> Self:
        return cls("parked", reason)

    @classmethod
    def dead_lettered(cls, reason: str, detail: str = "") -> Self:
        return cls("dead_lettered", reason, detail)


Outcome.STORED = Outcome("stored")
Outcome.UNCHANGED = Outcome("unchanged")
ERASED = Outcome.ignored("erased")
"""Outcome of a record that was ignored because its author has been erased."""
TOMBSTONE = Outcome.ignored("tombstone")
"""The outcome of tombstones that do not reach the handler."""


class RecordIds(NamedTuple):
    """Tenant, project and ids of an event. An id is None if it is missing or invalid."""

    tenant: str
    project: str
    event_id: str | None
    conversation_id: str | None
    message_id: str | None


class Observation(NamedTuple):
    """Outcome of a record, as passed to observers.

    `cause` is the log position of the chat record that the record derives from (see `cause_of`). `record` is the
    record's own position; it is set only if the record was dead-lettered, or if its outcome became known after its
    batch. `ids` are the ids of a dead-lettered record, as far as they could be read.
    """

    group: Consumer
    topic: str
    cause: str
    outcome: Outcome
    record: str = ""
    ids: RecordIds | None = None


Observer = Callable[[Observation], None]
