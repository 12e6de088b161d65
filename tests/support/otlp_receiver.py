"""OTLP receiver on this machine: an HTTP server that decodes the spans it is sent with OpenTelemetry's messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tests.support.command import HANG_SECONDS
from tests.support.served import served


@dataclass(frozen=True)
class SentSpan:
    """Span as it was sent. Ids are hexadecimal; `links` has the ids of the linked spans."""

    service: str
    name: str
    trace: str
    span: str
    parent: str
    attributes: dict[str, Any]
    links: tuple[tuple[str, str], ...]
    failed: bool
    seconds: float


@dataclass
class OtlpReceiver:
    """Receiver of spans."""

    url: str = ""
    spans: list[SentSpan] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    came: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, fits: Callable[[Sequence[SentSpan]], bool]) -> Sequence[SentSpan]:
        """Wait until the received spans meet a condition, and return them."""
        async with asyncio.timeout(HANG_SECONDS), self.came:
            await self.came.wait_for(lambda: fits(self.spans))
        return self.spans

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        assert (request.method, scope["path"]) == ("POST", "/v1/traces")
        assert request.headers["content-type"] == "application/x-protobuf"
        body = await request.body()
        async with self.came:
            self.bodies.append(body)
            self.spans += spans_in(body)
            self.came.notify_all()
        await Response(b"", media_type="application/x-protobuf")(scope, receive, send)


def spans_in(body: bytes) -> list[SentSpan]:
    """Return the spans of a request's body."""
    return [
        SentSpan(
            service=attributes_of(resource.resource.attributes)["service.name"],
            name=span.name,
            trace=span.trace_id.hex(),
            span=span.span_id.hex(),
            parent=span.parent_span_id.hex(),
            attributes=attributes_of(span.attributes),
            links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
            failed=span.status.code == span.status.STATUS_CODE_ERROR,
            seconds=(span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
        )
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def attributes_of(given: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in given}


@asynccontextmanager
async def otlp_receiver() -> AsyncIterator[OtlpReceiver]:
    running = OtlpReceiver()
    async with served(running) as url:
        running.url = f"{url.rstrip('/')}/v1/traces"
        yield running
