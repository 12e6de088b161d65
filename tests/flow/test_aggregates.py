"""`feedback.aggregated` in the whole flow: the documented consumer holds a recount of `feedback.created`."""

from __future__ import annotations

import asyncio
import json
import random
import re
import runpy
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from contracts.feedback import FeedbackCreated, FeedbackErased
from contracts.topics import FEEDBACK_CREATED
from proofs.chaos.logs import records_of
from tests.support.effective_reactions import effective, reaction_to_turn
from tests.support.erasures import erased
from tests.support.reporting_events import feedback, feedback_id
from tests.support.running_stack import RunningStack, exchange, reaction, running_stack
from tests.support.waits import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "learning.md"
EXAMPLE = ROOT / "examples" / "aggregates.py"
AGGREGATED = "feedback.aggregated"
Place = tuple[str, str, str, str, str]
"""Tenant, project, conversation, turn and agent."""


@asynccontextmanager
async def summing(broker: str, *options: str) -> AsyncIterator[None]:
    """Run the example until the end of the context."""
    process = await asyncio.create_subprocess_exec(sys.executable, str(EXAMPLE), "--broker", broker, *options)
    try:
        yield
        assert process.returncode is None
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def documented_consumer(broker: str) -> AsyncIterator[dict[bytes, dict[str, Any]]]:
    """Run the consumer of the documentation; yield what it holds."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    turns: dict[bytes, dict[str, Any]] = {}
    work = asyncio.create_task(names["follow"](broker, turns))
    try:
        yield turns
    finally:
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work


def recounted(events: Iterable[FeedbackCreated | FeedbackErased]) -> dict[Place, tuple[int, float]]:
    """Return the number and the mean reward (nine digits) of the verdicts that count, by agent and turn."""
    latest: dict[UUID, FeedbackCreated | FeedbackErased] = {}
    for event in sorted(events, key=lambda one: (one.revision, isinstance(one, FeedbackErased))):
        latest[event.feedback_id] = event
    live = {id_: event for id_, event in latest.items() if isinstance(event, FeedbackCreated)}
    rewards: defaultdict[Place, list[float]] = defaultdict(list)
    for verdict in effective(filter(None, map(reaction_to_turn, live.values()))):
        event = live[verdict.feedback_id]
        rewards[*verdict.turn, event.agent_id].append(float(event.value or 0))
    return {place: (len(values), round(fmean(values), 9)) for place, values in rewards.items()}


def announced(aggregates: Iterable[Any]) -> dict[Place, tuple[int, float]]:
    """Return the number and the mean reward of every aggregate at its highest revision, without cleared ones."""
    latest = {one["aggregateId"]: one for one in sorted(aggregates, key=lambda one: one["revision"])}.values()
    return {
        (one["tenant"], one["project"], one["conversationId"], one["turnId"], one["agentId"]): (
            one["count"],
            round(one["meanReward"], 9),
        )
        for one in latest
        if one["change"] != "cleared"
    }


async def published(stack: RunningStack) -> list[FeedbackCreated | FeedbackErased]:
    """Return what `feedback.created` holds."""
    return [
        FeedbackCreated.model_validate_json(record.value)
        if record.value is not None
        else FeedbackErased(UUID(record.key.decode()), int(dict(record.headers)["revision"] or 0))
        for record in await records_of(stack.broker.bootstrap, FEEDBACK_CREATED.name)
    ]


async def sums_in(stack: RunningStack) -> list[tuple[bytes, bytes | None]]:
    return [(record.key, record.value) for record in await records_of(stack.broker.bootstrap, AGGREGATED)]


async def until_summed(stack: RunningStack, turns: dict[bytes, dict[str, Any]]) -> dict[Place, tuple[int, float]]:
    """Wait until the consumer holds what the feedback amounts to; return it."""
    await stack.quiet()
    expected = recounted(await published(stack))
    found: dict[Place, tuple[int, float]] = {}
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while found != expected:
                await asyncio.sleep(0.05)
                found = announced(turns.values())
    except TimeoutError:
        assert found == expected
    return found


def thumb(conversation: str, user: str, emoji: str = "👍", **fields: Any) -> Any:
    return reaction(f"{conversation}-answer", conversation, emoji, user=user, **fields)


async def test_the_documented_consumer_holds_what_the_feedback_amounts_to(postgres_url: str) -> None:
    async with (
        running_stack(postgres_url) as stack,
        stack.client("ann") as http,
        documented_consumer(stack.broker.bootstrap) as turns,
    ):
        async with summing(stack.broker.bootstrap, "--after", "2", "--quiet", "1"):
            for name in ("s1", "s2", "s3"):
                await stack.publish(*exchange(name, name), thumb(name, "bob"), thumb(name, "cy", "👎"))
            await stack.quiet()
            path = "/conversations/acme/support/s1/turns/s1/feedback"
            assert (await http.post(path, json={"reaction": "not_ok"})).status_code == 202
            found = await until_summed(stack, turns)
            assert found["acme", "support", "s1", "s1", "bot"] == (3, -0.333333333)
            assert found["acme", "support", "s2", "s2", "bot"] == (2, 0.0)
        before = await sums_in(stack)

        removed = {"action": "removed", "occurredAt": "2026-01-01T10:02:00Z"}
        late = {"occurredAt": "2026-01-01T09:00:00Z"}
        await stack.publish(thumb("s2", "bob", **removed), thumb("s3", "dan", "❤️", **late))
        await erased(stack, "cy")
        await stack.quiet()  # a change written after the program has started would be an announcement of its own
        async with summing(stack.broker.bootstrap, "--after", "1"):
            found = await until_summed(stack, turns)
        assert ("acme", "support", "s2", "s2", "bot") not in found
        assert found["acme", "support", "s3", "s3", "bot"] == (2, 0.7)
        cleared = [one for one in turns.values() if one["turnId"] == "s2"]
        assert [(one["count"], one["change"]) for one in cleared] == [(0, "cleared")]
        after = await sums_in(stack)
        assert b"cy" not in b"".join(value or b"" for _, value in after)
        added = Counter(after) - Counter(before)  # the log is read partition by partition
        assert Counter(key for key, _ in added.elements()).most_common(1)[0][1] == 1, "each sum changed once"


def history(choose: random.Random) -> list[FeedbackCreated | FeedbackErased]:
    """Return announcements of 120 records in any order, some of them repeated, some erased."""
    events: list[FeedbackCreated | FeedbackErased] = []
    for number in range(120):
        kind = choose.choice(["reaction", "explicit", "explicit", "review", "inferred", "implicit"])
        fields: dict[str, Any] = {"kind": "explicit" if kind == "review" else kind}
        fields |= {"user": f"u{choose.randrange(3)}", "tenant": choose.choice(["acme", "globex"])}
        fields |= {"origin": "reviewer", "source": "review"} if kind == "review" else {}
        for revision in range(1, choose.randrange(2, 5)):
            turn: dict[str, Any] = {"turn": f"t{choose.randrange(4)}", "agent": choose.choice(["a", "b"])}
            reaction = choose.choice(["ok", "not_ok", "neutral", None])
            events.append(
                feedback(f"r{number}", revision=revision, reaction=reaction, at=choose.randrange(5), **turn, **fields)
            )
        if choose.random() < 0.1:
            events.append(FeedbackErased(feedback_id(f"r{number}"), choose.randrange(1, 5)))
    choose.shuffle(events)
    return events + choose.sample(events, 40)


def record_of(event: Any) -> Any:
    """Return the record of an event of either topic."""
    if isinstance(event, FeedbackErased):
        headers = [("revision", str(event.revision).encode())]
        key = str(event.feedback_id).encode()
        return SimpleNamespace(topic=FEEDBACK_CREATED.name, key=key, value=None, headers=headers)
    is_verdict = isinstance(event, FeedbackCreated)
    topic, id_ = (FEEDBACK_CREATED.name, event.feedback_id) if is_verdict else (AGGREGATED, event.aggregate_id)
    value = event.model_dump_json(by_alias=True).encode()
    return SimpleNamespace(topic=topic, key=str(id_).encode(), value=value, headers=[])


@pytest.mark.parametrize("seed", range(20))
def test_any_order_repetition_erasure_and_restart_give_the_same_sums(seed: int) -> None:
    choose, log = random.Random(seed), list[Any]()
    example = runpy.run_path(str(EXAMPLE))["Aggregates"]
    events = history(choose)
    aggregates = example()
    for position, event in enumerate(events):
        for turn in aggregates.read(record_of(event)):
            if choose.random() < 0.3:
                log += aggregates.changed(turn)
                for aggregate in log:
                    aggregates.note(aggregate)
        if choose.random() < 0.02:  # a restart reads both topics again, without some of the latest announcements
            aggregates = example()
            del log[choose.randrange(len(log) + 1) if choose.random() < 0.5 else len(log) :]
            for record in map(record_of, [*log, *events[: position + 1]]):
                aggregates.read(record)
    turns = {turn for event in events for turn in example().read(record_of(event))}
    for turn in sorted(turns):
        for aggregate in aggregates.changed(turn):
            log.append(aggregate)
            aggregates.note(aggregate)
        assert list(aggregates.changed(turn)) == []
    expected = recounted(events)
    assert len(expected) > 10
    assert announced(json.loads(record_of(one).value) for one in log) == expected
    assert len({(one.aggregate_id, one.revision) for one in log}) == len({one.event_id for one in log}) == len(log)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"\xff", b"{}"),
        (str(UUID(int=1)).encode(), b"no JSON"),
        (str(UUID(int=1)).encode(), b"{}"),
        (str(UUID(int=1)).encode(), None),  # a tombstone names its revision
    ],
)
def test_a_record_that_is_no_announcement_is_left_out(key: bytes | None, value: bytes | None) -> None:
    aggregates = runpy.run_path(str(EXAMPLE))["Aggregates"]()
    record = SimpleNamespace(topic=FEEDBACK_CREATED.name, key=key, value=value, headers=[])
    assert aggregates.read(record) == set()
