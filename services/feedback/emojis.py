"""Which reward an emoji stands for, however it was written. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

import emoji

DEFAULT_REWARDS: Mapping[str, float] = MappingProxyType(
    {"👍": 0.6, "❤": 0.8, "😂": 0.7, "😮": 0.5, "😢": -0.3, "👎": -0.6}
)
"""Reward by normalised emoji."""
NAMES: Mapping[str, str] = MappingProxyType(
    {"like": "👍", "love": "❤", "laugh": "😂", "wow": "😮", "sad": "😢", "dislike": "👎"}
)
"""Names that chats give their reactions, beside the shortcodes."""
_SKIN_TONES = {chr(code): None for code in range(0x1F3FB, 0x1F400)}
_VARIATION = {"\ufe0e": None, "\ufe0f": None}
_DROPPED = str.maketrans({**_SKIN_TONES, **_VARIATION})
_SKIN_TONE_NAME = re.compile(r"::?skin-tone-[1-6]:?$")


@lru_cache(maxsize=4_096)
def normalise(written: str) -> str:
    """The bare emoji behind a skin tone, a variation selector, blanks, one of NAMES or a `:shortcode:`.

    Colons may be missing. An ASCII word that names no emoji comes back in lower case between colons, anything else
    without blanks around it.
    """
    text = written.strip()
    if text.isascii():
        name = _SKIN_TONE_NAME.sub("", text.lower()).strip(":")
        text = NAMES.get(name) or emoji.emojize(f":{name}:", language="alias")
    return text.translate(_DROPPED)


def reward_of(written: str, rewards: Mapping[str, float] = DEFAULT_REWARDS) -> float | None:
    """The reward of an emoji (-1 to 1), or None where the table does not hold it."""
    return rewards.get(normalise(written))
