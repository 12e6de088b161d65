"""The LLM gate and a language model's server that is right, slow, broken or wrong on demand."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from prometheus_client import REGISTRY

from chat_completions.endpoint import LlmEndpoint
from detector.detector import Detector
from detector.model import Message, Neighbourhood, Verdict
from inference.llm_gate.asking import Asking
from inference.llm_gate.gate import LlmGate, PendingVerdict
from inference.model import ConversationKey
from servicekit.log.reader import records_of
from standalone.cli.evaluate import evaluate
from tests.support.hand_clock import HandClock
from tests.support.inference_memory import MemoryGateAnswers
from tests.support.llm_server import ACCEPTED, REJECTED, LlmServer, completion, llm_server, response
from tests.support.running_stack import RunningStack, exchange, message, running_stack
from tests.support.waits import PATIENCE_SECONDS

HERE = ConversationKey("acme", "support", "c1")


KEY = "sk-not-to-be-seen"


MINUTE = 60_000_000


@pytest_asyncio.fixture
async def server() -> AsyncIterator[LlmServer]:
    async with llm_server() as running:
        yield running


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector.default()


Gates = Callable[..., LlmGate]


@pytest_asyncio.fixture
async def gates(server: LlmServer, detector: Detector) -> AsyncIterator[Gates]:
    """Yield a function that makes gates to the server, over one store of answers."""
    endpoints: list[LlmEndpoint] = []
    answers = MemoryGateAnswers()

    def make(**options: Any) -> LlmGate:
        at_once = options.get("at_once", 4)
        endpoints.append(LlmEndpoint(options.pop("url", server.url), KEY, 2 * at_once))
        batch_seconds = options.pop("batch_seconds", 30.0)
        found = {"seconds": 30.0, "at_once": at_once} | options
        asking = Asking(endpoints[-1], found.pop("clock", HandClock()), **found)
        return LlmGate(asking, answers, detector, model="m", seconds=batch_seconds)

    yield make
    for endpoint in endpoints:
        await endpoint.close()


def item(text: str) -> Neighbourhood:
    before = (
        Message("q1", "t1", "ann", "human", None, "When does the museum open?", 0),
        Message("a1", "t1", "bot", "agent", "bot", "The museum opens at nine.", MINUTE),
        Message("q2", "t2", "ann", "human", None, "And which bus goes there?", 2 * MINUTE),
        Message("a2", "t2", "bot", "agent", "bot", "Bus twelve goes there.", 3 * MINUTE),
    )
    return Neighbourhood(before, Message("h", "t3", "ann", "human", None, text, 4 * MINUTE))


def unsure(detector: Detector, *texts: str) -> list[PendingVerdict]:
    """Return messages that no rule alone decides, with the verdicts of the rules."""
    items = [item(text) for text in texts]
    judged = [PendingVerdict(HERE, one, verdict) for one, verdict in zip(items, detector.judge(items), strict=True)]
    assert not any(one.verdict.settled for one in judged)
    return judged


def counted() -> dict[str, float]:
    outcomes = ("known", "answered", "slow", "broken", "wrong", "open", "late")
    name = "agent_feedback_llm_gate_total"
    return {one: REGISTRY.get_sample_value(name, {"outcome": one}) or 0.0 for one in outcomes}


def grown(before: dict[str, float]) -> dict[str, float]:
    return {name: count - before[name] for name, count in counted().items() if count != before[name]}


def verdicts_of(judged: Sequence[PendingVerdict]) -> list[Verdict]:
    return [one.verdict for one in judged]


async def working(server: LlmServer, count: int) -> None:
    """Wait until the server has received so many questions."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while server.at_work < count:
            await asyncio.sleep(0)


async def test_its_answer_is_the_verdict(server: LlmServer, gates: Gates, detector: Detector) -> None:
    server.respond = lambda _: completion(REJECTED)
    before = counted()
    [verdict] = await gates().settle(unsure(detector, "That would surprise the curator."))
    assert (verdict.feedback, verdict.reaction, verdict.correction_type) == ("rejected", "not_ok", "explicit")
    assert (verdict.decided_by, verdict.rules, verdict.gate) == ("llm", ("llm.explicit",), "not_ok")
    assert verdict.target is not None
    assert (verdict.confidence, verdict.target.message_id, verdict.emitted) == (0.9, "a2", True)
    assert grown(before) == {"answered": 1}
    assert server.authorizations == {f"Bearer {KEY}"}
    [asked] = server.asked
    assert (asked["model"], asked["temperature"]) == ("m", 0)
    assert asked["response_format"]["json_schema"]["strict"] is True


