"""Outcomes of records, for metrics, logs, journals and the outcomes file. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, Self

from contracts.topics import Consumer
from servicekit.log.record_ids import RecordIds


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of handling one record.

    | kind | meaning |
    |---|---|
    | stored | a visible or forwarded value has changed: `Outcome.STORED` |
    | unchanged | the record repeats one that was processed before: `Outcome.UNCHANGED` |
    | ignored | the record is valid and has no effect |
    | parked | the record waits for another one that has not arrived |
    | dead_lettered | the record cannot be processed and was written to the dead letters |

    `reason` is a short name, empty for the first two kinds. `detail` names the invalid field and the rule, for people
    to read; comparisons ignore it. Neither contains user text.
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
"""The outcome of tombstones for handlers that ignore them."""


class Observation(NamedTuple):
    """The outcome of one record. `cause` has the coordinates of the chat record from which it derives (`cause_of`).

    `record` has the record's own coordinates, if it was dead-lettered or its outcome was late. `ids` are the ids in a
    dead-lettered record, if it names any.
    """

    group: Consumer
    topic: str
    cause: str
    outcome: Outcome
    record: str = ""
    ids: RecordIds | None = None


Observer = Callable[[Observation], None]
