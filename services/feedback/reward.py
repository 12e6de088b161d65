"""Conversion of received events to changes of feedback records, with the rewards of emojis. No I/O.

The rewards of replies, judgements and verdicts are given by the project's specification.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import lru_cache, singledispatch
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple

import emoji
from pydantic import Field

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
from feedback.emoji_names import NAMES
from feedback.model import ONLY_SLOT, UNMAPPED, Change, Entry, Key, Payload, Stamp
from servicekit.log.outcome import Outcome

RewardChanges = dict[str, Annotated[float, Field(ge=-1, le=1)] | None]
"""New rewards by emoji, in any spelling. None removes an emoji's reward."""


class EmojiReward(NamedTuple):
    """Reward of a group of emojis, and the reason for it.

    Attributes:
        emojis: The emojis, separated by spaces.
        value: The reward from -1 to 1, or None if the emojis have no reward.
    """

    emojis: str
    value: float | None
    reason: str


EMOJI_REWARDS: tuple[EmojiReward, ...] = (
    EmojiReward("👍", 0.6, "approval, the usual sign of a useful answer"),
    EmojiReward(
        "❤ ❤\u200d🔥 🧡 💛 💚 💙 💜 🤎 🖤 🤍 🩷 🩵 🩶 💕 💖 💗 💓 💞 💘 💝", 0.8, "affection: more than approval"
    ),
    EmojiReward("😍 🥰 🤩", 0.8, "delight: as much as a heart"),
    EmojiReward("💯", 0.8, "full marks: the answer is entirely right"),
    EmojiReward("😂 🤣 😆", 0.7, "amusement at an answer that is liked"),
    EmojiReward("👏 🙌", 0.7, "applause: praise for the answer"),
    EmojiReward("🎉 🥳 🏆 🍾", 0.7, "celebration: it worked"),
    EmojiReward("🔥 🚀", 0.7, "enthusiasm"),
    EmojiReward("🙏", 0.6, "thanks"),
    EmojiReward("👌", 0.6, "approval, as a thumb up"),
    EmojiReward("😀 😃 😄 😁 😊", 0.5, "a smile: friendlier than a reply, less than approval"),
    EmojiReward("😮 😲 🤯", 0.5, "astonishment, mostly at something good"),
    EmojiReward("😢 😞 ☹ 🙁 😕", -0.3, "sadness or confusion: the answer disappoints, without a verdict"),
    EmojiReward("😒 🙄 🥱", -0.5, "annoyance or boredom"),
    EmojiReward("👎 🤦", -0.6, "disapproval"),
    EmojiReward("❌", -0.6, "marked as wrong"),
    EmojiReward("😠 😡 🤬", -0.8, "anger"),
    EmojiReward("💩 🤮 🖕", -0.8, "disgust or an insult"),
    EmojiReward(
        "👀 ✅ ✔ 👋 ✍ 👨\u200d💻 💊 😴 🎅 🎄 ☃ 🎃 🍓 🌭 🍌 🐳 🦄 🌚",
        None,
        "says that a person is looking or present, or that something is done, but not how good the answer is",
    ),
    EmojiReward(
        "🤔 😬 🙂 🙃 😅 😭 😱 💀 😨 😐 🤨 💔 🤡 🥴 🤪 😈 👻 👾 🗿 🙈 🙉 🙊 🤓 😎 😇 🤗 🫡 🤝 🤷 💅 😘 💋 🕊 ⚡ 🆒",
        None,
        "has good and bad meanings: a wrong reward is worse than none",
    ),
)
"""Default rewards, in the order of the documentation. Emojis without a reward are listed with the reason."""
DEFAULT_REWARDS: Mapping[str, float] = MappingProxyType(
    {name: row.value for row in EMOJI_REWARDS if row.value is not None for name in row.emojis.split()}
)
"""Default reward by normalised emoji."""
_SKIN_TONES = {chr(code): None for code in range(0x1F3FB, 0x1F400)}
_VARIATION = {"\ufe0e": None, "\ufe0f": None}
_HEARTS = dict.fromkeys("♥♡❣❥", "❤")
"""Other characters for a red heart. Hearts of other colours remain different emojis."""
_DRAWN = str.maketrans({**_SKIN_TONES, **_VARIATION, **_HEARTS})
_GENDER = re.compile("\u200d[♀♂]")
_SKIN_TONE_NAME = re.compile(r"(?:::?skin-tone-[1-6]|_tone[1-5]|(?:_medium)?(?:_light|_dark|_medium)_skin_tone):?$")
_CODED = re.compile(r"([0-9a-f]{4,5}(?:-[0-9a-f]{4,5})*)_[a-z0-9_-]*")
"""Name of an emoji in Teams: its code points, an underscore and a word."""


@lru_cache(maxsize=4_096)
def normalise(written: str) -> str:
    """Return an emoji without skin tone, gender, variation selector and surrounding spaces.

    Accepts emojis, platforms' names (`emoji_names.py`) of one or several words, and shortcodes with or without colons.
    All variants of the red heart become the same emoji. An unknown ASCII name is returned in lower case between
    colons: `Foo` becomes `:foo:`. Any other text is only stripped of surrounding spaces.
    """
    text = written.strip()
    if text.isascii():
        text = _named(_SKIN_TONE_NAME.sub("", text.lower()).strip(":").replace(" ", "_"))
    return _GENDER.sub("", text.translate(_DRAWN))


def _named(name: str) -> str:
    """Return the emoji with this name, or the name between colons if it is unknown."""
    if coded := _CODED.fullmatch(name):
        characters = "".join(chr(int(code, 16)) for code in coded[1].split("-") if int(code, 16) <= sys.maxunicode)
        if emoji.is_emoji(characters):
            return characters
    return NAMES.get(name) or emoji.emojize(f":{name}:", language="alias")


def changed_rewards(rewards: Mapping[str, float], changes: RewardChanges) -> dict[str, float]:
    """Return `rewards` with `changes` applied.

    The emojis in `changes` may have any spelling. None removes an emoji's reward.
    """
    changed: dict[str, float | None] = {**rewards, **{normalise(emoji): value for emoji, value in changes.items()}}
    return {emoji: value for emoji, value in changed.items() if value is not None}


def value_of(rating: int, worst: int, best: int) -> float:
    """Return the reward of a rating: its position between the worst rating (-1) and the best rating (1).

    The reward of a rating near the middle is 0.

    Raises:
        ValueError: The rating is not on the scale.
    """
    if worst == best or not min(worst, best) <= rating <= max(worst, best):
        raise ValueError("a rating must be on its scale")
    value = (2 * rating - worst - best) / (best - worst)
    return 0.0 if abs(value) < ABSTAINS_BELOW else value


def reaction_of(value: float) -> Reaction:
    return "ok" if value > 0 else "not_ok" if value < 0 else "neutral"


ABSTAINS_BELOW: Final = 0.25
"""A rating whose reward is nearer to 0 than this is neutral, because a wrong reward is worse than none."""
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
    value = None if emoji is None else rewards.get(emoji)
    if value is None and added and not event.replaces:  # The removal of an emoji needs no reward, see `applies`.
        return UNMAPPED
    reaction = None if value is None else reaction_of(value)
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
    return value_of(event.rating, event.worst_rating, event.best_rating)


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
    names = type(event).model_fields
    values = {name: getattr(event, name) for name in _PAYLOAD_FIELDS if name in names} | decided
    values["causation_id"], values["provenance"] = event.event_id, provenance_of(event)
    return Payload(**values)


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
