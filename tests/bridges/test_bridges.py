"""Feedback in other projects' tools: shown on its trace, changed, retracted and erased, with their own servers."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.support.erasures import erased
from tests.support.ports import free_port
from tests.support.receiver import receiver
from tests.support.running_stack import RunningStack, exchange, running_stack
from tests.support.tool_environment import PHOENIX, ROOT, environment_of, finished, server

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


async def judge(stack: RunningStack, reaction: str | None, **body: Any) -> None:
    async with stack.client("ann") as http:
        address = "/conversations/acme/support/c1/turns/t1/feedback"
        assert (await http.post(address, json={"reaction": reaction} | body)).status_code == 202
    await stack.quiet()


async def carry(name: str, stack: RunningStack, state: Path, url: str, **environment: str) -> str:
    """Return a bridge's output after it has caught up."""
    bridge = ROOT / "examples" / "bridges" / f"{name}.py"
    options = ("--broker", stack.broker.bootstrap, "--state", str(state), "--url", url, "--once")
    return await finished(sys.executable, str(bridge), *options, **environment)


pytestmark = [pytest.mark.bridges, pytest.mark.timeout(1_500)]
Show = Callable[[], list[tuple[str | None, float, str | None]]]
"""Function that returns what a tool shows of the trace: label, value, explanation."""


