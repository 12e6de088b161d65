"""Conversion of records fetched by aiokafka to our own record type."""

from __future__ import annotations

from aiokafka import ConsumerRecord

from contracts.headers import LOG_TIME, Headers, header
from servicekit.log.records import Coordinates, RawRecord, RefusedBatch

_LOG_TIME_DIGITS = 18
LOG_APPEND_TIME = 1
"""The `timestamp_type` of a record whose timestamp is set by the log instead of the producer."""


def raw_record(record: ConsumerRecord, now: int) -> RawRecord:
    """Convert a fetched record.

    Args:
        now: The record's time in microseconds if the log itself does not set timestamps.
    """
    log_timed = record.timestamp_type == LOG_APPEND_TIME
    log_time = record.timestamp * 1_000 if log_timed else now
    coordinates = Coordinates(record.topic, record.partition, record.offset)
    if isinstance(record.value, RefusedBatch):
        return RawRecord(coordinates, None, None, (), log_time, record.value)
    replay_of = _replay_of(record.headers, log_time) if record.headers else None
    return RawRecord(coordinates, record.key, record.value, record.headers, log_time, None, replay_of, log_timed)


def _replay_of(headers: Headers, log_time: int) -> int | None:
    named = header(headers, LOG_TIME) or ""
    earlier = named.isdecimal() and len(named) <= _LOG_TIME_DIGITS and int(named) < log_time
    return int(named) if earlier else None
