"""Dead letters: records that could not be processed, with their original bytes, position and failure reason."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence

from contracts.base import SHORTEST_EVENT
from contracts.headers import CAUSE, header
from contracts.topics import BY_NAME, FOREIGN
from servicekit.log.messages import Message
from servicekit.log.records import RawRecord, Unreadable
from servicekit.log.settings import MESSAGE_LIMIT

NoteDeadLetters = Callable[[Sequence[Unreadable]], Awaitable[None]]
"""Function that is called with records after their dead letters have been written. Must not raise."""
_MARGIN = 8_192
_KEY_LIMIT = 1_024
_CAUSE_LIMIT = 512


_OFFSETS_LIMIT = 32_768
"""Maximum length of the header with the offsets of joined records, in characters: enough for 1,000 of them."""


async def ignore_dead_letters(_: Sequence[Unreadable]) -> None:
    """Take no note of dead letters."""


def joined_records(refused: Sequence[Unreadable]) -> list[tuple[Unreadable, list[int]]]:
    """Group refused records so that each group needs only one dead letter.

    Records belong to the same group if they have the same partition, reason and content. The content is ignored for
    records that are too short to be an event, because it is useless for a replay. A few hundred kilobytes may contain a
    million such records, and a dead letter for each would block the partition for minutes.

    Returns:
        The first record of each group, with the offsets of all records in the group.
    """
    found: dict[object, tuple[Unreadable, list[int]]] = {}
    for one in refused:
        at = one.raw.coordinates
        same = (at.topic, at.partition, one.reason, _content_of(one.raw))
        found.setdefault(same, (one, []))[1].append(at.offset)
    return list(found.values())


def _content_of(raw: RawRecord) -> object:
    """Return the content by which records are grouped, or None for a record that is too short to be an event."""
    if raw.refused is None and len(raw.value or b"") < SHORTEST_EVENT:
        return None
    return raw.key, raw.value, tuple(raw.headers), raw.refused


def dead_letter(
    raw: RawRecord, *, service: str, reason: str, error_class: str, detail: str = "", offsets: Sequence[int] = ()
) -> Message:
    """Build the dead letter for `raw` and the records equal to it.

    If the record is too large to write, the dead letter contains the SHA-256 of its value instead of the value. A key
    of more than 1,024 bytes is omitted. The dead letter for an unread batch contains the batch's first offset and, if
    the batch was too large to decompress, the SHA-256 of its compressed bytes.

    Args:
        detail: A description of the error without user text.
        offsets: The offsets of all equal records, ascending. If there are several, their count and their ranges are
            added as headers.
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
    """Format ascending offsets as text such as `3-7,9`, with ranges for consecutive offsets.

    If the text is too long for a header, the last offsets are omitted.
    """
    found: list[list[int]] = []
    for offset in offsets:
        if found and found[-1][1] == offset - 1:
            found[-1][1] = offset
        else:
            found.append([offset, offset])
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)
    return text if len(text) <= _OFFSETS_LIMIT else text[:_OFFSETS_LIMIT].rpartition(",")[0]
