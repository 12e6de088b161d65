"""Types of feedback: a record with its key, and the latest change of each of its slots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple
from uuid import UUID

from contracts.base import CorrectionType, DecidedBy, FeedbackType, Origin, Reaction, UserType
from contracts.detectors import precedence
from contracts.erasure import Person
from contracts.ids import feedback_id
from contracts.provenance import NO_PROVENANCE, Provenance
from contracts.sources import REVIEW
from feedback.registry import TurnKey

ONLY_SLOT = ""
"""The only slot of a record, except for reactions. Reactions have one slot for each emoji."""


class Key(NamedTuple):
    """Key of a feedback record. It includes the tenant, so a tenant cannot write records of another tenant."""

    tenant: str
    project: str
    conversation_id: str
    source: str
    user_id: str
    agent_id: str
    source_id: str

    @property
    def person(self) -> Person:
        return Person(self.tenant, self.user_id)

    @property
    def feedback_id(self) -> UUID:
        return feedback_id(
            self.tenant,
            self.project,
            self.conversation_id,
            source=self.source,
            user_id=self.user_id,
            agent_id=self.agent_id,
            source_id=self.source_id,
        )


class Stamp(NamedTuple):
    """Sort key of the changes of a slot, within an epoch and detector. The highest stamp counts.

    `evaluation` is 0 except for inferred feedback. Of an addition and a removal with the same time, the removal is
    higher. `event_id` and `digest` (of the payload) break ties, so that two different events never have equal stamps.
    """

    evaluation: int
    occurred_at: int
    sequence: int
    removed: bool
    event_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class Payload:
    """Content of a change. `value` is the reward, from -1 to 1.

    All fields except `provenance` are named as in `feedback.created`, and as in the received event if they are in
    it.
    A field that was added to the model later is None for events without it.
    """

    turn_id: str
    agent_id: str
    agent_message_id: str | None
    user_type: UserType
    causation_id: str
    reaction: Reaction | None = None
    value: float | None = None
    confidence: float = 1.0
    text: str | None = None
    tags: tuple[str, ...] = ()
    correction: str | None = None
    emoji: str | None = None
    correction_type: CorrectionType | None = None
    provenance: Provenance = NO_PROVENANCE
    reviews: str | None = None
    question_message_id: str | None = None
    thread_id: str | None = None
    detector: str | None = None
    decided_by: DecidedBy | None = None
    epoch: int | None = None
    rating: int | None = None
    scale: str | None = None
    worst_rating: int | None = None
    best_rating: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """Latest change of a slot. `present` is False if it retracted the feedback."""

    stamp: Stamp
    present: bool
    payload: Payload

    @property
    def precedence(self) -> tuple[int, str, Stamp]:
        """Sort key of all changes of a slot: the epoch and the detector of a verdict, then the stamp.

        Epoch and detector are read from the payload, because stored stamps have a fixed number of fields.
        """
        return self.payload.epoch or 0, precedence(self.payload.detector), self.stamp


@dataclass(frozen=True)
class Record:
    """Stored feedback record.

    `revision` is 0 if it is not stored yet. `created_revision` is its first revision. A record without slots is a stub:
    its person was erased, and only ids and the revision are left. `overruled_by` is the feedback id of the review that
    replaces a machine's verdict.
    """

    key: Key
    feedback_type: FeedbackType
    origin: Origin
    slots: Mapping[str, Entry] = field(default_factory=dict)
    revision: int = 0
    created_revision: int = 0
    overruled_by: UUID | None = None

    @cached_property
    def feedback_id(self) -> UUID:
        return self.key.feedback_id

    @cached_property
    def current_entry(self) -> Entry:
        """The latest present entry, or the latest retracted one if none is present. Raises ValueError for a stub."""
        entries = self.slots.values()
        return max(entries, key=lambda entry: (entry.present, entry.precedence))

    @property
    def forgotten(self) -> bool:
        return not self.slots

    @property
    def live(self) -> bool:
        """True if the record counts: it is not erased, retracted or overruled."""
        return not self.forgotten and self.current_entry.present and self.overruled_by is None

    @property
    def cleared(self) -> bool:
        return not self.forgotten and not self.live

    @property
    def turn(self) -> TurnKey:
        """The turn that the record is about. Raises ValueError for a stub."""
        return TurnKey(self.key.tenant, self.key.project, self.key.conversation_id, self.current_entry.payload.turn_id)

    @property
    def is_verdict(self) -> bool:
        """True for a machine's verdict, even if it is retracted; False for a stub."""
        return self.origin == "machine" and not self.forgotten

    @property
    def is_live_review(self) -> bool:
        return self.key.source == REVIEW and self.live


@dataclass(frozen=True, slots=True)
class Change:
    """Change of a record, caused by one event."""

    key: Key
    feedback_type: FeedbackType
    origin: Origin
    slot: str
    entry: Entry
