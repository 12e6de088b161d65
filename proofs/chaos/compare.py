"""Comparison of expected and actual sets, with the first difference in words. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar
from uuid import UUID

from proofs.chaos.logs import Announced, Letter
from proofs.oracle import Expected, Key, Shown, Slot, effective, turns_judged

Promise = Literal["P1", "P3", "P4", "P5", "P10"]
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one comparison: numbers of compared, missing and unexpected items, and the first difference in
    words."""

    promise: Promise
    what: str
    checked: int
    lost: int = 0
    extra: int = 0
    first: str = ""

    @property
    def holds(self) -> bool:
        return self.lost == 0 and self.extra == 0


@dataclass(frozen=True, slots=True)
class Stored:
    """State of a feedback record in the store."""

    shown: Shown
    revision: int


@dataclass(frozen=True)
class Observations:
    """State read from the stores after all groups have caught up."""

    stored: Mapping[Key, Stored]
    history: Collection[tuple[UUID, int, bool, str | None]]
    announced: Sequence[Announced]
    letters: Collection[Letter]
    parked: Collection[tuple[str, str, str]]
    people: Mapping[Slot, tuple[str, UUID]]
    machine: Mapping[UUID, str]
    messages: Collection[tuple[str, str, str, str]]
    judged_turns: Mapping[tuple[str, str, str, str], str]


def compare(expected: Expected, verdicts: Mapping[Key, Shown], seen: Observations) -> list[Finding]:
    """Return all findings, in the order of the guarantees. `verdicts` are those that the detector must infer."""
    people = {key: state.shown for key, state in seen.stored.items() if state.shown.kind != "inferred"}
    machine = {k: s.shown for k, s in seen.stored.items() if s.shown.kind == "inferred" and s.shown.live}
    live_machine = {key.feedback_id: shown.reaction for key, shown in machine.items()}
    return [
        sets("P1", "feedbacks in the store", expected.records.keys(), people.keys()),
        sets("P3", "what they show", expected.records.items(), people.items()),
        sets("P3", "the detector's verdicts", verdicts.items(), machine.items()),
        *_announcements(seen),
        _letters(expected, seen.letters),
        sets("P5", "parked events", expected.parked, seen.parked),
        sets("P10", "effective reactions of people", _flat(effective(expected.records)), _flat(seen.people)),
        sets("P10", "effective verdicts", live_machine.items(), seen.machine.items()),
        sets("P10", "messages in the reports", expected.messages.keys(), seen.messages),
        sets("P10", "turns as people judged them", turns_judged(expected.records).items(), seen.judged_turns.items()),
    ]


def _flat(reactions: Mapping[Slot, tuple[str, UUID]]) -> set[tuple[object, ...]]:
    return {(*slot, *value) for slot, value in reactions.items()}


def sets(promise: Promise, what: str, wanted: Iterable[T], seen: Iterable[T]) -> Finding:
    """Compare two sets."""
    left, right = set(wanted), set(seen)
    lost, extra = left - right, right - left
    first = ""
    if lost:
        one = min(lost, key=repr)
        first = f"{what}: {one} is missing{_instead(one, extra)}"
    elif extra:
        first = f"{what}: {min(extra, key=repr)} is there and should not be"
    return Finding(promise, what, len(left), len(lost), len(extra), first)


def _instead(one: object, extra: Collection[object]) -> str:
    """Describe the value found under the same key, or return an empty text if there is none."""
    if isinstance(one, tuple) and one:
        for other in extra:
            if isinstance(other, tuple) and other[0] == one[0] and other[:-2] == one[:-2]:
                return f"; instead there is {other}"
    return ""


def _announcements(seen: Observations) -> list[Finding]:
    last: dict[UUID, Announced] = {}
    highest: dict[UUID, Announced] = {}
    first_form: dict[tuple[UUID, int], tuple[str, Shown]] = {}
    orphans: set[tuple[object, ...]] = set()
    states = set(seen.history)
    for one in seen.announced:
        state = one.feedback_id, one.revision, one.shown.live, one.shown.reaction
        if state not in states:
            orphans.add((*state, "was announced and never stored"))
        form = one.event_id, one.shown
        if first_form.setdefault((one.feedback_id, one.revision), form) != form:
            orphans.add((*state, "was announced in two forms"))
        last[one.feedback_id] = one
        if one.feedback_id not in highest or highest[one.feedback_id].revision <= one.revision:
            highest[one.feedback_id] = one
    first = f"announcement: {min(orphans, key=repr)}" if orphans else ""
    return [
        announced_states("last announcements", seen.stored, highest.values()),
        Finding("P4", "announced states", len(seen.announced), 0, len(orphans), first),
        announced_states("what compaction keeps", seen.stored, last.values()),
    ]


def announced_states(what: str, stored: Mapping[Key, Stored], announced: Iterable[Announced]) -> Finding:
    """Compare the stored state of each feedback record with the announced one."""
    store = {(key.feedback_id, state.revision, state.shown) for key, state in stored.items()}
    return sets("P4", what, store, {(one.feedback_id, one.revision, one.shown) for one in announced})


def _letters(expected: Expected, letters: Collection[Letter]) -> Finding:
    lost = expected.letters - {letter.coordinates for letter in letters}
    # A record that the harness published twice has a second position with the same bytes.
    extra = [
        one for one in letters if one.coordinates not in expected.letters and one.sha256 not in expected.letter_digests
    ]
    first = ""
    if lost:
        first = f"dead letters: the unusable record at {min(lost)} is in none"
    elif extra:
        wrong = extra[0]
        first = (
            f"dead letters: the good record at {wrong.coordinates} was given up ({wrong.reason}; {wrong.written_by})"
        )
    return Finding("P5", "dead letters", len(expected.letters), len(lost), len(extra), first)
