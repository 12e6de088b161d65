"""Expected final verdicts of the detector for the conversations in the ledger. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from contracts.instants import parse_instant
from detector.detector import Detector
from detector.model import Message
from proofs.chaos.recount import Key, Shown, Where, version
from proofs.neighbourhoods import neighbourhoods

Event = dict[str, Any]


def expected_verdicts(messages: dict[Where, list[Event]], detector: Detector) -> dict[Key, Shown]:
    """Return the live feedback that the detector finds, by key; `messages` has all versions of each message."""
    conversations: defaultdict[tuple[str, str, str], list[Message]] = defaultdict(list)
    for versions in sorted(messages.values(), key=_position):
        latest = max(versions, key=version)
        first, *_ = _position(versions)
        scope = latest["tenant"], latest["project"], latest["conversationId"]
        replies = max(event.get("originalMessageId", "") for event in versions)
        conversations[scope].append(_message(latest, first, replies or None))
    found: dict[Key, Shown] = {}
    for scope, conversation in conversations.items():
        found.update(_of_conversation(scope, conversation, detector))
    return found


def _position(versions: Iterable[Event]) -> tuple[int, int, tuple[int, int, int]]:
    """Return the least time, sequence and position in the log (log time, partition, offset) of a message's versions."""
    return min((parse_instant(event["occurredAt"]), event.get("sequence", -1), event["logged"]) for event in versions)


def _of_conversation(
    scope: tuple[str, str, str], messages: Sequence[Message], detector: Detector
) -> Iterable[tuple[Key, Shown]]:
    judged = [one for one in neighbourhoods(messages) if one.message.role == "human"]
    for neighbourhood, verdict in zip(judged, detector.judge(judged), strict=True):
        if not verdict.emitted or verdict.target is None:
            continue
        message = neighbourhood.message
        accepted = verdict.feedback == "accepted"
        key = Key(*scope, "inference", message.sender_id, "", f"{message.message_id}:implicit")
        value = 0.5 if accepted else -1.0
        yield key, Shown("inferred", True, "ok" if accepted else "not_ok", value, message.at, verdict.target.turn_id)


def _message(event: Event, at: int, reply_to: str | None) -> Message:
    return Message(
        message_id=event["messageId"],
        turn_id=event.get("turnId") or event["messageId"],
        sender_id=event["senderId"],
        role=event["senderType"],
        agent_id=event.get("agentId") if event["senderType"] == "agent" else None,
        text=event["content"],
        at=at,
        reply_to=reply_to,
    )
