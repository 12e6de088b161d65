"""Dead letters: records that could not be processed, with their original bytes, position and failure reason."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from contracts.base import SHORTEST_EVENT
from contracts.headers import CAUSE, header
from contracts.topics import BY_NAME, FOREIGN
from servicekit.log.handler import Slot
from servicekit.log.records import Message, RawRecord
from servicekit.log.settings import MESSAGE_LIMIT

CHUNK_BYTES = 4 * 1024 * 1024
"""Maximum total size of the values in one write of dead letters, in bytes; a larger value is written alone."""
_MARGIN = 8_192
_KEY_LIMIT = 1_024
_CAUSE_LIMIT = 512
_OFFSETS_LIMIT = 32_768
"""Maximum length of the header with the offsets of joined records, in characters: enough for 1,000 of them."""


class Letter(NamedTuple):
    """Dead letter of a record, or of several identical records; `slot` is the first of them."""

    slot: Slot
    message: Message

    @property
    def reason(self) -> str:
        assert self.slot.outcome is not None
        return self.slot.outcome.reason


def letters_of(slots: Sequence[Slot], service: str) -> Iterator[list[Letter]]:
    """Yield the dead letters of records in chunks whose values total at most `CHUNK_BYTES`.

    A larger record forms a chunk of its own.
    """
    chunk: list[Letter] = []
    size = 0
    for slot, offsets in _joined(slots):
        more = len(slot.raw.value or b"")
        if chunk and size + more > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        assert slot.outcome is not None
        reason, detail = slot.outcome.reason, slot.outcome.detail
        message = dead_letter(
            slot.raw, service=service, reason=reason, error_class="permanent", detail=detail, offsets=offsets
        )
        chunk.append(Letter(slot, message))
        size += more
    if chunk:
        yield chunk


def _joined(slots: Sequence[Slot]) -> Iterable[tuple[Slot, list[int]]]:
    """Group records so that each group needs only one dead letter.

    Records belong to the same group if they have the same partition, reason and content. The content is ignored for
    records that are too short to be an event, because it is useless for a replay. A few hundred kilobytes may contain a
    million such records, and a dead letter for each would block the partition for minutes.

    Returns:
        The first record of each group, with the offsets of all records in the group.
    """
    groups: dict[object, tuple[Slot, list[int]]] = {}
    for slot in slots:
        topic, partition, offset = slot.raw.coordinates
        key = (topic, partition, slot.outcome, _content_of(slot.raw))
        groups.setdefault(key, (slot, []))[1].append(offset)
    return groups.values()


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
    position = raw.coordinates
    headers: list[tuple[str, bytes]] = [
        ("reason", reason.encode()),
        ("error-class", error_class.encode()),
        ("detail", detail.encode("ascii", "replace")[:200]),
        ("topic", position.topic.encode()),
        ("partition", str(position.partition).encode()),
        ("offset", str(position.offset).encode()),
        ("timestamp", str(raw.first_log_time).encode()),
        ("service", service.encode()),
    ]
    cause = header(raw.headers, CAUSE)
    if cause and len(cause) <= _CAUSE_LIMIT and position.topic not in FOREIGN:
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
    topic = BY_NAME[position.topic].dead_letters if position.topic in BY_NAME else f"{position.topic}.dlq"
    key = None if raw.key is None or len(raw.key) > _KEY_LIMIT else raw.key.decode("utf-8", "replace")
    return Message(topic, key, value, headers)


def _ranges(offsets: Sequence[int]) -> str:
    """Format ascending offsets as text such as `3-7,9`, with ranges for consecutive offsets.

    If the text is too long for a header, the last offsets are omitted.
    """
    ranges: list[list[int]] = []
    for offset in offsets:
        if ranges and ranges[-1][1] == offset - 1:
            ranges[-1][1] = offset
        else:
            ranges.append([offset, offset])
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return text if len(text) <= _OFFSETS_LIMIT else text[:_OFFSETS_LIMIT].rpartition(",")[0]
