"""Normalisation of emojis, and their rewards. No I/O."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, NamedTuple

import emoji
from pydantic import Field

from feedback.emoji_names import NAMES

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

    Accepts emojis, platforms' names (`emoji_names.py`) of one or several words, and `:shortcodes:` with or without
    colons. All variants of the
    red heart become the same emoji. An unknown ASCII name is returned in lower case between colons: `Foo` becomes
    `:foo:`. Any other text is only stripped of surrounding spaces.
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


def reward_of(written: str, rewards: Mapping[str, float] = DEFAULT_REWARDS) -> float | None:
    """Return the reward of an emoji, from -1 to 1, or None if it is not in `rewards`."""
    return rewards.get(normalise(written))


def changed_rewards(rewards: Mapping[str, float], changes: RewardChanges) -> dict[str, float]:
    """Return `rewards` with `changes` applied.

    The emojis in `changes` may have any spelling. None removes an emoji's reward.
    """
    changed: dict[str, float | None] = {**rewards, **{normalise(emoji): value for emoji, value in changes.items()}}
    return {emoji: value for emoji, value in changed.items() if value is not None}