@pytest_asyncio.fixture(loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    """Yield a stack with one turn, whose answer names a trace."""
    async with running_stack(postgres_url) as running:
        question, answer = exchange("c1", "t1")
        await running.publish(question, {**answer, "traceId": TRACE})
        await running.quiet()
        yield running


async def is_kept_true(bridge: str, stack: RunningStack, tmp_path: Path, url: str, show: Show) -> None:
    """Check the tool after feedback is given, changed, retracted, given again and erased."""
    state = tmp_path / "state.sqlite"
    await judge(stack, "not_ok", text="It opens at ten.", correction="At ten.")
    await carry(bridge, stack, state, url)
    assert show() == [("not_ok", -1.0, "It opens at ten.\n\nAt ten.")]
    await judge(stack, "ok")
    await carry(bridge, stack, state, url)
    await carry(bridge, stack, state, url)  # nothing is shown twice
    (state.with_name("lost.sqlite")).unlink(missing_ok=True)
    await carry(bridge, stack, state.with_name("lost.sqlite"), url)  # even by a bridge without its state
    assert show() == [("ok", 1.0, None)]
    await judge(stack, None)
    await carry(bridge, stack, state, url)
    assert show() == []
    await judge(stack, "not_ok", text="zanzibar")
    await carry(bridge, stack, state, url)
    assert show() == [("not_ok", -1.0, "zanzibar")]
    await erased(stack, "ann")
    await stack.quiet()
    await carry(bridge, stack, state, url)
    assert show() == []


async def test_phoenix(stack: RunningStack, tmp_path: Path) -> None:
    programs = await environment_of("phoenix", PHOENIX)
    port, grpc = free_port(), free_port()
    url = f"http://127.0.0.1:{port}"
    settings = {
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_WORKING_DIR": str(tmp_path / "phoenix"),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }

    def show() -> list[tuple[str | None, float, str | None]]:
        address = f"{url}/v1/projects/default/trace_annotations"
        found = httpx.get(address, params={"trace_ids": TRACE}).raise_for_status().json()["data"]
        return [(one["result"]["label"], one["result"]["score"], one["result"]["explanation"]) for one in found]

    async with server(f"{url}/healthz", tmp_path / "log", str(programs / "phoenix"), "serve", **settings):
        await judge(stack, "neutral")
        said = await carry("to_phoenix", stack, tmp_path / "early.sqlite", url)
        assert "1 feedbacks wait for their trace" in said
        await finished(str(programs / "python"), str(ROOT / "tests/bridges/send_trace.py"), f"{url}/v1/traces", TRACE)
        async with asyncio.timeout(60):
            async with httpx.AsyncClient() as http:
                while not (await http.get(f"{url}/v1/projects/default/traces")).json().get("data"):
                    await asyncio.sleep(0.2)
        await carry("to_phoenix", stack, tmp_path / "early.sqlite", url)
        assert show() == [("neutral", 0.0, None)]
        await is_kept_true("to_phoenix", stack, tmp_path, url, show)


async def test_mlflow(stack: RunningStack, tmp_path: Path) -> None:
    programs = await environment_of("mlflow", "mlflow>=3.17,<4")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    trace = f"{url}/api/3.0/mlflow/traces/tr-{TRACE}"

    def show() -> list[tuple[str | None, float, str | None]]:
        found = httpx.get(trace).raise_for_status().json()["trace"]["trace_info"].get("assessments", [])
        return [(one["metadata"]["reaction"], one["feedback"]["value"], one.get("rationale")) for one in found]

    store = f"sqlite:///{tmp_path}/mlflow.db"
    command = (str(programs / "mlflow"), "server", "--port", str(port), "--backend-store-uri", store, "--workers", "1")
    async with server(f"{url}/health", tmp_path / "log", *command, MLFLOW_DISABLE_TELEMETRY="true"):
        sending = (str(ROOT / "tests/bridges/send_trace.py"), f"{url}/v1/traces", TRACE, "x-mlflow-experiment-id=0")
        await finished(str(programs / "python"), *sending)
        await is_kept_true("to_mlflow", stack, tmp_path, url, show)


async def test_langfuse_as_its_api_is_documented(stack: RunningStack, tmp_path: Path) -> None:
    """Langfuse's server needs PostgreSQL, ClickHouse, Redis and an object store, so only the requests are checked."""
    keys = {"LANGFUSE_PUBLIC_KEY": "pk-1", "LANGFUSE_SECRET_KEY": "sk-1"}
    async with receiver() as there:
        await judge(stack, "not_ok", text="It opens at ten.")
        await carry("to_langfuse", stack, tmp_path / "state.sqlite", there.url, **keys)
        [score] = there.at("/api/public/scores")
        sent = json.loads(score.body)
        assert (sent["traceId"], sent["value"], sent["dataType"], sent["comment"]) == (
            *(TRACE, -1.0, "NUMERIC"),
            "It opens at ten.",
        )
        assert score.headers["authorization"].startswith("Basic ")
        await judge(stack, None)
        await carry("to_langfuse", stack, tmp_path / "state.sqlite", there.url, **keys)
        assert len(there.at(f"/api/public/scores/{sent['id']}")) == 1


async def test_opentelemetry_events_are_those_of_its_protocol(stack: RunningStack, tmp_path: Path) -> None:
    programs = await environment_of("mlflow", "mlflow>=3.17,<4")  # brings OpenTelemetry's messages
    async with receiver() as there:
        await judge(stack, "not_ok", text="It opens at ten.")
        await carry("to_opentelemetry", stack, tmp_path / "state.sqlite", there.url)
        await judge(stack, None)
        await carry("to_opentelemetry", stack, tmp_path / "state.sqlite", there.url)
        bodies = [one.body.decode() for one in there.at("/v1/logs")]
    read = (
        "import json, sys; from google.protobuf.json_format import Parse; "
        "from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest as R\n"
        "for body in json.load(open(sys.argv[1])):\n"
        "    [one] = Parse(body, R()).resource_logs[0].scope_logs[0].log_records\n"
        "    said = {a.key: a.value.string_value or a.value.double_value for a in one.attributes}\n"
        "    print(json.dumps([one.event_name, said]))"
    )
    (tmp_path / "bodies.json").write_text(json.dumps(bodies))
    lines = (await finished(str(programs / "python"), "-c", read, str(tmp_path / "bodies.json"))).splitlines()
    (name, said), (_, later) = (json.loads(line) for line in lines)
    assert name == "gen_ai.evaluation.result"
    assert said["gen_ai.evaluation.score.label"] == "not_ok"
    assert said["gen_ai.evaluation.score.value"] == -1.0
    assert (later["gen_ai.evaluation.score.label"], "gen_ai.evaluation.score.value" in later) == ("retracted", False)
    assert later["agent_feedback.feedback_id"] == said["agent_feedback.feedback_id"]


async def test_a_tool_that_is_gone_ends_the_bridge_in_one_sentence(stack: RunningStack, tmp_path: Path) -> None:
    await judge(stack, "ok")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "examples/bridges/to_phoenix.py"), "--once", "--url", "http://127.0.0.1:1"),
        *("--broker", stack.broker.bootstrap, "--state", str(tmp_path / "state.sqlite")),
        stderr=asyncio.subprocess.PIPE,
    )
    _, trouble = await process.communicate()
    assert process.returncode == 1
    assert trouble.decode().strip() == "Nothing can be carried to http://127.0.0.1:1: ConnectError."
