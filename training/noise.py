"""Noise of real text: case, apostrophes, typos, politeness, set phrases."""

from __future__ import annotations

import random
from typing import Final

_OPENERS: Final = {
    "rejected": (
        "No, ",
        "Hmm, ",
        "Sorry, but ",
        "Actually, ",
        "ugh, ",
        "Well, ",
        "Um, ",
        "But ",
        "Oh, ",
        "Wait, ",
        "ok but ",
    ),
    "accepted": ("Oh nice. ", "Ok. ", "Great. ", "Cool, ", "Ah, ", "Oh, ", "Hmm, ", "Yes. ", "Awesome. "),
    "neutral": ("Well, ", "Um, ", "Oh, ", "Sure, ", "Hmm, ", "ok. ", "So, "),
}
_PLEASE: Final = (" please", ", please", " if possible", " :)", "!", "...")
_EMOJI: Final = {"rejected": (" 🙄", " 😞", " 👎"), "accepted": (" 😊", " 👍", " 🙏"), "neutral": (" 🙂",)}
_BEFORE: Final = (
    "Sure! ",
    "Of course. ",
    "Great question! ",
    "Okay. ",
    "Certainly! ",
    "I see. ",
    "Thanks for asking. ",
    "Hmm. ",
)
_AFTER: Final = (
    " Let me know if you need anything else.",
    " I hope this helps!",
    " Is there anything else I can help you with?",
    " Would you like to know more?",
    " Feel free to ask.",
)


def spoken(text: str, rng: random.Random, label: str = "") -> str:
    """Return a person's line, sometimes with an opener, typed with more or less care."""
    if label and rng.random() < 0.15:
        opener = rng.choice(_OPENERS[label])
        text = opener + (text if text.startswith("I") else text[:1].lower() + text[1:])
    if label and rng.random() < 0.05:
        text = text.rstrip(".") + rng.choice(_PLEASE)
    if label and rng.random() < 0.03:
        text += rng.choice(_EMOJI[label])
    luck = rng.random()
    if luck < 0.35:
        text = text.lower()
    elif luck < 0.6:
        text = text[:1].upper() + text[1:]
    elif luck < 0.62:
        text = text.upper()
    if rng.random() < 0.12:
        text = text.replace("'", "")
    if rng.random() < 0.2:
        text = text.rstrip(".!")
    if rng.random() < 0.07:
        text = _typo(text, rng)
    if rng.random() < 0.05:
        text = text.replace(",", " ,").replace(".", " .").replace("?", " ?")
    return text


def answered(text: str, situation: str, rng: random.Random) -> str:
    """Return an agent's line with the set phrases of assistants."""
    if rng.random() < 0.15:
        text = rng.choice(_BEFORE) + text
    if situation in {"inform", "success"} and rng.random() < 0.15:
        text += rng.choice(_AFTER)
    return text


def _typo(text: str, rng: random.Random) -> str:
    """Swap two neighbouring letters, or drop one."""
    if len(text) < 5:
        return text
    at = rng.randrange(1, len(text) - 2)
    if rng.random() < 0.5:
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text[:at] + text[at + 1 :]