async def test_only_what_no_rule_decides_is_asked(server: LlmServer, gates: Gates, detector: Detector) -> None:
    texts = ["That's wrong.", "Thanks!", "🙂", "Odd, a friend took bus nine."]
    items = [item(text) for text in texts]
    judged = [PendingVerdict(HERE, one, verdict) for one, verdict in zip(items, detector.judge(items), strict=True)]
    verdicts = await gates().settle(judged)
    assert server.messages() == ["Odd, a friend took bus nine."]
    assert verdicts[:3] == verdicts_of(judged)[:3]
    assert verdicts[3].decided_by == "llm"


def _same(answer: bytes, _: object) -> bytes:
    return answer


WRONG = {"prose": completion("I think the user is unhappy."), "refused": response(b"{}", 400)}
BROKEN = {"500": response(b"{}", 500), "reset": b"", "large": response(b" " * 50_000_000)}
"""Responses without a sound answer; unit/inference/test_llm.py tries all others."""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(one, "wrong") for one in WRONG.values()] + [(one, "broken") for one in BROKEN.values()],
    ids=[*WRONG, *BROKEN],
)
async def test_what_is_no_sound_answer_leaves_the_verdict_to_the_rules(
    server: LlmServer, gates: Gates, detector: Detector, answer: bytes, reason: str
) -> None:
    judged = unsure(detector, "Odd, a friend said otherwise.")
    server.respond = lambda _: answer
    before = counted()
    assert await gates().settle(judged) == verdicts_of(judged)
    assert grown(before) == {reason: 1}
    assert server.sent < 10_000_000, "nobody reads a large body to its end"
    server.respond = lambda _: completion(REJECTED)
    assert await gates().settle(judged) == verdicts_of(judged), "what was announced stands"
    assert len(server.asked) == 1


async def test_a_slow_one_is_not_waited_for(server: LlmServer, gates: Gates, detector: Detector) -> None:
    server.released.clear()
    judged = unsure(detector, *(f"Odd, friend {n} said otherwise." for n in range(40)))
    before = counted()
    assert await gates(seconds=0.05).settle(judged) == verdicts_of(judged)
    reasons = grown(before)
    # Four are under way at a time, and the fifth failure opens the circuit.
    assert 5 <= reasons["slow"] <= 8
    assert reasons == {"slow": reasons["slow"], "open": 40 - reasons["slow"]}
    assert len(server.asked) <= 8


async def test_a_batch_ends_when_its_time_is_over(server: LlmServer, gates: Gates, detector: Detector) -> None:
    server.released.clear()
    judged = unsure(detector, *(f"Odd, friend {n} said otherwise." for n in range(20)))
    before = counted()
    gate = gates(batch_seconds=0.05)
    assert await gate.settle(judged) == verdicts_of(judged)
    assert grown(before) == {"late": 20}
    server.released.set()
    server.respond = lambda _: completion(REJECTED)
    gate._seconds = 30  # the same slots, with time for an answer
    [verdict] = await gate.settle(unsure(detector, "Nobody at the museum knows that."))
    assert verdict.decided_by == "llm", "its slots are free again"


async def test_questions_go_out_side_by_side_but_not_too_many(
    server: LlmServer, gates: Gates, detector: Detector
) -> None:
    judged = unsure(detector, *(f"Odd, friend {n} said otherwise." for n in range(30)))
    server.respond = lambda _: completion(ACCEPTED)
    server.released.clear()
    settling = asyncio.create_task(gates(at_once=3).settle(judged))
    await working(server, 3)
    server.released.set()
    assert {verdict.decided_by for verdict in await settling} == {"llm"}
    assert (len(server.asked), server.most_at_work) == (30, 3)


