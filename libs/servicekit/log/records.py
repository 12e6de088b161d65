"""Kafka records: raw records with a parser that never raises, and messages to write. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar
from uuid import UUID

from jiter import from_json
from pydantic import ValidationError

from contracts.base import RECORD_LIMIT, SHORTEST_EVENT, Envelope
from contracts.feedback import FeedbackErased
from contracts.headers import CAUSE, REVISION, Headers, derived_headers, header, revision_named, trace_of
from contracts.ids import partition_of
from contracts.inbound import SPELLING
from contracts.log_time import at_log_time, future_fault
from contracts.topics import COMPACTED, FEEDBACK_CREATED, FOREIGN, Topic
from contracts.versions import LogPosition

UNPACKED_LIMIT = 8 * 1024 * 1024
"""Maximum size of a decompressed batch, in bytes. By default, clients limit a batch to about one megabyte."""
E = TypeVar("E", bound=Envelope)
R_co = TypeVar("R_co", bound=Envelope | FeedbackErased, covariant=True)
_LATEST = 2**63 - 1
"""Maximum log time, in microseconds. With this log time, no event counts as being from the future."""


class Coordinates(NamedTuple):
    """Position of a record in the log, written as `topic:partition:offset`."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}:{self.partition}:{self.offset}"


class RefusedBatch(NamedTuple):
    """Batch that was not read, with its first and last offset and the reason.

    If the batch would decompress to too many bytes, `packed` is its compressed size in bytes and `sha256` the digest of
    the compressed bytes.
    """

    first: int
    last: int
    packed: int
    sha256: str
    reason: str = "batch_too_large"


class RawRecord(NamedTuple):
    """Record as it is in the log, with an unparsed value.

    `log_time` is in microseconds. It is set by the log if `log_timed` is True; otherwise it is the time at which the
    record was read.

    `first_log_time` is the time at which the record's text first appeared in the log. For a replayed dead letter, that
    time is in a header. Any producer can forge the header, so it is ignored unless it is earlier than the log time. The
    worst effect of a forged header is that an erasure also covers this event.

    If `refused` is set, the record stands for a whole batch that was not read, and its offset is the batch's last one.
    """

    coordinates: Coordinates
    key: bytes | None
    value: bytes | None
    headers: Headers
    log_time: int
    refused: RefusedBatch | None = None
    replay_of: int | None = None
    log_timed: bool = False

    @property
    def first_log_time(self) -> int:
        return self.log_time if self.replay_of is None else self.replay_of


_WORDED = frozenset(
    (
        *("missing", "value_error", "literal_error", "string_type", "string_too_short", "string_too_long"),
        *("string_pattern_mismatch", "dict_type", "too_long", "int_type", "float_type", "bool_type", "finite_number"),
        *("greater_than_equal", "less_than_equal", SPELLING),
    )
)
"""Types of validation errors with messages that contain no input. For all other errors, only the type is shown."""
_TOO_SHORT = f"fewer than {SHORTEST_EVENT} bytes: required fields are missing"


