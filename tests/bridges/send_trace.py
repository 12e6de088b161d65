"""Sends one span by OTLP, as an instrumented agent would: `python send_trace.py URL TRACE_ID [HEADER=VALUE ...]`.

Runs in the environment of the tool that is tested, which brings OpenTelemetry's messages.
"""

import sys
import time
import urllib.request

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

url, trace_id, *headers = sys.argv[1:]
request = ExportTraceServiceRequest()
span = request.resource_spans.add().scope_spans.add().spans.add()
span.name = "answer"
span.trace_id = bytes.fromhex(trace_id)
span.span_id = bytes.fromhex("00f067aa0ba902b7")
span.start_time_unix_nano = time.time_ns() - 1_000_000
span.end_time_unix_nano = time.time_ns()
sent = urllib.request.Request(
    url,
    request.SerializeToString(),
    {"Content-Type": "application/x-protobuf", **dict(header.split("=", 1) for header in headers)},
)
with urllib.request.urlopen(sent, timeout=60) as answer:
    print(answer.status)
