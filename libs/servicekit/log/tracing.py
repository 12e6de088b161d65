"""Port for tracing: spans of batches, of their records, and of outgoing requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from contracts.topics import Consumer
from servicekit.log.outcome import Outcome
from servicekit.log.records import RawRecord
from servicekit.stages import StageTimes


class BatchTrace(Protocol):
    """Spans of a batch with at least one sampled record."""

    def carried_on(self, records: Sequence[RawRecord]) -> Sequence[RawRecord]:
        """Return the batch's records. The header `traceparent` of a sampled record names the record's own span."""
        ...

    def traces(self, count: int) -> Iterator[tuple[int, str]]:
        """Yield index and trace id of each sampled record among the first `count`."""
        ...

    def ended(self, outcomes: Sequence[Outcome], times: StageTimes) -> None:
        """End the spans. Records without an outcome were not processed."""
        ...

    def failed(self, error: str, times: StageTimes) -> None:
        """End the spans of a batch that will be redelivered; `error` is the name of an exception."""
        ...


class RequestTrace(Protocol):
    """Span of an outgoing request."""

    @property
    def traceparent(self) -> str:
        """Header `traceparent` of the request."""
        ...

    def ended(self, error: str | None) -> None:
        """End the span; `error` is a status or the name of an error, None if the request succeeded."""
        ...


class Tracing(Protocol):
    """Spans of one service."""

    def begin(self, group: Consumer, records: Sequence[RawRecord]) -> BatchTrace | None:
        """Begin the spans of a batch; None if none of its records is sampled."""
        ...

    def request(self, name: str, traceparent: str | None, attributes: Mapping[str, str | int]) -> RequestTrace | None:
        """Begin the span of an outgoing request in the trace of `traceparent`; None if it is not sampled."""
        ...
