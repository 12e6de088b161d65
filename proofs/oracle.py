"""The expected state, computed from acknowledged records by the specification, without the services' code. No I/O.

The detector, a pure function, is an argument.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from uuid import UUID, uuid5

from contracts.instants import parse_instant
from detector.model import NEIGHBOURHOOD, Message, Neighbourhood, Verdict
from proofs.chaos.ledger import EXPLICIT, MESSAGE, REACTION, REPLY, Entry
from proofs.chaos.traffic import EMOJI
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


MessageKey = tuple[str, str, str, str]
"""Tenant, project, conversation, message."""
Event = dict[str, Any]
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
    messages: dict[MessageKey, list[Event]] = field(default_factory=dict)
    """All versions of each message."""


def recount(entries: Iterable[Entry]) -> Expected:
    """Compute the expected state from a ledger, independently of the order of its records."""
    expected = Expected()
    about: list[tuple[Entry, Event]] = []
    changes: dict[Key, dict[str, Change]] = {}
    for entry in entries:
        if entry.value is None:
            expected.letters.add(entry.coordinates)
            expected.letter_digests.add(entry.sha256)
            continue
        event = json.loads(entry.value)
        if entry.topic in (MESSAGE, REPLY):
            expected.messages.setdefault(_message_key(event, event["messageId"]), []).append(_message_in(entry, event))
        if entry.topic == EXPLICIT:
            _apply(changes, *_explicit(event))
        elif entry.topic != MESSAGE:
            about.append((entry, event))
    for entry, event in about:
        _judge(expected, changes, entry, event)
    expected.records = {key: _shown(_kind(key, slots), slots) for key, slots in changes.items()}
    return expected


def _kind(key: Key, slots: dict[str, Change]) -> str:
    if key.source == "api":
        return "explicit"
    return "implicit" if ONLY_SLOT in slots else "reaction"


def _judge(expected: Expected, changes: dict[Key, dict[str, Change]], entry: Entry, event: Event) -> None:
    wanted = event["originalMessageId"] if entry.topic == REPLY else event["messageId"]
    versions = expected.messages.get(_message_key(event, wanted), [])
    copy = event.get("original")
    sound = copy is not None and (copy["messageId"], copy["conversationId"]) == (wanted, event["conversationId"])
    original = copy if sound else max(versions, key=version) if versions else None
    if original is None:
        expected.parked.add((event["tenant"], event["project"], event["eventId"]))
    elif original["senderType"] == "agent":
        author = event["senderId"] if entry.topic == REPLY else event["userId"]
        change = _reply(event, original) if entry.topic == REPLY else _reaction(event, original)
        if author not in (original["agentId"], original["senderId"]) and change is not None:
            _apply(changes, *change)


def _message_key(event: Event, message: str) -> MessageKey:
    return event["tenant"], event["project"], event["conversationId"], message


def _message_in(entry: Entry, event: Event) -> Event:
    """Return the message in an event; a reply event has neither its turn nor its agent's name."""
    logged = {"logged": (entry.log_time, entry.partition, entry.offset)}
    if entry.topic == MESSAGE:
        return event | logged | {"rank": 1}
    return event | logged | {"rank": 0, "agentId": event["senderId"]}


def version(event: Event) -> tuple[int, int, int]:
    """Return the sort key of a message's versions: its own event before a reply event, then by time."""
    return event["rank"], parse_instant(event["occurredAt"]), event.get("sequence", -1)


def _apply(changes: dict[Key, dict[str, Change]], key: Key, slot: str, change: Change) -> None:
    slots = changes.setdefault(key, {})
    if slot not in slots or change[0] > slots[slot][0]:
        slots[slot] = change


def _shown(kind: str, slots: dict[str, Change]) -> Shown:
    stamp, live, reaction, value, turn = max(slots.values(), key=lambda change: (change[1], change[0]))
    return Shown(kind, live, reaction if live else None, value if live else None, stamp[0], turn)


