"""The whole flow with the LLM gate: verdicts of the model if it responds, otherwise of the rules."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from servicekit.log.reader import records_of
from tests.support.llm_server import REJECTED, LlmServer, completion, llm_server
from tests.support.running_stack import RunningStack, exchange, message, running_stack

BASE = "/conversations/acme/support"
UNSURE = "Odd, a friend said otherwise."
KEY = "sk-not-to-be-seen"


@pytest_asyncio.fixture
async def model() -> AsyncIterator[LlmServer]:
    async with llm_server() as running:
        running.respond = lambda _: completion(REJECTED | {"confidence": 0.77})
        yield running


@pytest.fixture
def switched_on(model: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"URL": model.url, "MODEL": "m", "KEY": KEY}.items():
        monkeypatch.setenv(f"INFERENCE_GATE_{name}", value)


async def announced(stack: RunningStack, topic: str) -> list[Any]:
    await stack.quiet()
    pieces = [piece async for piece in records_of(stack.broker.bootstrap, [topic])]
    return [json.loads(record.value) for piece in pieces for record in piece]


async def test_a_models_verdict_is_announced_once_and_the_same_to_everybody(
    model: LlmServer, switched_on: None, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERENCE_GATE_SECONDS", "20")
    monkeypatch.setenv("INFERENCE_GATE_BATCH_SECONDS", "25")
    async with running_stack(postgres_url) as stack:
        await stack.publish(*exchange("c1", "t1"))
        await stack.quiet()
        said = {"text": UNSURE, "message_id": "m3", "turn_id": "t2", "ts": "2026-01-01T10:01:00Z"}
        async with stack.client() as http:
            seen = (await http.post(f"{BASE}/c1/detect", json=said)).json()
        assert (seen["feedback"]["decided_by"], seen["feedback"]["rules"]) == ("llm", ["llm.explicit"])
        assert (seen["feedback"]["confidence"], seen["target"]["turn_id"]) == (0.77, "t1")

        model.respond = lambda _: b""
        live = message("m3", "c1", turn="t2", content=UNSURE, occurredAt="2026-01-01T10:01:00Z")
        await stack.publish(live)
        await stack.publish(live)
        inferred = await announced(stack, "feedback.inferred.received")
        assert {one["decidedBy"] for one in inferred} == {"llm"}
        created = await announced(stack, "feedback.created")
        assert {(one["turnId"], one["reaction"], one["confidence"], one["origin"]) for one in created} == {
            ("t1", "not_ok", 0.77, "machine")
        }
        assert len({one["eventId"] for one in created}) == 1
        assert model.messages() == [UNSURE]
        assert model.authorizations == {f"Bearer {KEY}"}


async def test_with_a_dead_endpoint_everything_flows(
    model: LlmServer,
    switched_on: None,
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("INFERENCE_GATE_SECONDS", "0.3")
    monkeypatch.setenv("INFERENCE_GATE_AT_ONCE", "2")
    model.released.clear()
    async with running_stack(postgres_url) as stack:
        events: list[Any] = []
        for number in range(12):
            name = f"d{number}"
            odd = message(f"{name}-odd", name, content=UNSURE, occurredAt="2026-01-01T10:01:00Z")
            no = message(f"{name}-no", name, content="That's wrong.", occurredAt="2026-01-01T10:02:00Z")
            events += [*exchange(name, f"t{number}"), odd, no]
        await stack.publish(*events)
        created = await announced(stack, "feedback.created")
        rejected = {one["sourceId"] for one in created if one["reaction"] == "not_ok"}
        assert rejected >= {f"d{number}-no:implicit" for number in range(12)}
        assert {one["decidedBy"] for one in await announced(stack, "feedback.inferred.received")} <= {
            "rules",
            "learned",
        }
        assert await stack.stack.not_ready() is None
        assert model.asked, "it was tried"
        assert len(model.asked) < 12, "and then left alone"
    assert KEY not in "".join(capsys.readouterr())
