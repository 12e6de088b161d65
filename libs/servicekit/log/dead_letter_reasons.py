"""Reasons for which the platform dead-letters a record, with a meaning and a remedy for operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

REASONS: Final[Mapping[str, tuple[str, str]]] = {
    "empty": ("the record has no value, and its topic has no tombstones", "tell the producer"),
    "invalid_json": ("the value is not one JSON object in UTF-8", "tell the producer"),
    "repeated_key": ("an object has the same name twice", "tell the producer"),
    "unknown_topic": ("no event belongs to the topic", "tell the producer; see `agent-feedback topics`"),
    "invalid_event": (
        "a field breaks its rule; the detail names it",
        "tell the producer; replaying helps only after the rule was changed",
    ),
    "too_short": ("the value has fewer than 64 bytes, and no event fits into them", "tell the producer"),
    "too_large": ("the record exceeds the size limit", "tell the producer"),
    "batch_too_large": (
        "a compressed batch unpacks to more than 8 MiB; the letter keeps its offsets and hash",
        "have the producer send smaller batches, and these records again",
    ),
    "batch_unreadable": (
        "the broker accepted a batch that cannot be read, for example because a header's name is not UTF-8; the letter "
        "keeps its offsets",
        "have the producer send these records again, in batches that a Kafka client can read",
    ),
    "future": (
        "occurredAt is more than five minutes ahead of the log",
        "set the producer's clock; replay when that time has come",
    ),
    "bug": ("our own code failed on it", "the log line `bug` names the place; replay after the release that fixes it"),
}
"""Meaning and remedy by reason."""


def meaning_of(reason: str, reasons: Mapping[str, tuple[str, str]]) -> str:
    """Return the meaning and remedy of a dead-letter reason as one sentence, or "" if the reason is unknown."""
    return "{}: {}".format(*reasons[reason]) if reason in reasons else ""