def _stamp(event: Event, live: bool, event_id: str) -> tuple[int, int, bool, str]:
    return parse_instant(event["occurredAt"]), event.get("sequence", -1), not live, event_id


def _explicit(event: Event) -> tuple[Key, str, Change]:
    reaction = event["reaction"]
    scope = event["tenant"], event["project"], event["conversationId"]
    live = reaction is not None
    value = EXPLICIT_WORTH.get(reaction)
    change = _stamp(event, live, event["eventId"]), live, reaction, value, event["turnId"]
    return Key(*scope, "api", event["userId"], "", event["turnId"]), ONLY_SLOT, change


def _reply(event: Event, original: Event) -> tuple[Key, str, Change]:
    key = _chat_key(event, original, event["senderId"], event["messageId"])
    return key, ONLY_SLOT, (_stamp(event, True, _derived(event, REPLY)), True, None, 0.4, _turn(original))


def _reaction(event: Event, original: Event) -> tuple[Key, str, Change] | None:
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


def _chat_key(event: Event, original: Event, user: str, source_id: str) -> Key:
    return Key(event["tenant"], event["project"], event["conversationId"], "chat", user, original["agentId"], source_id)


def _turn(original: Event) -> str:
    turn: str = original.get("turnId") or original["messageId"]
    return turn


def _derived(event: Event, topic: str) -> str:
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


class Judge(Protocol):
    """The part of a detector that the oracle asks."""

    def judge(self, items: Sequence[Neighbourhood]) -> Sequence[Verdict]: ...


def expected_verdicts(
    messages: dict[MessageKey, list[Event]], detector: Judge, erased: Collection[tuple[str, str]] = ()
) -> dict[Key, Shown]:
    """Return the live feedback that the detector infers, except from messages of `erased` people (tenant, user)."""
    conversations: defaultdict[tuple[str, str, str], list[Message]] = defaultdict(list)
    for versions in sorted(messages.values(), key=_position):
        latest = max(versions, key=version)
        scope = latest["tenant"], latest["project"], latest["conversationId"]
        replies = max(event.get("originalMessageId", "") for event in versions)
        conversations[scope].append(_message(latest, _position(versions)[0], replies or None))
    verdicts: dict[Key, Shown] = {}
    for scope, conversation in conversations.items():
        judged = [one for one in neighbourhoods(conversation) if one.message.role == "human"]
        for neighbourhood, verdict in zip(judged, detector.judge(judged), strict=True):
            message = neighbourhood.message
            if verdict.emitted and verdict.target is not None and (scope[0], message.sender_id) not in erased:
                accepted = verdict.feedback == "accepted"
                key = Key(*scope, "inference", message.sender_id, "", f"{message.message_id}:implicit")
                reaction, value = ("ok", 0.5) if accepted else ("not_ok", -1.0)
                verdicts[key] = Shown("inferred", True, reaction, value, message.at, verdict.target.turn_id)
    return verdicts


def neighbourhoods(messages: Sequence[Message]) -> list[Neighbourhood]:
    """Return what the verdict on each of a conversation's messages depends on. The messages must be in order."""
    return [
        Neighbourhood(tuple(messages[max(0, number - NEIGHBOURHOOD) : number]), message)
        for number, message in enumerate(messages)
    ]


def _position(versions: Iterable[Event]) -> tuple[int, int, tuple[int, int, int]]:
    """Return the least time, sequence and position in the log (log time, partition, offset) of a message's versions."""
    return min((parse_instant(event["occurredAt"]), event.get("sequence", -1), event["logged"]) for event in versions)


def _message(event: Event, occurred_at: int, reply_to: str | None) -> Message:
    return Message(
        message_id=event["messageId"],
        turn_id=event.get("turnId") or event["messageId"],
        sender_id=event["senderId"],
        role=event["senderType"],
        agent_id=event.get("agentId") if event["senderType"] == "agent" else None,
        text=event["content"],
        at=occurred_at,
        reply_to=reply_to,
    )