class Received(NamedTuple, Generic[R_co]):
    """Parsed record."""

    event: R_co
    raw: RawRecord

    @classmethod
    def of_value(cls, topic: str, value: bytes, models: Mapping[str, type[E]]) -> Received[E] | Unreadable:
        """Parse an event that is not in the log yet. Never raises.

        Unlike `read`, this accepts an event with any time.
        """
        return read(RawRecord(Coordinates(topic, 0, 0), None, value, (), _LATEST), models)

    @classmethod
    def kept(
        cls, event: E, position: str, key: bytes | None, value: bytes, headers: Headers, log_time: int
    ) -> Received[E]:
        """Rebuild a record from the columns in which the service has stored it.

        Args:
            position: The record's log position as `topic:partition:offset`.
            log_time: The time at which the record's text first appeared in the log, in microseconds.
        """
        topic, partition, offset = position.rsplit(":", 2)
        raw = RawRecord(Coordinates(topic, int(partition), int(offset)), key, value, headers, log_time)
        return Received(event, raw)

    @property
    def topic(self) -> str:
        return self.raw.coordinates.topic

    @property
    def log_time(self) -> int:
        return self.raw.log_time

    @property
    def first_log_time(self) -> int:
        return self.raw.first_log_time

    @property
    def position(self) -> LogPosition:
        """The record's rank among records of the same event time."""
        return LogPosition(self.raw.first_log_time, self.raw.coordinates.partition, self.raw.coordinates.offset)

    @property
    def cause(self) -> str:
        """Log position of the chat record that this record derives from (see `cause_of`)."""
        return cause_of(self.raw)

    @property
    def traceparent(self) -> str | None:
        """Trace context of the record, or None if it is missing or malformed."""
        return trace_of(self.raw.headers)

    @property
    def derived_headers(self) -> list[tuple[str, bytes]]:
        """Headers for a record that a service derives from this one.

        They contain the cause, the trace context and, if this record is a replay, its first log time.
        """
        return derived_headers(self.cause, self.raw.replay_of, self.traceparent)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Record that cannot be read, with the reason as a short name and a description without user text."""

    raw: RawRecord
    reason: str
    detail: str


def cause_of(raw: RawRecord) -> str:
    """Return the log position of the chat record that `raw` derives from.

    A chat record is its own cause.
    """
    own = str(raw.coordinates)
    return own if raw.coordinates.topic in FOREIGN else header(raw.headers, CAUSE) or own


def is_tombstone(raw: RawRecord) -> bool:
    """Return True if the record is on a compacted topic and has a key but no value."""
    return raw.value is None and raw.key is not None and raw.coordinates.topic in COMPACTED


def read_tombstone(raw: RawRecord) -> Received[Any] | None:
    """Return the erasure that a feedback record's tombstone represents, or None for any other tombstone.

    A tombstone without a revision erases all revisions up to the time at which the tombstone was logged.
    """
    if raw.coordinates.topic != FEEDBACK_CREATED.name:
        return None
    try:
        feedback_id = UUID((raw.key or b"").decode("utf-8", "replace"))
    except ValueError:
        return None
    named = revision_named(raw.headers)
    return Received(FeedbackErased(feedback_id, raw.first_log_time // 1_000 if named is None else named), raw)


def read(raw: RawRecord, models: Mapping[str, type[E]], reference_time: int | None = None) -> Received[E] | Unreadable:
    """Parse a record's event, or return the reason why it cannot be read. Never raises.

    An event is rejected if its time is too far ahead of the log time.

    Args:
        models: The event model of each topic.
        reference_time: A time in microseconds that replaces the log time in this check. Judgements get their
            time from the log, but no later than this time.
    """
    value = raw.value
    if raw.refused is not None:
        return Unreadable(raw, raw.refused.reason, _in_words(raw.refused))
    if value is None:
        return Unreadable(raw, "empty", "the record has no value")
    # Parsing would also reject it, but is slow, and a megabyte of the log may contain many such records.
    if len(value) < SHORTEST_EVENT:
        return Unreadable(raw, "too_short", _TOO_SHORT)
    if len(value) > RECORD_LIMIT:
        return Unreadable(raw, "too_large", f"{len(value)} bytes, more than {RECORD_LIMIT}")
    model = models.get(raw.coordinates.topic)
    if model is None:
        return Unreadable(raw, "unknown_topic", "no event belongs to this topic")
    try:
        event = model.from_wire(value)
    except ValidationError as error:
        return Unreadable(raw, *_why(error))
    except (ValueError, RecursionError) as error:
        return Unreadable(raw, "invalid_json", type(error).__name__)
    if raw.log_timed:
        event = at_log_time(event, raw.first_log_time, raw.coordinates.offset, reference_time)
    if fault := future_fault(event.occurred_at, raw.log_time if reference_time is None else reference_time):
        return Unreadable(raw, *fault)
    try:
        from_json(value, catch_duplicate_keys=True)
    except ValueError:  # readers would disagree about the name's value
        return Unreadable(raw, "repeated_key", "a name stands twice in the object")
    return Received(event, raw)


def _in_words(refused: RefusedBatch) -> str:
    offsets = f"offsets {refused.first} to {refused.last}"
    if refused.reason == "batch_unreadable":
        return f"{offsets} are not as Kafka's clients write them"
    return f"{offsets} would unpack to more than {UNPACKED_LIMIT // 1024**2} MiB"


def _why(error: ValidationError) -> tuple[str, str]:
    """Return the dead-letter reason for a validation error, with a description of the first invalid field.

    A sender can choose field names only within `attributes`, so the description contains no name below it.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return "invalid_json", "not one JSON value in UTF-8"
    if not first["loc"] and first["type"] == "model_type":
        return "invalid_json", "not a JSON object"
    path = [str(part) for part in first["loc"]]
    if "attributes" in path:
        path = path[: path.index("attributes") + 1]
    where = ".".join(path)[:100]
    fault = first["msg"].removeprefix("Value error, ") if first["type"] in _WORDED else first["type"]
    return "invalid_event", f"{where or 'event'}: {fault[:1].lower()}{fault[1:]}"


@dataclass(frozen=True, slots=True)
class Message:
    """Record to write to the log; a tombstone if `value` is None.

    If `partition` is None, the murmur2 hash of `placed_by` selects the partition. If `placed_by` is also None, the hash
    of the key selects it. A record with `in_all_partitions` is also written to all other partitions of its topic.
    """

    topic: str
    key: str | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    placed_by: str | None = None
    in_all_partitions: bool = False

    @classmethod
    def of(cls, topic: Topic, event: Envelope, headers: Headers = ()) -> Self:
        """Return the record of `event` for `topic`. Its key selects the partition."""
        return cls(topic.name, topic.key(event), event.model_dump_json(by_alias=True).encode(), headers)

    @classmethod
    def tombstone(cls, topic: str, key: str, revision: int, headers: Headers, placed_by: str) -> Self:
        """Return the tombstone that deletes all revisions of the object `key` up to `revision`.

        It is written to all partitions, because earlier revisions may have been written before partitions were added.
        """
        headers = [*headers, (REVISION, str(revision).encode())]
        return cls(topic, key, None, headers, placed_by=placed_by, in_all_partitions=True)

    def partition_among(self, partitions: int) -> int:
        """Return the record's partition in a topic with this number of partitions."""
        if self.partition is not None:
            return self.partition
        return partition_of(self.placed_by or self.key or "", partitions)

    @property
    def size(self) -> int:
        """Upper bound of the record's size in the log, in bytes."""
        size = len(self.key or "") * 4 + len(self.value or b"") + 256
        for name, value in self.headers:
            size += len(name) + len(value or b"")  # values of foreign headers may be null
        return size


@dataclass(frozen=True, slots=True)
class Written:
    """Position of a written record in the log.

    `log_time` is the time that the log assigned, in microseconds. It is None if the log does not set timestamps.
    """

    topic: str
    partition: int
    offset: int
    log_time: int | None = None


class Producer(Protocol):
    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        """Write all records, in order within each partition, and wait until the log acknowledges them.

        Returns:
            The position of each record.

        Raises:
            MessageSizeTooLargeError: If a record is too large. No record is written.
            LogUnavailable: If the log does not acknowledge the write. Some or all records may have been written.
        """
        ...


def bytes_of(messages: Iterable[Message]) -> int:
    """Return an upper bound of the total size of the records in the log, in bytes."""
    return sum(message.size for message in messages)
