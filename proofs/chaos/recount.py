"""The expected state, computed from the ledger by the specification and without the services' code. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from contracts.instants import parse_instant
from proofs.chaos.ledger import Entry
from proofs.chaos.outgoing import EXPLICIT, MESSAGE, REACTION, REPLY
from proofs.chaos.phrases import EMOJI
from tests.support import effective_reactions as rule

NAMESPACE = UUID("6f0c1a52-3f43-5d0e-9a38-9d6b1f1f7c55")
MEANT = {written: (meant, worth) for written, meant, worth in EMOJI}
EXPLICIT_WORTH = {"ok": 1.0, "neutral": 0.0, "not_ok": -1.0}
STATUS = {"ok": "accepted", "neutral": "neutral", "not_ok": "rejected"}
ONLY_SLOT = ""
DERIVED = {REPLY: "feedback.reply.received", REACTION: "feedback.reaction.received"}


class Key(NamedTuple):
    tenant: str
    project: str
    conversation: str
    source: str
    user: str
    agent: str
    source_id: str

    @property
    def feedback_id(self) -> UUID:
        return _uuid(*self)


class Shown(NamedTuple):
    """Visible state of one feedback record. Reaction and value are None if it is cleared; `at` is in microseconds."""

    kind: str
    live: bool
    reaction: str | None
    value: float | None
    at: int
    turn: str


class Slot(NamedTuple):
    """Tenant, project, conversation, turn, user: at most one reaction of a person counts for each."""

    tenant: str
    project: str
    conversation: str
    turn: str
    user: str


Where = tuple[str, str, str, str]
"""Tenant, project, conversation, message."""
Change = tuple[tuple[int, int, bool, str], bool, str | None, float | None, str]
"""Stamp (time, sequence, removed, event id), live, reaction, value, turn."""


@dataclass
class Expected:
    """State expected after all groups have caught up.

    Parked events are keyed by (tenant, project, event id), dead letters by coordinates.
    """

    records: dict[Key, Shown] = field(default_factory=dict)
    parked: set[tuple[str, str, str]] = field(default_factory=set)
    letters: set[tuple[str, int, int]] = field(default_factory=set)
    letter_digests: set[str] = field(default_factory=set)
    hostile: set[str] = field(default_factory=set)
    """Digests of records of which all copies together must have one dead letter."""
    messages: dict[Where, list[dict[str, Any]]] = field(default_factory=dict)


def recount(entries: Iterable[Entry]) -> Expected:
    """Compute the expected state from a ledger, independently of the order of its records."""
    expected = Expected()
    about: list[tuple[Entry, dict[str, Any]]] = []
    changes: dict[Key, dict[str, Change]] = {}
    for entry in entries:
        if entry.fate != "good" or entry.value is None:
            _set_aside(expected, entry)
            continue
        event = json.loads(entry.value)
        if entry.topic in (MESSAGE, REPLY):
            expected.messages.setdefault(_where(event, event["messageId"]), []).append(_message_in(entry, event))
        if entry.topic == EXPLICIT:
            _apply(changes, *_explicit(event))
        elif entry.topic != MESSAGE:
            about.append((entry, event))
    for entry, event in about:
        _judge(expected, changes, entry, event)
    expected.records = {said: _shown(_kind(said, slots), slots) for said, slots in changes.items()}
    return expected


def _kind(key: Key, slots: dict[str, Change]) -> str:
    if key.source == "api":
        return "explicit"
    return "implicit" if ONLY_SLOT in slots else "reaction"


def _judge(expected: Expected, changes: dict[Key, dict[str, Change]], entry: Entry, event: dict[str, Any]) -> None:
    wanted = event["originalMessageId"] if entry.topic == REPLY else event["messageId"]
    known = expected.messages.get(_where(event, wanted), [])
    copy = event.get("original")
    sound = copy is not None and (copy["messageId"], copy["conversationId"]) == (wanted, event["conversationId"])
    original = copy if sound else max(known, key=version) if known else None
    if original is None:
        expected.parked.add((event["tenant"], event["project"], event["eventId"]))
    elif original["senderType"] == "agent":
        author = event["senderId"] if entry.topic == REPLY else event["userId"]
        said = _reply(event, original) if entry.topic == REPLY else _reaction(event, original)
        if author not in (original["agentId"], original["senderId"]) and said is not None:
            _apply(changes, *said)


def _where(event: dict[str, Any], message: str) -> Where:
    return event["tenant"], event["project"], event["conversationId"], message


def _message_in(entry: Entry, event: dict[str, Any]) -> dict[str, Any]:
    """Return the message in an event; a reply event has neither its turn nor its agent's name."""
    logged = {"logged": (entry.log_time, entry.partition, entry.offset)}
    if entry.topic == MESSAGE:
        return event | logged | {"rank": 1}
    return event | logged | {"rank": 0, "agentId": event["senderId"]}


