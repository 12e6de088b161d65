"""Dead letters: the original bytes, with where they came from and why they were given up."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from contracts.topics import BY_NAME, FOREIGN
from servicekit.log.messages import Message
from servicekit.log.records import CAUSE, RawRecord, Unreadable, header
from servicekit.log.settings import MESSAGE_LIMIT

_MARGIN = 8_192
_KEY_LIMIT = 1_024
_CAUSE_LIMIT = 512


_OFFSETS_LIMIT = 1_000
"""Greatest number of characters of the header with the offsets of equal records."""


def equal_records(refused: Sequence[Unreadable]) -> list[tuple[Unreadable, list[int]]]:
    """Join records of a partition that are equal and have the same reason: the first, and the offsets of all.

    A few hundred kilobytes may hold a million empty records; one letter each would block the partition for minutes.
    """
    found: dict[object, tuple[Unreadable, list[int]]] = {}
    for one in refused:
        raw = one.raw
        at = raw.coordinates
        same = (at.topic, at.partition, one.reason, raw.key, raw.value, tuple(raw.headers), raw.refused)
        found.setdefault(same, (one, []))[1].append(at.offset)
    return list(found.values())


def dead_letter(
    raw: RawRecord, *, service: str, reason: str, error_class: str, detail: str = "", offsets: Sequence[int] = ()
) -> Message:
    """The letter for `raw`. One too large to write keeps the SHA-256 of its value and its coordinates only; a key of
    more than 1,024 bytes is left out. A batch too large to unpack has one letter, with the SHA-256 of its compressed
    bytes and its first offset besides; one that cannot be read has its first offset.

    `detail` says what was wrong in words without user text. `offsets` are those of all equal records that the letter
    stands for, ascending; of several it has their count and, as ranges in up to 1,000 characters, their offsets.
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
    if len(offsets) > 1:
        headers.append(("count", str(len(offsets)).encode()))
        headers.append(("offsets", _ranges(offsets).encode()))
    topic = BY_NAME[at.topic].dead_letters if at.topic in BY_NAME else f"{at.topic}.dlq"
    key = None if raw.key is None or len(raw.key) > _KEY_LIMIT else raw.key.decode("utf-8", "replace")
    return Message(topic, key, value, headers)


def _ranges(offsets: Sequence[int]) -> str:
    """Format ascending offsets, consecutive ones as a range: `3-7,9`. Offsets beyond the limit are left out."""
    found: list[list[int]] = []
    for offset in offsets:
        if found and found[-1][1] == offset - 1:
            found[-1][1] = offset
        else:
            found.append([offset, offset])
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)
    return text if len(text) <= _OFFSETS_LIMIT else text[:_OFFSETS_LIMIT].rpartition(",")[0]
