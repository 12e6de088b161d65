"""Traces: from the producer's context through the services to the webhook, received as OTLP."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts.ids import conversation_key
from servicekit.errors import StartError
from servicekit.log.records import Message
from servicekit.tracing import open_traces
from tests.flow.test_webhooks import endpoint
from tests.support.otlp_receiver import OtlpReceiver, SentSpan, otlp_receiver
from tests.support.receiver import Receiver, receiver
from tests.support.running_stack import RunningStack, exchange, message, reaction, running_stack
from tests.support.waits import PATIENCE_SECONDS

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OF_VERDICT = "b" * 32
PRODUCER = "00f067aa0ba902b7"
SECRET = "whsec_" + "YSBrZXkgb2YgdHdlbnR5LWZvdXIgYnl0ZQ=="
SAID = "Nobody may read this sentence in a trace."


@asynccontextmanager
async def traced_stack(
    postgres_url: str, folder: Path, share: float
) -> AsyncIterator[tuple[RunningStack, OtlpReceiver, Receiver]]:
    """Run a stack with a webhook that sends its spans to a receiver, which has all of them after the block."""
    async with otlp_receiver() as collector, receiver() as hook:
        file = folder / "webhooks.toml"
        file.write_text(endpoint("learner", f"{hook.url}/learner"), "utf-8")
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("HOOK_SECRET", SECRET)
            environment.setenv("REPORTING_WEBHOOKS", str(file))
            environment.setenv("TRACING_URL", collector.url)
            environment.setenv("TRACING_SHARE", str(share))
            traces = open_traces()
            assert traces is not None
            async with running_stack(postgres_url, lambda around: replace(around, traces=traces)) as stack:
                yield stack, collector, hook
        await traces.close()


async def publish(stack: RunningStack, *events: dict[str, Any], traceparent: str | None = None) -> None:
    """Write chat events with the header of an instrumented producer."""
    headers = [("traceparent", traceparent.encode())] if traceparent else []
    await stack.stack.log.send(
        [
            Message(
                event["topic"],
                conversation_key(event["tenant"], event["project"], event["conversationId"]),
                json.dumps(event).encode(),
                headers,
            )
            for event in events
        ]
    )


def of_trace(spans: Sequence[SentSpan], trace: str) -> dict[str, SentSpan]:
    """Return the spans of a trace by name."""
    return {one.name: one for one in spans if one.trace == trace}


async def test_one_trace_leads_from_the_producer_to_the_webhook(postgres_url: str, tmp_path: Path) -> None:
    accepts = {"accept": "application/openmetrics-text; version=1.0.0"}
    async with traced_stack(postgres_url, tmp_path, 1.0) as (stack, collector, hook):
        await publish(stack, *exchange("c1", "t1", content=SAID))
        await stack.quiet()
        await publish(stack, reaction("t1-answer", "c1"), traceparent=f"00-{TRACE}-{PRODUCER}-01")
        [taken] = await hook.until("/learner", lambda requests: len(requests) == 1)
        await stack.quiet()
        async with stack.client() as http:
            metrics = (await http.get("/metrics", headers=accepts)).text
        rejection = message("m3", "c1", content="No, that's wrong.", occurredAt="2026-01-01T10:00:09Z")
        await publish(stack, rejection, traceparent=f"00-{OF_VERDICT}-{PRODUCER}-01")
        await hook.until("/learner", lambda requests: len(requests) == 2)
        await stack.quiet()
    spans = of_trace(collector.spans, TRACE)
    bridge, feedback, reporting = (spans[f"{name} batch"] for name in ("chat_bridge", "feedback", "reporting"))
    assert {bridge.parent, feedback.parent, reporting.parent} == {PRODUCER}
    assert {"webhooks batch", "inference_status batch"} <= spans.keys()
    assert taken.headers["traceparent"].startswith(f"00-{TRACE}-")
    services = [one.service for one in (bridge, feedback, reporting)]
    assert services == ["chat_bridge", "feedback", "reporting"]
    assert bridge.attributes["agent_feedback.dead_letters"] == 0
    assert not any(one.failed for one in collector.spans)
    assert all(SAID.encode() not in body and b"ann" not in body for body in collector.bodies)
    exemplar = f'# {{trace_id="{TRACE}"}}'
    assert [line for line in metrics.splitlines() if "event_to_commit_seconds_bucket" in line and exemplar in line]
    spans = of_trace(collector.spans, OF_VERDICT)
    assert {spans[f"{name} batch"].parent for name in ("inference", "feedback", "reporting")} == {PRODUCER}


async def test_a_batch_links_to_its_records_and_has_a_span_per_stage(postgres_url: str, tmp_path: Path) -> None:
    async with traced_stack(postgres_url, tmp_path, 1.0) as (stack, collector, _):
        traceparents = [f"00-{digit * 32}-{PRODUCER}-01" for digit in "abcd"]
        turns = [*exchange("c1", "t1"), *exchange("c1", "t2")]
        for event, traceparent in zip(turns, traceparents, strict=True):
            await publish(stack, event, traceparent=traceparent)
        await stack.quiet()
    batches = [one for one in collector.spans if one.name == "inference batch"]
    named = {link for one in batches for link in one.links} | {(one.trace, one.parent) for one in batches}
    assert named == {(digit * 32, PRODUCER) for digit in "abcd"}
    assert sum(one.attributes["messaging.batch.message_count"] for one in batches) == 4
    for batch in batches:
        stages = {one.name: one for one in collector.spans if one.parent == batch.span}
        assert {"inference read", "inference database", "inference commit"} <= stages.keys()
        assert all(one.attributes["agent_feedback.busy_seconds"] >= 0 for one in stages.values())
        assert all(one.trace == batch.trace and one.seconds <= batch.seconds for one in stages.values())


async def test_what_is_derived_from_a_record_without_a_context_continues_its_batch(
    postgres_url: str, tmp_path: Path
) -> None:
    async with traced_stack(postgres_url, tmp_path, 1.0) as (stack, collector, _):
        await publish(stack, *exchange("c1", "t1"))
        await stack.quiet()
        await publish(stack, reaction("t1-answer", "c1"))
        await stack.quiet()
    spans = {one.span: one for one in collector.spans}
    [feedback] = [one for one in collector.spans if one.name == "feedback batch" and one.parent in spans]
    assert spans[feedback.parent].name == "chat_bridge batch"
    assert spans[feedback.parent].trace == feedback.trace


@pytest.mark.parametrize(
    ("share", "traceparent"),
    [(1.0, f"00-{TRACE}-{PRODUCER}-00"), (0.0, f"00-{TRACE}-{PRODUCER}-01")],
)
async def test_an_unsampled_trace_has_no_spans(
    postgres_url: str, tmp_path: Path, share: float, traceparent: str | None
) -> None:
    async with traced_stack(postgres_url, tmp_path, share) as (stack, collector, hook):
        await publish(stack, *exchange("c1", "t1"), traceparent=traceparent)
        await publish(stack, reaction("t1-answer", "c1"), traceparent=traceparent)
        [taken] = await hook.until("/learner", lambda requests: len(requests) == 1)
        await stack.quiet()
    assert collector.spans == []
    assert taken.headers.get("traceparent") == traceparent


async def test_a_collector_that_does_not_answer_delays_nothing(postgres_url: str, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TRACING_URL", "http://127.0.0.1:9/v1/traces")
        environment.setenv("TRACING_SHARE", "1")
        traces = open_traces()
    assert traces is not None
    async with running_stack(postgres_url, lambda around: replace(around, traces=traces)) as stack:
        await publish(stack, *exchange("c1", "t1"))
        await stack.quiet()
        assert {one.group for one in stack.seen} >= {"chat_bridge", "inference", "reporting"}
    async with asyncio.timeout(PATIENCE_SECONDS):
        await traces.close()


async def test_a_service_without_traces_does_not_import_the_sdk() -> None:
    program = (
        "import sys, chat_bridge.service, inference.service, feedback.service, reporting.service, servicekit.launcher\n"
        "from servicekit.tracing import open_traces\n"
        "assert open_traces() is None\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter'))])"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, env={}
    )
    printed, _ = await process.communicate()
    assert (process.returncode, printed.decode().strip()) == (0, "[]")


def test_traces_without_the_sdk_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACING_URL", "http://localhost:4318/v1/traces")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    monkeypatch.delitem(sys.modules, "servicekit.otlp", raising=False)
    with pytest.raises(StartError, match=r"\[tracing\]"):
        open_traces()
