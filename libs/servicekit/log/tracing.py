"""Tracing interface: spans of batches, of their records, and of outgoing requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from contracts.topics import Consumer
from servicekit.log.outcome import Outcome
from servicekit.log.records import RawRecord
from servicekit.stages import StageTimes


class BatchTrace(Protocol):
    """Spans of a batch that contains at least one sampled record."""

    def carried_on(self, records: Sequence[RawRecord]) -> Sequence[RawRecord]:
        """Return the batch's records with updated trace headers.

        The `traceparent` header of each sampled record refers to the record's own span.
        """
        ...

    def traces(self, count: int) -> Iterator[tuple[int, str]]:
        """Yield the index and trace id of each sampled record among the first `count` records."""
        ...

    def ended(self, outcomes: Sequence[Outcome], times: StageTimes) -> None:
        """End the spans of a processed batch. Records without an outcome were not processed."""
        ...

    def failed(self, error: str, times: StageTimes) -> None:
        """End the spans of a batch that failed and will be delivered again. `error` is the exception's class name."""
        ...


class RequestTrace(Protocol):
    """Span of an outgoing HTTP request."""

    @property
    def traceparent(self) -> str:
        """Value for the `traceparent` header of the request."""
        ...

    def ended(self, error: str | None) -> None:
        """End the span. `error` is a status or the name of an error, or None after a success."""
        ...


class Tracing(Protocol):
    """Factory for the spans of a service."""

    def begin(self, group: Consumer, records: Sequence[RawRecord]) -> BatchTrace | None:
        """Start the spans of a batch, or return None if none of its records is sampled."""
        ...

    def request(self, name: str, traceparent: str | None, attributes: Mapping[str, str | int]) -> RequestTrace | None:
        """Start the span of an outgoing request in the trace of `traceparent`.

        The result is None if the trace is not sampled.
        """
        ...
