"""Recount of the accepted events, independent of their order and of the services' code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from contracts.instants import parse_instant
from contracts.topics import CHAT_MESSAGE, CHAT_REACTION, CHAT_REPLY, ERASURE_REQUESTED, EXPLICIT_RECEIVED
from detector.model import Message
from proofs.neighbourhoods import neighbourhoods
from proofs.simulation.history import Fields, Said
from proofs.simulation.stub_detector import judge

REWARDS = {"👍": 0.6, "❤️": 0.8, "👎": -0.6}
EXPLICIT = {"ok": 1.0, "neutral": 0.0, "not_ok": -1.0}
Key = tuple[str, ...]
"""Tenant, project, conversation, source, user, agent, source id."""
Where = tuple[str, str, str]
"""Tenant, conversation, message."""
Shown = tuple[Any, ...]
"""Live, value, content (emoji, reaction or text), microseconds."""


@dataclass
class Recount:
    """Expected final state; `inferred` holds live verdicts only, by (tenant, conversation, message)."""

    user: dict[Key, Shown] = field(default_factory=dict)
    inferred: dict[Key, tuple[str, str]] = field(default_factory=dict)
    parked: set[tuple[str, str]] = field(default_factory=set)
    dead: set[tuple[str, bytes | None]] = field(default_factory=set)


def recount(said: Iterable[Said]) -> Recount:
    found, erased = Recount(), set[tuple[str, str]]()
    known: dict[Where, list[Fields]] = defaultdict(list)
    changes: defaultdict[Key, dict[str, tuple[Any, ...]]] = defaultdict(dict)
    everything = list(said)
    for one in everything:
        if one.fields is None:
            found.dead.add((one.topic.name, one.value))
        elif one.topic is ERASURE_REQUESTED:
            erased.add((one.fields["tenant"], one.fields["userId"]))
        elif one.topic in (CHAT_MESSAGE, CHAT_REPLY):
            where = (one.fields["tenant"], one.fields["conversationId"], one.fields["messageId"])
            known[where].append(_message_in(one))
    for one in everything:
        event = one.fields
        if event is None or one.topic in (CHAT_MESSAGE, ERASURE_REQUESTED):
            continue
        if one.topic is EXPLICIT_RECEIVED:
            key = _key(event, "api", event["userId"], "", event["turnId"])
            reaction = event["reaction"]
            _apply(changes[key], "", event, reaction is not None, EXPLICIT.get(reaction), reaction)
            continue
        about = event["originalMessageId"] if one.topic is CHAT_REPLY else event["messageId"]
        inline = event.get("original")
        versions = known.get((event["tenant"], event["conversationId"], about))
        here = (about, event["conversationId"])
        copy = inline if inline and (inline["messageId"], inline["conversationId"]) == here else None
        original = copy or (versions[0] if versions else None)
        if original is None:
            found.parked.add((event["tenant"], event["eventId"]))
        elif original["senderType"] == "agent":
            author = event["senderId"] if one.topic is CHAT_REPLY else event["userId"]
            if author == "bot":
                continue
            if one.topic is CHAT_REPLY:
                key = _key(event, "chat", author, "bot", event["messageId"])
                _apply(changes[key], "", event, True, 0.4, event["content"])
            elif one.topic is CHAT_REACTION and event["emoji"] in REWARDS:
                key, value = _key(event, "chat", author, "bot", about), REWARDS[event["emoji"]]
                _apply(changes[key], event["emoji"], event, event["action"] == "added", value, event["emoji"])
    for key, slots in changes.items():
        if (key[0], key[4]) in erased:
            continue
        stamp, live, value, what = max(slots.values(), key=lambda change: (change[1], change[0]))
        found.user[key] = (live, value if live else None, what if live else None, stamp[0])
    found.inferred = dict(_verdicts(known, erased))
    return found


def _key(event: Fields, source: str, user: str, agent: str, source_id: str) -> Key:
    return (event["tenant"], event["project"], event["conversationId"], source, user, agent, source_id)


def _apply(slots: dict[str, tuple[Any, ...]], slot: str, event: Fields, live: bool, value: Any, what: Any) -> None:
    change = ((parse_instant(event["occurredAt"]), event["sequence"]), live, value, what)
    if slot not in slots or slots[slot][0] < change[0]:
        slots[slot] = change


def _message_in(one: Said) -> Fields:
    """Return the message in an event; a reply event has neither its turn nor its agent's name."""
    fields = one.fields or {}
    if one.topic is CHAT_MESSAGE:
        return fields | {"rank": 1}
    missing = {"turnId": fields["messageId"], "agentId": fields["senderId"]}
    return fields | missing | {"rank": 0, "replyToMessageId": fields["originalMessageId"]}


def _version(event: Fields) -> tuple[int, int, int]:
    return event["rank"], parse_instant(event["occurredAt"]), event["sequence"]


def _position(event: Fields) -> tuple[int, int]:
    return parse_instant(event["occurredAt"]), event["sequence"]


def _verdicts(known: dict[Where, list[Fields]], erased: set[tuple[str, str]]) -> Iterable[tuple[Key, tuple[str, str]]]:
    conversations: defaultdict[tuple[str, str], list[Message]] = defaultdict(list)
    for versions in sorted(known.values(), key=lambda versions: min(map(_position, versions))):
        last = max(versions, key=_version)
        message = Message(
            last["messageId"],
            last["turnId"],
            last["senderId"],
            last["senderType"],
            last["agentId"] if last["senderType"] == "agent" else None,
            last["content"],
            min(map(_position, versions))[0],
            max(event.get("replyToMessageId") or "" for event in versions) or None,
        )
        conversations[last["tenant"], last["conversationId"]].append(message)
    for where, messages in conversations.items():
        for neighbourhood in neighbourhoods(messages):
            message, verdict = neighbourhood.message, judge(neighbourhood)
            forgotten = (where[0], message.sender_id) in erased
            if message.role == "human" and not forgotten and verdict.emitted and verdict.target:
                yield (*where, message.message_id), (verdict.feedback, verdict.target.turn_id)
