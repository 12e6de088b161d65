"""Types of feedback: records, their keys, and the changes in their slots."""

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
from contracts.message_fields import TurnKey
from contracts.provenance import NO_PROVENANCE, Provenance
from contracts.sources import REVIEW

ONLY_SLOT = ""
"""The single slot of a record. A reaction has one slot per emoji, unless a person's new emoji replaces the previous. A
removal in this slot also removes all earlier emojis in other slots."""


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
        return feedback_id(*self)


class Stamp(NamedTuple):
    """Sort key of the changes to a slot. The change with the highest stamp is effective.

    Stamps are comparable only within one detector. At equal times and sequences, a removal sorts after an
    addition. `event_id` and `digest` break ties, so different events never have equal stamps.

    Attributes:
        evaluation: 0 except for inferred feedback.
        occurred_at: Time of the event in microseconds.
        sequence: -1 if the event has no sequence.
        digest: Digest of the payload.
    """

    evaluation: int
    occurred_at: int
    sequence: int
    removed: bool
    event_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class Payload:
    """Content of a change.

    Except for `provenance`, the fields have the same names as in `feedback.created` and in the received event.

    `value` is the reward, from -1 to 1.
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
    rating: int | None = None
    worst_rating: int | None = None
    best_rating: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """Latest change to a slot.

    `present` is False if the change retracted the feedback.
    """

    stamp: Stamp
    present: bool
    payload: Payload

    @property
    def precedence(self) -> tuple[tuple[int, int], Stamp]:
        """Sort key of the changes to a slot: the detector's release and mode (only of verdicts), then the stamp."""
        return precedence(self.payload.detector), self.stamp


@dataclass(frozen=True)
class Record:
    """A stored feedback record.

    A record without slots was erased: only its ids and its revision are left.

    Attributes:
        slots: The latest change to each slot.
        revision: 0 before the record is stored.
        created_revision: The record's first revision.
        overruled_by: Feedback id of the review that replaces a machine's verdict.
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
        """The latest entry that is not retracted. If all entries are retracted, this is the latest one.

        Raises ValueError for an erased record.
        """
        removal = self.slots.get(ONLY_SLOT)
        bound = None if removal is None or removal.present else removal.precedence

        def rank(entry: Entry) -> tuple[bool, tuple[tuple[int, int], Stamp]]:
            return entry.present and (bound is None or entry.precedence > bound), entry.precedence

        return max(self.slots.values(), key=rank)

    @property
    def forgotten(self) -> bool:
        return not self.slots

    @property
    def live(self) -> bool:
        """True if the feedback counts: it is not erased, retracted or overruled."""
        return not self.forgotten and self.current_entry.present and self.overruled_by is None

    @property
    def live_reaction(self) -> Reaction | None:
        """The reaction of a live record. Stores repeat it beside the slots, to count records without parsing them."""
        return self.current_entry.payload.reaction if self.live else None

    @property
    def cleared(self) -> bool:
        return not self.forgotten and not self.live

    @property
    def turn(self) -> TurnKey:
        """The turn that the record is about. Raises ValueError for an erased record."""
        return TurnKey(self.key.tenant, self.key.project, self.key.conversation_id, self.current_entry.payload.turn_id)

    @property
    def is_verdict(self) -> bool:
        """True for a machine's verdict, even if it is retracted. False for an erased record."""
        return self.origin == "machine" and not self.forgotten

    @property
    def is_live_review(self) -> bool:
        return self.key.source == REVIEW and self.live


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a feedback record by one event."""

    key: Key
    feedback_type: FeedbackType
    origin: Origin
    slot: str
    entry: Entry