def version(event: dict[str, Any]) -> tuple[int, int, int]:
    """Return the sort key of a message's versions: its own event before a reply event, then by time."""
    return event["rank"], parse_instant(event["occurredAt"]), event.get("sequence", -1)


def _set_aside(expected: Expected, entry: Entry) -> None:
    match entry.fate:
        case "hostile":
            expected.hostile.add(entry.sha256)
        case "either":
            expected.letter_digests.add(entry.sha256)
        case "poison":
            expected.letters.add(entry.place)
            expected.letter_digests.add(entry.sha256)


def _apply(changes: dict[Key, dict[str, Change]], key: Key, slot: str, change: Change) -> None:
    slots = changes.setdefault(key, {})
    if slot not in slots or change[0] > slots[slot][0]:
        slots[slot] = change


def _shown(kind: str, slots: dict[str, Change]) -> Shown:
    stamp, live, reaction, value, turn = max(slots.values(), key=lambda change: (change[1], change[0]))
    return Shown(kind, live, reaction if live else None, value if live else None, stamp[0], turn)


def _stamp(event: dict[str, Any], live: bool, event_id: str) -> tuple[int, int, bool, str]:
    return parse_instant(event["occurredAt"]), event.get("sequence", -1), not live, event_id


def _explicit(event: dict[str, Any]) -> tuple[Key, str, Change]:
    reaction = event["reaction"]
    scope = event["tenant"], event["project"], event["conversationId"]
    live = reaction is not None
    value = EXPLICIT_WORTH.get(reaction)
    change = _stamp(event, live, event["eventId"]), live, reaction, value, event["turnId"]
    return Key(*scope, "api", event["userId"], "", event["turnId"]), ONLY_SLOT, change


def _reply(event: dict[str, Any], original: dict[str, Any]) -> tuple[Key, str, Change]:
    key = _chat_key(event, original, event["senderId"], event["messageId"])
    return key, ONLY_SLOT, (_stamp(event, True, _derived(event, REPLY)), True, None, 0.4, _turn(original))


def _reaction(event: dict[str, Any], original: dict[str, Any]) -> tuple[Key, str, Change] | None:
    emoji, value = MEANT[event["emoji"]]
    if value is None:
        return None
    live = event.get("action", "added") == "added"
    key = _chat_key(event, original, event["userId"], original["messageId"])
    change = (
        _stamp(event, live, _derived(event, REACTION)),
        live,
        "ok" if value > 0 else "not_ok",
        value,
        _turn(original),
    )
    return key, emoji, change


def _chat_key(event: dict[str, Any], original: dict[str, Any], user: str, source_id: str) -> Key:
    return Key(event["tenant"], event["project"], event["conversationId"], "chat", user, original["agentId"], source_id)


def _turn(original: dict[str, Any]) -> str:
    turn: str = original.get("turnId") or original["messageId"]
    return turn


def _derived(event: dict[str, Any], topic: str) -> str:
    subject = [event["conversationId"], event["messageId"], event["senderId" if topic == REPLY else "userId"]]
    if topic == REACTION:
        subject += [event["emoji"], event.get("action", "added")]
    return str(_uuid(event["tenant"], event["project"], DERIVED[topic], event["eventId"], *subject))


def _uuid(*parts: str) -> UUID:
    return uuid5(NAMESPACE, json.dumps(parts, ensure_ascii=False, separators=(",", ":")))


def effective(records: dict[Key, Shown]) -> dict[Slot, tuple[str, UUID]]:
    """Return the reaction that counts for each person and turn."""
    counting = rule.effective(_reactions_of_people(records))
    return {Slot(*one.turn, one.user_id): (str(one.reaction), one.feedback_id) for one in counting}


def turns_judged(records: dict[Key, Shown]) -> dict[tuple[str, str, str, str], str]:
    """Return the status that people give each turn."""
    chosen = rule.status_of_turns(_reactions_of_people(records))
    return {turn: STATUS[str(one.reaction)] for turn, one in chosen.items()}


def _reactions_of_people(records: dict[Key, Shown]) -> Iterable[rule.TurnReaction]:
    for key, shown in records.items():
        if shown.kind in ("reaction", "explicit"):
            turn = (key.tenant, key.project, key.conversation, shown.turn)
            fields: Any = (key.feedback_id, turn, key.user, "user", shown.kind, shown.reaction, shown.at)
            yield rule.TurnReaction(*fields)
