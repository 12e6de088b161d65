"""After an erasure a person's texts are in no table, topic, dead letter, log file, export, object, page or response."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from contracts.ids import conversation_key
from contracts.topics import FEEDBACK_CREATED, TOPICS
from proofs.chaos.logs import compact, records_of
from servicekit.log.cluster import Bootstrap, client_options
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Message
from standalone.operations.log_access import log_of
from tests.support.command import COMMAND, state_folder
from tests.support.erasures import columns_holding
from tests.support.local_kafka import LocalKafka
from tests.support.running_stack import message

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]
CANARY = "zanzibar-landlord-7431"
WEEK_MS = 7 * 86_400_000
BASE = "/conversations/acme/support"
AT = "at=acme/support&period=all"
FORMATS = ("kto", "dpo", "sft", "events")
PAGES = (
    f"/?{AT}",
    f"/dashboard/feedback?{AT}",
    f"/dashboard/feedback.csv?{AT}",
    f"/dashboard/compare?{AT}",
    f"/dashboard/accuracy?{AT}",
    f"/dashboard/sessions?{AT}",
    "/dashboard/conversation?at=acme/support&id=c1",
)
QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    (f"{BASE}/feedback/search", {}),
    (f"{BASE}/feedback/artifacts", {"conversation_id": "c1", "with_payload": True}),
    (f"{BASE}/c1/turns-with-feedbacks", {}),
    (f"{BASE}/c1/turns-with-feedbacks", {"turn_ids": ["t1", "t2"]}),
    (f"{BASE}/c1/feedback/latest", {}),
    (f"{BASE}/c1/detect", {"text": "No, that is wrong.", "user_id": "eve", "look_back": "user"}),
    (f"{BASE}/strategies/search", {"text": "where", "user_id": "eve"}),
)
GETS = (
    "/metrics",
    "/health/ready",
    f"{BASE}/feedback/summary",
    f"{BASE}/feedback/agents",
    f"{BASE}/feedback/reasons",
    f"{BASE}/feedback/compare?by=agent&a=bot&b=other",
    f"{BASE}/feedback/calibration",
    f"{BASE}/c1/turns/t1/metadata",
    f"{BASE}/c1/turns/t1/feedback?user_id=eve",
)
EVERYWHERE = {
    "tables": {
        "chat_bridge.parked",
        "feedback.feedback",
        "inference.messages",
        "inference.turns",
        "inference.user_reactions",
        "reporting.feedbacks",
        "reporting.messages",
    },
    "topics": {"chat.message.ingested", "chat.message.ingested.dlq", "feedback.reply.received", FEEDBACK_CREATED.name},
    "objects": {"t1", "t2"},
    "pages": {*PAGES[:3], PAGES[-1]},
    "exports": set(FORMATS),
    "answers": {*GETS[-2:], *(path for path, _ in QUESTIONS[:2])},
}
"""Places of the texts before the erasure: a place that never contained any would prove nothing."""


@asynccontextmanager
async def serving(state: Path, log: Path, objects: Path) -> AsyncIterator[dict[str, Any]]:
    """Run `up` on a Kafka of the test with its output in the file `log`; yield the content of its run.json."""
    async with AsyncExitStack() as parts:
        kafka = await parts.enter_async_context(LocalKafka(state.parent / f"{state.name}-kafka"))
        yield await parts.enter_async_context(_served(kafka.bootstrap, state, log, objects))


@asynccontextmanager
async def _served(broker: str, state: Path, log: Path, objects: Path) -> AsyncIterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as environment, log.open("wb") as out:
        environment.setenv("ARTIFACT_STORE_URL", f"file://{objects}")
        environment.setenv("REPORTING_ARTIFACT_TURN_LOGS", "true")
        process = await asyncio.create_subprocess_exec(
            *(COMMAND, "up", "--port", "0", "--broker", broker, "--state", str(state)), stdout=out, stderr=out
        )
    try:
        async with asyncio.timeout(120):
            while "Serving" not in log.read_text("utf-8"):
                assert process.returncode is None, log.read_text("utf-8")
                await asyncio.sleep(0.1)
        yield json.loads((state / "run.json").read_text("utf-8"))
    finally:
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(40):
            await process.wait()


def said() -> list[dict[str, Any]]:
    """Return the messages of eve to an agent, and those of others around her."""
    reply = message("m-reply", "c1", senderId="eve", content=f"No, that is wrong: {CANARY}", originalMessageId="m-a1")
    parked = message("m-parked", "c1", senderId="eve", content=CANARY, originalMessageId="never-said")
    return [
        message("m-q1", "c1", turn="t1", senderId="eve", content=f"Where is {CANARY}?"),
        message("m-a1", "c1", turn="t1", agent="bot"),
        message(
            "m-q2", "c1", turn="t2", senderId="eve", occurredAt="2026-01-01T10:01:00Z", content=f"No! I want {CANARY}"
        ),
        message("m-a2", "c1", turn="t2", agent="bot", occurredAt="2026-01-01T10:01:05Z"),
        message("m-bob", "c1", turn="t2", senderId="bob", occurredAt="2026-01-01T10:02:00Z", content="bob was here"),
        reply | {"topic": "chat.message.reply.ingested", "occurredAt": "2026-01-01T10:03:00Z"},
        parked | {"topic": "chat.message.reply.ingested", "occurredAt": "2026-01-01T10:03:00Z"},
    ]


async def publish(log: Bootstrap) -> None:
    """Publish the chat, and an unreadable record that becomes a dead letter with her text."""
    producer = BatchProducer(log, client_id="canary")
    events = [
        Message(one["topic"], conversation_key("acme", "support", "c1"), json.dumps(one).encode()) for one in said()
    ]
    broken = message("m-broken", "c1", senderId="eve", content=CANARY) | {"messageId": ["no", "text"]}
    try:
        await producer.send([*events, Message("chat.message.ingested", "c1", json.dumps(broken).encode())])
    finally:
        await producer.stop()


async def places(http: httpx.AsyncClient, run: dict[str, Any], log: Bootstrap, objects: Path) -> dict[str, set[str]]:
    """Return the places that contain the canary, by kind."""
    bodies = list(contents(objects))
    found: dict[str, set[str]] = {
        "tables": {name.rpartition(".")[0] for name in await columns_holding(run["database"], CANARY)},
        "topics": {
            name for name in topic_names() if any(CANARY in text_of(one) for one in await records_of(log, name))
        },
        "objects": {turn for turn in ("t1", "t2") if any(CANARY in text and f'"{turn}"' in text for text in bodies)},
        "pages": {page for page in PAGES if CANARY in await got(http, "GET", page)},
        "exports": set(),
        "answers": {path for path in GETS if CANARY in await got(http, "GET", path)},
    }
    for path, body in QUESTIONS:
        if CANARY in await got(http, "POST", path, json=body):
            found["answers"].add(path)
    for kind in FORMATS:
        for everyone in ("false", "true"):
            if CANARY in await got(http, "GET", f"{BASE}/exports/{kind}?everyone={everyone}"):
                found["exports"].add(kind)
    return found


def contents(folder: Path) -> Iterator[str]:
    """Yield the content of the objects in a store's folder; skip objects that are deleted meanwhile."""
    for file in folder.rglob("*.json"):
        with suppress(FileNotFoundError):
            yield file.read_text("utf-8")