async def test_a_caller_that_gives_up_waiting_settles_nothing(
    server: LlmServer, gates: Gates, detector: Detector
) -> None:
    [judged] = unsure(detector, "Odd, a friend said otherwise.")
    server.released.clear()
    assert await gates(seconds=0.05).settle([judged], final=False) == [judged.verdict]
    server.released.set()
    server.respond = lambda _: completion(REJECTED)
    [live] = await gates().settle([judged])
    assert live.feedback == "rejected"
    server.respond = lambda _: completion(ACCEPTED)
    assert await gates().settle([judged], final=False) == [live]


async def test_somebody_who_waits_does_not_queue_behind_a_batch(
    server: LlmServer, gates: Gates, detector: Detector
) -> None:
    gate = gates(at_once=1)
    server.released.clear()
    batch = asyncio.create_task(gate.settle(unsure(detector, *(f"Odd, friend {n} said so." for n in range(9)))))
    await working(server, 1)
    [waiting] = unsure(detector, "Nobody at the museum knows that.")
    looking = asyncio.create_task(gate.settle([waiting], final=False))
    await working(server, 2)
    assert server.messages()[1] == waiting.item.message.text
    server.released.set()
    await asyncio.gather(batch, looking)


async def test_neither_key_nor_text_is_ever_logged(
    server: LlmServer,
    gates: Gates,
    detector: Detector,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    for number, answer in enumerate([completion(REJECTED), response(KEY.encode(), 500), completion(KEY), b""]):
        server.respond = partial(_same, answer)
        await gates().settle(unsure(detector, f"Odd, secret friend {number} said otherwise."))
    found = caplog.text + "".join(capsys.readouterr())
    assert "fell_back" in found
    assert "status 500" in found, "the reason is"
    assert KEY not in found
    assert "secret friend" not in found


# The whole flow with the LLM gate: verdicts of the model if it responds, otherwise of the rules.

BASE = "/conversations/acme/support"


UNSURE = "Odd, a friend said otherwise."


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
    before = counted()
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
        tried = grown(before)  # on a busy machine a request may end before it arrives
        assert tried.get("slow", 0) + tried.get("late", 0) > 0
        assert len(model.asked) < 12, "and then left alone"
    assert KEY not in "".join(capsys.readouterr())


async def test_evaluate_measures_the_detector_with_the_model_behind_it(
    server: LlmServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, key = tmp_path / "rows.jsonl", "sk-measure"
    fields = {"previous_user": "which bus", "previous_assistant": "The 4.", "source": "hand"}
    rows = [
        {"message": "the 5 says the lady here", "label": "rejected", "gate": "not_ok"},
        {"message": "that's wrong", "label": "rejected", "gate": "not_ok"},
    ]
    file.write_text("\n".join(json.dumps(fields | row) for row in rows))
    server.respond = lambda request: completion(REJECTED)
    monkeypatch.setenv("INFERENCE_GATE_KEY", key)
    monkeypatch.setattr("servicekit.logging.configure_logging", lambda **_: None)
    command = partial(evaluate, [file], "", 0, False, None, None, sentence_encoder="none", as_json=True)
    reports = []
    for gate in ("", server.url):
        await asyncio.to_thread(command, gate=gate, gate_model="small")
        reports.append(json.loads(capsys.readouterr().out))
    assert [report["at_emission"]["rejected"]["announced"] for report in reports] == [1, 2]
    assert [report["decided_by"]["llm"] for report in reports] == [0, 1]
    assert (server.messages(), server.authorizations) == ([rows[0]["message"]], {f"Bearer {key}"})


async def test_evaluate_says_on_stderr_that_the_model_does_not_answer(server: LlmServer, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    row = {"previous_assistant": "The 4.", "message": "the 5 says the lady here", "source": "hand"}
    file.write_text(json.dumps(row | {"label": "rejected", "gate": "not_ok"}))
    server.respond = lambda request: completion("no JSON")
    program = [sys.executable, "-m", "standalone", "evaluate", str(file), "--json", "--sentence-encoder", "none"]
    command = [*program, "--gate", server.url, "--gate-model", "small"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    out, errors = await process.communicate()
    assert json.loads(out)["decided_by"]["llm"] == 0
    assert b'"fell_back"' in errors
