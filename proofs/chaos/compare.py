"""Comparison of expected and actual sets, with the first difference in words. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from proofs.chaos.fault_table import Promise
from proofs.chaos.logs import Announced, Letter
from proofs.chaos.observed import Stored
from proofs.chaos.recount import Expected, Key, Shown, Slot, turns_judged

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


@dataclass(frozen=True)
class Observations:
    """State read from the stores after all groups have caught up."""

    stored: Mapping[Key, Stored]
    history: Collection[tuple[UUID, int, bool, str | None]]
    announced: Sequence[Announced]
    letters: Iterable[Letter]
    parked: Collection[tuple[str, str, str]]
    people: Mapping[Slot, tuple[str, UUID]]
    machine: Mapping[UUID, str]
    messages: Collection[tuple[str, str, str, str]]
    judged_turns: Mapping[tuple[str, str, str, str], str]


@dataclass
class Wanted:
    """State that the ledger requires. Conversations of `ignored_tenants` are compared only with each other."""

    expected: Expected
    effective: Mapping[Slot, tuple[str, UUID]]
    verdicts: Mapping[Key, Shown]
    ignored_tenants: frozenset[str] = frozenset()
    over_http: Expected = field(default_factory=Expected)
    """Part of `expected` that was accepted over HTTP."""


def compare(wanted: Wanted, seen: Observations) -> list[Finding]:
    """Return all findings, in the order of the guarantees."""
    people = {
        k: s for k, s in seen.stored.items() if s.shown.kind != "inferred" and k.tenant not in wanted.ignored_tenants
    }
    verdicts = {
        k: s.shown
        for k, s in seen.stored.items()
        if s.shown.kind == "inferred" and s.shown.live and k.tenant not in wanted.ignored_tenants
    }
    expected = wanted.expected
    live_machine = {
        k.feedback_id: s.shown.reaction for k, s in seen.stored.items() if s.shown.kind == "inferred" and s.shown.live
    }
    return [
        sets("P1", "feedbacks in the store", expected.records.keys(), people.keys()),
        sets("P3", "what they show", expected.records.items(), {k: s.shown for k, s in people.items()}.items()),
        sets("P3", "the detector's verdicts", wanted.verdicts.items(), verdicts.items()),
        _over_http(wanted.over_http, seen),
        *_announcements(seen),
        _letters(wanted, seen.letters),
        sets("P5", "parked events", expected.parked, {p for p in seen.parked if p[0] not in wanted.ignored_tenants}),
        sets("P10", "effective reactions of people", _of(wanted.effective, wanted), _of(seen.people, wanted)),
        sets("P10", "effective verdicts", live_machine.items(), seen.machine.items()),
        sets("P10", "messages in the reports", expected.messages.keys(),
             {m for m in seen.messages if m[0] not in wanted.ignored_tenants}),
        sets("P10", "turns as people judged them", turns_judged(expected.records).items(),
             {(turn, status) for turn, status in seen.judged_turns.items() if turn[0] not in wanted.ignored_tenants}),
    ]  # fmt: skip


def _over_http(accepted: Expected, seen: Observations) -> Finding:
    """Compare the events that were accepted over HTTP with the stored ones."""
    wanted = {*accepted.records, *accepted.messages}
    return sets("P1", "accepted over HTTP", wanted, wanted & {*seen.stored, *seen.messages})


def _of(found: Mapping[Slot, tuple[str, UUID]], wanted: Wanted) -> set[tuple[object, ...]]:
    return {(*slot, *value) for slot, value in found.items() if slot[0] not in wanted.ignored_tenants}


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
    said: dict[tuple[UUID, int], tuple[str, Shown]] = {}
    orphans: set[tuple[object, ...]] = set()
    states = set(seen.history)
    count = 0
    for one in seen.announced:
        count += 1
        state = one.feedback_id, one.revision, one.shown.live, one.shown.reaction
        if state not in states:
            orphans.add((*state, "was announced and never stored"))
        before = said.setdefault((one.feedback_id, one.revision), (one.event_id, one.shown))
        if before != (one.event_id, one.shown):
            orphans.add((*state, "was announced in two forms"))
        last[one.feedback_id] = one
        if one.feedback_id not in highest or highest[one.feedback_id].revision <= one.revision:
            highest[one.feedback_id] = one
    store = {(k.feedback_id, s.revision, s.shown) for k, s in seen.stored.items()}
    announced = {(one.feedback_id, one.revision, one.shown) for one in highest.values()}
    at_the_end = {(one.feedback_id, one.revision, one.shown) for one in last.values()}
    first = f"announcement: {min(orphans, key=repr)}" if orphans else ""
    return [
        sets("P4", "last announcements", store, announced),
        Finding("P4", "announced states", count, 0, len(orphans), first),
        sets("P4", "what compaction keeps", store, at_the_end),
    ]


def _letters(wanted: Wanted, letters: Iterable[Letter]) -> Finding:
    expected = wanted.expected
    held = list(letters)
    lost = expected.letters - {letter.place for letter in held}
    unheard = expected.hostile - {letter.sha256 for letter in held}
    digests = expected.letter_digests | expected.hostile
    # A record that the harness published twice has a second position with the same bytes.
    extra = [letter for letter in held if letter.place not in expected.letters and letter.sha256 not in digests]
    first = ""
    if lost:
        first = f"dead letters: the unusable record at {min(lost)} is in none"
    elif unheard:
        first = f"dead letters: an unusable event is in none (SHA-256 {min(unheard)})"
    elif extra:
        first = (
            f"dead letters: the good record at {extra[0].place} was given up ({extra[0].reason}; {extra[0].written_by})"
        )
    checked = len(expected.letters) + len(expected.hostile)
    return Finding("P5", "dead letters", checked, len(lost) + len(unheard), len(extra), first)
