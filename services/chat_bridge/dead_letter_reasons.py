"""Dead-letter reasons that only the bridge uses, each with its meaning and a remedy for operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

REASONS: Final[Mapping[str, tuple[str, str]]] = {
    "original_never_came": (
        "the message it is about was not published in that conversation within the parking time",
        "publish that message, then replay; or the producer names another conversation than the message's",
    ),
    "parking_full": (
        "a tenant's replies and reactions that wait for messages are too large together",
        "find out why, or raise CHAT_BRIDGE_PARKED_BYTES; then replay",
    ),
}
"""Meaning and remedy of each reason."""
