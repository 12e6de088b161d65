"""Conversion of received events to changes of feedback records. No I/O.

The reward constants are from the specification.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache, singledispatch
from operator import attrgetter
from typing import Any

from contracts.base import Origin, Reaction
from contracts.chat import DELETED
from contracts.detectors import ANNOUNCEMENT_THRESHOLD
from contracts.feedback import (
    FeedbackExplicitReceived,
    FeedbackInferredReceived,
    FeedbackReactionReceived,
    FeedbackReplyReceived,
)
from contracts.fields import TAGS_LIMIT
from contracts.provenance import provenance_of
from contracts.sources import REVIEW, source_of
from feedback.emojis import DEFAULT_REWARDS, normalise, reward_of
from feedback.merge import UNMAPPED
from feedback.model import ONLY_SLOT, Change, Entry, Key, Payload, Stamp
from feedback.ratings import meaning_of
from servicekit.log.outcome import Outcome

REPLY_VALUE = 0.4
EXPLICIT_VALUES: Mapping[Reaction, float] = {"ok": 1.0, "neutral": 0.0, "not_ok": -1.0}
INFERRED_VALUES: Mapping[str, float] = {"accepted": 0.5, "rejected": -1.0}
AboutAnAnswer = FeedbackReplyReceived | FeedbackReactionReceived | FeedbackExplicitReceived | FeedbackInferredReceived

_PAYLOAD_FIELDS = tuple(field.name for field in fields(Payload) if field.name != "provenance")


@singledispatch
def change_of(event: Any, rewards: Mapping[str, float] = DEFAULT_REWARDS) -> Change | Outcome:
    """Return the change that an event makes to its record, or the outcome if the event is ignored.

    Args:
        rewards: Rewards from -1 to 1 by normalised emoji.

    Raises:
        TypeError: The event is not feedback.
    """
    raise TypeError(f"{type(event).__name__} is not a feedback event")


@change_of.register
def _(event: FeedbackReplyReceived, rewards: Mapping[str, float] = DEFAULT_REWARDS) -> Change | Outcome:
    if event.reply_sender_id == event.agent_id:
        return Outcome.ignored("self_feedback")
    payload = _payload(event, user_type=event.reply_sender_type, value=REPLY_VALUE, text=event.reply_content or None)
    key = _key(event, source_of(event.conversation_id), event.reply_sender_id, event.agent_id, event.message_id)
    return Change(key, "implicit", "user", ONLY_SLOT, _entry(event, payload, event.reply_content != DELETED))


@change_of.register
def _(event: FeedbackReactionReceived, rewards: Mapping[str, float] = DEFAULT_REWARDS) -> Change | Outcome:
    if event.reaction_user_id == event.agent_id:
        return Outcome.ignored("self_feedback")
    added = event.action == "added"
    emoji = None if event.emoji is None or (event.replaces and not added) else normalise(event.emoji)
    value = None if emoji is None else reward_of(emoji, rewards)
    if value is None and added and not event.replaces:  # The removal of an emoji needs no reward, see `applies`.
        return UNMAPPED
    reaction = None if value is None else "ok" if value > 0 else "not_ok" if value < 0 else "neutral"
    payload = _payload(event, user_type=event.reaction_user_type, reaction=reaction, value=value, emoji=emoji)
    # An emoji without a reward still replaces a person's single emoji.
    slot, present = (ONLY_SLOT, added and value is not None) if event.replaces else (emoji or ONLY_SLOT, added)
    key = _key(event, source_of(event.conversation_id), event.reaction_user_id, event.agent_id, event.agent_message_id)
    return Change(key, "reaction", "user", slot, _entry(event, payload, present))


@change_of.register
def _(event: FeedbackExplicitReceived, rewards: Mapping[str, float] = DEFAULT_REWARDS) -> Change | Outcome:
    entry = _entry(event, _payload(event, value=_explicit_value(event)), event.reaction is not None)
    origin: Origin = "user" if event.reviews is None else "reviewer"
    return Change(explicit_key(event), "explicit", origin, ONLY_SLOT, entry)


def explicit_key(event: FeedbackExplicitReceived) -> Key:
    """Return the key of the record that a judgement or a review changes."""
    return _key(event, "api" if event.reviews is None else REVIEW, event.user_id, "", event.turn_id)


def _explicit_value(event: FeedbackExplicitReceived) -> float | None:
    if event.reaction is None:
        return None
    if event.rating is None or event.worst_rating is None or event.best_rating is None:
        return EXPLICIT_VALUES[event.reaction]
    return meaning_of(event.rating, event.worst_rating, event.best_rating).value


@change_of.register
def _(event: FeedbackInferredReceived, rewards: Mapping[str, float] = DEFAULT_REWARDS) -> Change | Outcome:
    verdict = event.verdict if event.confidence >= ANNOUNCEMENT_THRESHOLD else None
    payload = _payload(
        event,
        agent_message_id=event.target.message_id if event.target else None,
        reaction=None if verdict is None else "ok" if verdict == "accepted" else "not_ok",
        value=None if verdict is None else INFERRED_VALUES[verdict],
        text=event.user_said,
        tags=event.rules[:TAGS_LIMIT],
        detector=event.detector_version,
    )
    key = _key(event, "inference", event.user_id, "", f"{event.detected_in_message_id}:{event.detector}")
    return Change(key, "inferred", "machine", ONLY_SLOT, _entry(event, payload, verdict is not None, event.evaluation))


def _payload(event: AboutAnAnswer, **decided: Any) -> Payload:
    """Build a payload from an event.

    The fields in `decided` override the event's fields.
    """
    names, values_of = _payload_fields_of(type(event))
    values = dict(zip(names, values_of(event), strict=True)) | decided
    values["causation_id"], values["provenance"] = event.event_id, provenance_of(event)
    return Payload(**values)


@cache
def _payload_fields_of(kind: type[AboutAnAnswer]) -> tuple[Sequence[str], Callable[[AboutAnAnswer], tuple[Any, ...]]]:
    """Return the names of the payload fields that this type of event has, and a function that reads them."""
    names = [name for name in _PAYLOAD_FIELDS if name in kind.model_fields]
    return names, attrgetter(*names)


def _key(event: Any, source: str, user_id: str, agent_id: str, source_id: str) -> Key:
    return Key(event.tenant, event.project, event.conversation_id, source, user_id, agent_id, source_id)


def _entry(event: Any, payload: Payload, present: bool, evaluation: int = 0) -> Entry:
    """Return the entry of a change with its stamp.

    A retraction drops text, tags and correction.
    """
    if not present:
        payload = replace(payload, text=None, tags=(), correction=None, correction_type=None)
    sequence = -1 if event.sequence is None else event.sequence
    stamp = Stamp(evaluation, event.occurred_at, sequence, not present, event.event_id, _digest(payload))
    return Entry(stamp, present, payload)


def _digest(payload: Payload) -> str:
    """Return a digest of the payload, which breaks ties between otherwise equal stamps."""
    return hashlib.blake2b(repr(payload).encode(), digest_size=16).hexdigest()