def topic_names() -> list[str]:
    return [name for topic in TOPICS for name in (topic.name, topic.dead_letters)]


def text_of(record: Any) -> str:
    parts = [record.key, record.value, *(value for _, value in record.headers)]
    return b" ".join(part for part in parts if part).decode("utf-8", "replace")


class Busy(Exception):
    """A request timed out and must be repeated."""


async def got(http: httpx.AsyncClient, method: str, path: str, **options: Any) -> str:
    answer = await http.request(method, path, **options)
    if answer.status_code == 503:
        raise Busy(path)
    assert answer.status_code in (200, 404), f"{path}: {answer.status_code} {answer.text[:300]}"
    return answer.text


def log_files(state: Path) -> list[Path]:
    """Return the files that the run writes, except the data of PostgreSQL."""
    data = tuple(state / "postgres" / name for name in ("base", "pg_wal"))
    return [
        file for file in state.rglob("*") if file.is_file() and not any(file.is_relative_to(folder) for folder in data)
    ]


async def kept_at_most_a_week(log: Bootstrap, names: set[str]) -> bool:
    """Return True if Kafka deletes the records of these topics after seven days."""
    admin = AIOKafkaAdminClient(**client_options(log))
    await admin.start()
    try:
        answers = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in names])
    finally:
        await admin.close()
    settings = [{entry[0]: entry[1] for entry in one[4]} for answer in answers for one in answer.resources]
    assert len(settings) == len(names)
    return all(one["cleanup.policy"] == "delete" and int(one["retention.ms"]) <= WEEK_MS for one in settings)


async def until_none(missing: Callable[[], Awaitable[list[str]]]) -> None:
    """Wait until the function returns nothing."""
    last: list[str] = []
    try:
        async with asyncio.timeout(90):
            while last := await missing():
                await asyncio.sleep(0.2)
    except TimeoutError:
        raise AssertionError(f"still missing: {last}") from None


async def test_an_erased_persons_words_are_nowhere(tmp_path: Path) -> None:
    objects, said_by_us = tmp_path / "objects", tmp_path / "run.log"
    async with state_folder() as state:
        async with serving(state, said_by_us, objects) as run:
            log = log_of(run)
            headers = {"Authorization": f"Bearer {run['token']}"}
            async with httpx.AsyncClient(base_url=run["url"], headers=headers, timeout=30) as http:
                await publish(log)

                async def not_judged() -> list[str]:
                    words = {"text": CANARY, "correction": CANARY, "tags": [CANARY]}
                    body = {"reaction": "not_ok", "user_id": "eve"} | words
                    answer = await http.post(f"{BASE}/c1/turns/t1/feedback", json=body)
                    return [] if answer.status_code == 202 else [answer.text]

                async def without() -> list[str]:
                    try:
                        held = await places(http, run, log, objects)
                    except Busy as error:
                        return [str(error)]
                    return [f"{kind} {name}" for kind, names in EVERYWHERE.items() for name in names - held[kind]]

                async def unconfirmed() -> list[str]:
                    status = await http.get(accepted.json()["status_url"])
                    return list(status.json()["missing"]) if status.status_code == 200 else [status.text]

                await until_none(not_judged)
                await until_none(without)
                accepted = await http.delete("/tenants/acme/users/eve")
                assert accepted.status_code == 202
                await until_none(unconfirmed)
                before, after = await compact(log)
                assert after < before
                left = await places(http, run, log, objects)
                topics = left.pop("topics")
                assert left == {kind: set() for kind in left}
                assert FEEDBACK_CREATED.name not in topics
                assert await kept_at_most_a_week(log, topics)
                assert "bob was here" in await got(http, "GET", PAGES[-1])
                assert list(objects.rglob("*.json"))
        logs = [*log_files(state), said_by_us]
        assert "run.log" in {file.name for file in logs}
        assert [file for file in logs if CANARY.encode() in file.read_bytes()] == []
