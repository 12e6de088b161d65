"""Names that chat platforms give to emojis, beyond those in the package `emoji`. No I/O.

The names are those that the platforms' clients and APIs send: Slack, Mattermost, Discord, Zulip, GitHub, Teams,
Messenger and LinkedIn. If platforms use a name for different emojis, the table has the one with the weaker reward.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_NAMES: Final = {
    "👍": "like thumbup thumbsup_all plusone",
    "👎": "dislike thumbdown",
    "❤": "love love_you <3",
    "💗": "heart_pulse",
    "💘": "heart_arrow smitten",
    "💛": "heart_of_gold",
    "💚": "envy",
    "💜": "bravery",
    "😍": "in_love",
    "🥰": "smiling_face_with_3_hearts adore crush care",
    "🤩": "grinning_face_with_star_eyes",
    "💯": "hundred",
    "😂": "haha tears laughter_tears",
    "😆": "lol",
    "👏": "applause celebrate",
    "🙌": "praise",
    "🎉": "hooray",
    "🔥": "lit hot flame",
    "🙏": "thank_you welcome namaste",
    "👌": "got_it",
    "😀": "happy",
    "😄": "laugh big_smile",
    "😮": "wow surprise surprised",
    "🤯": "shocked_face_with_exploding_head mind_blown shocked",
    "😢": "sad sorry",
    "🙁": "frown slight_frown",
    "☹": "big_frown frowning2",
    "😕": "oh_no half_frown concerned",
    "🙄": "rolling_eyes",
    "🥱": "bored yawn",
    "🤦": "face_palm man-facepalming woman-facepalming",
    "❌": "incorrect wrong",
    "😡": "mad grumpy very_angry pouting_face anger",
    "🤬": "serious_face_with_symbols_covering_mouth face_with_symbols_over_mouth swearing",
    "💩": "poo",
    "🤮": "face_with_open_mouth_vomiting puke vomit",
    "👀": "looking",
    "✅": "check all_good approved checkmark",
    "👋": "hello hi",
    "🤔": "thinking_face",
    "😬": "nervous anxious",
    "🙃": "upside_down oops",
}
NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {name: emoji for emoji, names in _NAMES.items() for name in names.split()}
)
"""Emoji by name."""
