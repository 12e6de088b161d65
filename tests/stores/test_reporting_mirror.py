"""Objects in the object store follow the tables: payloads, turn logs, outages, erasures, late writes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from contracts.erasure import Erasure, Person, confirmation
from contracts.headers import derived_headers
from contracts.topics import ERASURE_CONFIRMED
from reporting.http.conversations import conversations_router
from reporting.mirror.mirror import DELETE_AGAIN_AFTER, ArtifactReplicator
from reporting.mirror.object_store import ObjectStore
from reporting.mirror.store_setting import set_store
from reporting.outbox.receipts import HeldReceipts
from reporting.read_models.erasure import ReportingErasures
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.errors import StartError, Unavailable
from servicekit.log.records import Message, Written
from tests.support.hand_clock import FixedClock, HandClock
from tests.support.object_stores import AnyStore, object_store
from tests.support.reporting_client import client
from tests.support.reporting_database import empty_read_models
from tests.support.reporting_events import START, batch, feedback, message

SEARCH = "/conversations/acme/support/feedback/artifacts"
NOW = FixedClock(START + 3_600_000_000)
ERASURE = Erasure(Person("acme", "eve"), "r1", START)


class Log:
    """Log that accepts everything."""

    def __init__(self) -> None:
        self.sent: list[Message] = []

    async def send(self, messages: Any) -> list[Written]:
        self.sent += messages
        return []


class World:
    """Read models with a mirror at `place`."""

    def __init__(self, pool: asyncpg.Pool, place: AnyStore, turn_logs: bool) -> None:
        self.pool, self.place, self.clock, self.log = pool, place, HandClock(), Log()
        self.projector = ProjectionHandler(PostgresReadModels(pool))
        self.receipts = HeldReceipts(pool, self.log, self.clock)
        self.objects = ObjectStore(place.url)
        self.mirror = ArtifactReplicator(pool, self.objects, self.receipts, self.clock, turn_logs=turn_logs)
        self.catch_up = self.mirror.catch_up

    async def take(self, *events: Any) -> None:
        await self.projector.handle(batch(*events))

    async def shown(self) -> list[dict[str, Any]]:
        """Return the artifacts in the index, oldest first."""
        async with client([conversations_router(self.pool, NOW, self.place.url)]) as http:
            body = {"conversation_id": "c1", "sort": "oldest", "with_payload": True}
            answer = await http.post(SEARCH, json=body)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["items"])

    def held(self) -> dict[str, Any]:
        """Return the objects by their address."""
        return {f"{self.objects.url}/{name}": json.loads(body) for name, body in self.place.objects().items()}


@pytest.fixture(params=["folder", pytest.param("s3", marks=[pytest.mark.bridges, pytest.mark.timeout(900)])])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AnyStore]:
    async with object_store(request.param, tmp_path) as store:
        yield store


@pytest.fixture
async def make(postgres_url: str, place: AnyStore) -> AsyncIterator[Callable[..., Any]]:
    async with empty_read_models(postgres_url) as pool:

        async def made(*, turn_logs: bool = False) -> World:
            world = World(pool, place, turn_logs)
            await set_store(pool, place.url, turn_logs=turn_logs)
            return world

        yield made


async def test_a_payload_lies_where_the_index_says(make: Callable[..., Any]) -> None:
    world = await make()
    await world.take(feedback("f1", text="fine 🙂"), feedback("f2", user="bob", reaction="not_ok", at=1))
    assert [one["hosted_uri"] for one in await world.shown()] == [None, None]
    assert await world.catch_up() == 1
    shown = await world.shown()
    assert world.held() == {one["hosted_uri"]: one["payload"] for one in shown}
    assert all(one["hosted_uri"].startswith(f"{world.place.url}/tenant=acme/project=support/") for one in shown)


async def test_nothing_of_a_person_is_in_a_name(make: Callable[..., Any]) -> None:
    world = await make(turn_logs=True)
    await world.take(message("q-secret", sender="secret", conversation="c-secret", turn="t-secret"))
    await world.take(feedback("f1", user="secret", conversation="c-secret", turn="t-secret", tenant="..", project=".."))
    await world.catch_up()
    names = list(world.place.objects())
    assert len(names) == 2
    assert not any("secret" in name for name in names)


async def test_a_change_gets_an_address_of_its_own_and_the_old_object_goes(make: Callable[..., Any]) -> None:
    world = await make()
    await world.take(feedback("f1", reaction="ok"))
    await world.catch_up()
    ((before, _),) = world.held().items()
    await world.take(feedback("f1", reaction="not_ok", revision=2))
    assert (await world.shown())[0]["hosted_uri"] == before  # until it is mirrored
    await world.catch_up()
    ((after, body),) = world.held().items()
    assert after != before
    assert body["reaction"]["reaction"] == "not_ok"
    assert (await world.shown())[0]["hosted_uri"] == after


async def test_what_stays_the_same_is_not_written_again(make: Callable[..., Any]) -> None:
    world = await make(turn_logs=True)
    await world.take(message("a1", agent="bot"), feedback("f1"))
    await world.catch_up()
    before = world.held()
    await world.take(feedback("f1", revision=2))
    assert await world.catch_up() == 1
    assert world.held() == before


async def test_what_no_report_shows_lies_nowhere(make: Callable[..., Any]) -> None:
    world = await make()
    await world.take(feedback("f1"), feedback("f2", user="bob", turn="t2", kind="inferred"))
    await world.catch_up()
    await world.take(
        feedback("f1", reaction=None, revision=2),
        feedback("f2", user="bob", turn="t3", kind="inferred", revision=2),
    )
    await world.catch_up()
    assert [body["reaction"]["turn_id"] for body in world.held().values()] == ["t3"]
    await world.pool.execute("delete from feedbacks")  # by retention, or manually
    await world.catch_up()
    assert world.held() == {}


async def test_a_turns_log_takes_its_reactions_along_and_the_index_stays_as_it_is(make: Callable[..., Any]) -> None:
    world = await make(turn_logs=True)
    await world.take(message("q1", content="When?", at=0), message("a1", agent="bot", content="At nine.", at=1))
    await world.catch_up()
    (before,) = await world.shown()
    assert world.held()[before["hosted_uri"]]["feedbacks"] == []
    await world.take(
        feedback("m1", kind="inferred", reaction="not_ok", at=5), feedback("f1", reaction="ok", text="thanks", at=3)
    )
    await world.catch_up()
    log, thanks, verdict = await world.shown()
    changed = {"hosted_uri": None, "payload": None}
    assert log | changed == before | changed
    assert log["hosted_uri"] != before["hosted_uri"]
    body = world.held()[log["hosted_uri"]]
    assert body == log["payload"], "the API returns what the object contains"
    assert body["feedbacks"] == [one["payload"]["reaction"] | {"rn": one["id"]} for one in (thanks, verdict)]
    said = [
        f"[USER FEEDBACK] [ts: {thanks['ts']}] reaction: ok\nthanks",
        f"[FEEDBACK] [ts: {verdict['ts']}] reaction: not_ok",
    ]
    assert body["text"] == "\n".join([log["text"], *said])
    assert body["entries"] == [
        {"kind": "turn.log.reaction", "ts": one["ts"], "text": text}
        for one, text in zip((thanks, verdict), said, strict=True)
    ]
    assert len(world.held()) == 3


async def test_an_outage_delays_the_mirror_and_nothing_else(make: Callable[..., Any]) -> None:
    world = await make()
    await world.take(feedback("f0", turn="t0"))
    await world.catch_up()
    await world.place.down()
    await world.take(*(feedback(f"f{n}", turn=f"t{n}", at=n) for n in range(40)), feedback("f0", turn="t0", revision=2))
    with pytest.raises(Unavailable):
        await world.catch_up()
    entered = await world.pool.fetchval("select count(*) from hosted_artifacts")
    with pytest.raises(Unavailable):
        await world.catch_up()
    assert await world.pool.fetchval("select count(*) from hosted_artifacts") == entered  # a long outage adds none
    (warning,) = world.mirror.warnings
    assert "artifact store" in warning
    assert "changes of turns wait" in warning
    assert len(await world.shown()) == 40
    await world.place.up()
    await world.catch_up()
    assert world.mirror.warnings == []
    assert len(world.held()) == 40
    assert world.held() == {one["hosted_uri"]: one["payload"] for one in await world.shown()}


@pytest.mark.parametrize("turn_logs", [True, False])
async def test_an_erased_persons_words_leave_the_store_before_the_receipt_goes(
    make: Callable[..., Any], turn_logs: bool
) -> None:
    world = await make(turn_logs=turn_logs)
    await world.take(
        message("q1", sender="eve", content="my secret", at=0),
        message("a1", agent="bot", at=1),
        feedback("f1", user="eve", text="secret"),
        feedback("f2", user="bob", text="stays"),
    )
    await world.catch_up()
    held = b"".join(world.place.objects().values())
    assert (b"my secret" in held) == turn_logs
    assert b"secret" in held
    await world.place.down()
    await ReportingErasures(world.pool).erase({Person("acme", "eve"): START + 10_000_000})
    traced = derived_headers(traceparent=f"00-{'a' * 32}-{'b' * 16}-01")
    receipt = Message.of(ERASURE_CONFIRMED, confirmation(ERASURE, "reporting", 1), traced)
    await world.receipts.send([receipt])
    with pytest.raises(Unavailable):
        await world.catch_up()
    assert world.log.sent == []
    await world.place.up()
    await world.catch_up()
    held = b"".join(world.place.objects().values())
    assert b"secret" not in held
    assert b"stays" in held
    assert world.log.sent == [receipt]
    await world.catch_up()
    assert world.log.sent == [receipt]


async def test_a_write_that_arrives_after_the_deletion_is_deleted_too(make: Callable[..., Any]) -> None:
    world = await make()
    await world.take(feedback("f1", text="secret"))
    await world.catch_up()
    ((name, body),) = world.place.objects().items()
    await world.take(feedback("f1", reaction=None, revision=2))
    await world.catch_up()
    assert world.place.objects() == {}
    await world.objects.put([(name, body)])
    world.clock.forward(DELETE_AGAIN_AFTER / 1_000_000 - 1)
    await world.catch_up()
    assert list(world.place.objects()) == [name]
    world.clock.forward(1)
    await world.catch_up()
    assert world.place.objects() == {}
    assert await world.pool.fetchval("select count(*) from hosted_artifacts") == 0


async def test_what_a_killed_worker_wrote_is_deleted(make: Callable[..., Any]) -> None:
    world = await make()
    await world.take(feedback("f1"))

    async def killed(objects: Any) -> Any:
        await ObjectStore.put(world.objects, objects)
        raise KeyboardInterrupt

    world.objects.put = killed
    with pytest.raises(KeyboardInterrupt):
        await world.catch_up()
    assert len(world.place.objects()) == 1
    del world.objects.put
    await world.catch_up()
    assert world.held() == {one["hosted_uri"]: one["payload"] for one in await world.shown()}


async def test_one_worker_is_at_it_at_a_time(make: Callable[..., Any]) -> None:
    world = await make()
    await world.take(*(feedback(f"f{n}", turn=f"t{n}") for n in range(250)))
    other = ArtifactReplicator(world.pool, world.objects, world.receipts, world.clock, turn_logs=False)
    assert sorted(await asyncio.gather(world.catch_up(), other.catch_up())) == [0, 250]
    assert len(world.held()) == 250


async def test_what_was_there_before_the_store_is_mirrored_and_so_are_logs_once_they_are_wanted(
    make: Callable[..., Any],
) -> None:
    world = await make()
    await world.take(message("a1", agent="bot"), feedback("f1"))
    await world.catch_up()
    assert len(world.held()) == 1
    with_logs = await make(turn_logs=True)
    await with_logs.catch_up()
    assert len(world.held()) == 2
    without = await make()
    await without.catch_up()
    assert len(world.held()) == 1


async def test_no_receipt_goes_before_a_log_that_is_mirrored_no_more(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await make(turn_logs=True)
    await world.take(message("a1", agent="bot"), message("q1", sender="eve", content="eve's words"))
    await world.catch_up()
    assert any(b"eve's words" in body for body in world.place.objects().values())
    await world.pool.execute("update artifact_store set turn_logs = false, is_marked = false")
    without = World(world.pool, world.place, turn_logs=False)
    await ReportingErasures(world.pool).erase({Person("acme", "eve"): START + 3_600_000_000})
    assert await world.pool.fetchval("select count(*) from changed_turns where reader = 'mirror'") == 0

    async def released(*arguments: Any) -> None:
        assert without.place.objects() == {}
        await HeldReceipts.release(without.receipts, *arguments)

    monkeypatch.setattr(without.receipts, "release", released)
    await without.receipts.send([Message.of(ERASURE_CONFIRMED, confirmation(ERASURE, "reporting", 1))])
    await without.catch_up()
    assert len(without.log.sent) == 1


async def test_without_a_store_no_change_is_marked(make: Callable[..., Any]) -> None:
    world = await make()
    await set_store(world.pool, None, turn_logs=False)
    await world.take(message("a1", agent="bot"), feedback("f1"))
    assert await world.pool.fetchval("select count(*) from changed_turns where reader = 'mirror'") == 0
    await set_store(world.pool, world.place.url, turn_logs=True)
    await world.catch_up()
    assert len(world.held()) in (1, 2)
    for url in (None, "s3://elsewhere"):
        with pytest.raises(StartError, match="There are artifacts in"):
            await set_store(world.pool, url, turn_logs=True)


async def test_a_folder_that_the_store_makes_is_closed_to_others(tmp_path: Path) -> None:
    ObjectStore(f"file://{tmp_path}/made%20here")
    assert (tmp_path / "made here").stat().st_mode & 0o777 == 0o700


async def test_another_tenant_under_the_same_ids_is_another_folder(make: Callable[..., Any]) -> None:
    world = await make(turn_logs=True)
    theirs: dict[str, Any] = {"tenant": "globex", "project": "support"}
    await world.take(
        message("a1", agent="bot", content="ours"),
        feedback("f1", text="ours"),
        message("a1", agent="bot", content="theirs", **theirs),
        feedback("g1", text="theirs", **theirs),
    )
    await world.catch_up()
    held = world.place.objects()
    assert len(held) == 4
    assert all((b"theirs" in body) == name.startswith("tenant=globex/") for name, body in held.items())
    await world.pool.execute("delete from feedbacks where tenant = 'globex'")
    await world.catch_up()
    assert sum(name.startswith("tenant=acme/") for name in world.place.objects()) == 2
    assert len(world.place.objects()) == 3
