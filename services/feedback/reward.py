"""From a received event to one word about one feedback. Pure; the rewards are the specification's constants."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from functools import singledispatch
from typing import Any

from contracts.base import FeedbackType, Origin, Reaction
from contracts.feedback import (
    FeedbackExplicitReceived,
    FeedbackInferredReceived,
    FeedbackReactionReceived,
    FeedbackReplyReceived,
)
from contracts.ids import canonical
from contracts.provenance import provenance_of
from feedback.emojis import DEFAULT_REWARDS, normalise, reward_of
from feedback.model import ONLY_SLOT, Change, Entry, Key, Payload, Stamp
from servicekit.outcome import Ignored

REPLY_VALUE = 0.4
EXPLICIT_VALUES: Mapping[Reaction, float] = {"ok": 1.0, "neutral": 0.0, "not_ok": -1.0}
INFERRED_VALUES: Mapping[str, float] = {"accepted": 0.5, "rejected": -1.0}
LEAST_CONFIDENCE = 0.70
"""A verdict below it is no feedback."""


_SAID = tuple(field.name for field in fields(Payload) if field.name != "provenance")


@singledispatch
def change_of(event: Any, rewards: Mapping[str, float] = DEFAULT_REWARDS) -> Change | Ignored:
    """The word that `event` says, or why it says none. `rewards` maps normalised emoji to -1..1."""
    raise TypeError(f"{type(event).__name__} is no feedback")


@change_of.register
def _(event: FeedbackReplyReceived, rewards: Mapping[str, float] = DEFAULT_REWARDS) -> Change | Ignored:
    if event.reply_sender_id == event.agent_id:
        return Ignored("self_feedback")
    payload = Payload(
        turn_id=event.turn_id,
        agent_id=event.agent_id,
        agent_message_id=event.agent_message_id,
        user_type=event.reply_sender_type,
        causation_id=event.event_id,
        value=REPLY_VALUE,
        text=event.reply_content,
        provenance=provenance_of(event),
    )
    key = _key(event, "chat", event.reply_sender_id, event.agent_id, event.message_id)
    return _change(event, key, "implicit", "user", ONLY_SLOT, True, payload)


@change_of.register
def _(event: FeedbackReactionReceived, rewards: Mapping[str, float] = DEFAULT_REWARDS) -> Change | Ignored:
    if event.reaction_user_id == event.agent_id:
        return Ignored("self_feedback")
    emoji = normalise(event.emoji)
    value = reward_of(event.emoji, rewards)
    if value is None:
        return Ignored("unmapped_emoji")
    payload = Payload(
        turn_id=event.turn_id,
        agent_id=event.agent_id,
        agent_message_id=event.agent_message_id,
        user_type=event.reaction_user_type,
        causation_id=event.event_id,
        reaction="ok" if value > 0 else "not_ok" if value < 0 else "neutral",
        value=value,
        emoji=emoji,
        provenance=provenance_of(event),
    )
    key = _key(event, "chat", event.reaction_user_id, event.agent_id, event.agent_message_id)
    return _change(event, key, "reaction", "user", emoji, event.action == "added", payload)


@change_of.register
def _(event: FeedbackExplicitReceived, rewards: Mapping[str, float] = DEFAULT_REWARDS) -> Change | Ignored:
    payload = Payload(
        turn_id=event.turn_id,
        agent_id=event.agent_id,
        agent_message_id=event.agent_message_id,
        user_type=event.user_type,
        causation_id=event.event_id,
        reaction=event.reaction,
        value=None if event.reaction is None else EXPLICIT_VALUES[event.reaction],
        text=event.text,
        tags=event.tags,
        correction=event.correction,
        provenance=provenance_of(event),
    )
    key = _key(event, "api", event.user_id, "", event.turn_id)
    return _change(event, key, "explicit", "user", ONLY_SLOT, event.reaction is not None, payload)


@change_of.register
def _(event: FeedbackInferredReceived, rewards: Mapping[str, float] = DEFAULT_REWARDS) -> Change | Ignored:
    verdict = event.verdict if event.confidence >= LEAST_CONFIDENCE else None
    payload = Payload(
        turn_id=event.turn_id,
        agent_id=event.agent_id,
        agent_message_id=event.target.message_id if event.target else None,
        user_type="human",
        causation_id=event.event_id,
        reaction=None if verdict is None else "ok" if verdict == "accepted" else "not_ok",
        value=None if verdict is None else INFERRED_VALUES[verdict],
        confidence=event.confidence,
        text=event.user_said,
        tags=event.rules,
        correction_type=event.correction_type,
    )
    source_id = f"{event.detected_in_message_id}:{event.detector}"
    key = _key(event, "inference", event.user_id, "", source_id)
    return _change(event, key, "inferred", "machine", ONLY_SLOT, verdict is not None, payload, event.evaluation)


def _key(event: Any, source: str, user_id: str, agent_id: str, source_id: str) -> Key:
    return Key(event.tenant, event.project, event.conversation_id, source, user_id, agent_id, source_id)


def _change(
    event: Any,
    key: Key,
    feedback_type: FeedbackType,
    origin: Origin,
    slot: str,
    present: bool,
    payload: Payload,
    evaluation: int = 0,
) -> Change:
    sequence = -1 if event.sequence is None else event.sequence
    stamp = Stamp(evaluation, event.occurred_at, sequence, not present, event.event_id, _digest(payload))
    return Change(key, feedback_type, origin, slot, Entry(stamp, present, payload))


def _digest(payload: Payload) -> str:
    said = [*(getattr(payload, name) for name in _SAID), tuple(payload.provenance.fields().values())]
    return hashlib.blake2b(canonical(*map(repr, said)).encode(), digest_size=16).hexdigest()
