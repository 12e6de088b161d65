"""Dead letters: the original bytes, with where they came from and why they were given up."""

from __future__ import annotations

import hashlib

from contracts.topics import BY_NAME, FOREIGN
from servicekit.kafka.producer import Message
from servicekit.kafka.records import CAUSE, RawRecord, header
from servicekit.kafka.settings import MESSAGE_LIMIT

_MARGIN = 8_192
_KEY_LIMIT = 1_024
_CAUSE_LIMIT = 512


def dead_letter(raw: RawRecord, *, service: str, reason: str, error_class: str, detail: str = "") -> Message:
    """The letter for `raw`. One too large to write keeps the SHA-256 of its value and its coordinates only; a key of
    more than 1,024 bytes is left out. A batch too large to unpack has one letter, with the SHA-256 of its compressed
    bytes and its first offset besides; one that cannot be read has its first offset.

    `detail` says what was wrong in words without user text.
    """
    at = raw.coordinates
    headers: list[tuple[str, bytes]] = [
        ("reason", reason.encode()),
        ("error-class", error_class.encode()),
        ("detail", detail.encode("ascii", "replace")[:200]),
        ("topic", at.topic.encode()),
        ("partition", str(at.partition).encode()),
        ("offset", str(at.offset).encode()),
        ("timestamp", str(raw.first_log_time).encode()),
        ("service", service.encode()),
    ]
    cause = header(raw.headers, CAUSE)
    if cause and len(cause) <= _CAUSE_LIMIT and at.topic not in FOREIGN:
        headers.append((CAUSE, cause.encode()))
    value = raw.value
    if value is not None and len(value) > MESSAGE_LIMIT - _MARGIN:
        headers.append(("sha256", hashlib.sha256(value).hexdigest().encode()))
        headers.append(("bytes", str(len(value)).encode()))
        value = None
    if raw.refused is not None:
        if raw.refused.sha256:
            headers.append(("sha256", raw.refused.sha256.encode()))
            headers.append(("bytes", str(raw.refused.packed).encode()))
        headers.append(("first-offset", str(raw.refused.first).encode()))
    topic = BY_NAME[at.topic].dead_letters if at.topic in BY_NAME else f"{at.topic}.dlq"
    key = None if raw.key is None or len(raw.key) > _KEY_LIMIT else raw.key.decode("utf-8", "replace")
    return Message(topic, key, value, headers)
