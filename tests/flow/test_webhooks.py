"""Announcements reach webhook receivers: signed, retried after failures, with retractions and erasures."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from reporting.outbox import sending
from reporting.outbox.courier import Courier
from reporting.outbox.endpoints import WebhookEndpoint, read_endpoints
from reporting.outbox.payload import OutboxMessage
from reporting.outbox.sending import CheckedHttp, WebhookSender
from reporting.outbox.store import Deliveries, Receiver
from reporting.sql import SQL
from servicekit.db.pools import open_pool
from servicekit.log.records import Message
from tests.support.erasures import erased
from tests.support.hand_clock import HandClock
from tests.support.receiver import Taken, receiver
from tests.support.running_stack import RunningStack, exchange, running_stack
from tests.support.secured_kafka import Certificates
from tests.support.waits import PATIENCE_SECONDS

SECRET = "whsec_" + base64.b64encode(b"a key of twenty-four byte").decode()
SCHEMA = SQL.schema


def endpoint(name: str, url: str, **fields: Any) -> str:
    """Return an endpoint of the tenant acme as defined in the file."""
    lines = {"name": name, "url": url, "tenant": "acme", "secrets": ["HOOK_SECRET"], "private": True} | fields
    return "[[endpoint]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items())


@asynccontextmanager
async def stack_with(postgres_url: str, folder: Path, *endpoints: str) -> AsyncIterator[RunningStack]:
    file = folder / "webhooks.toml"
    file.write_text("\n".join(endpoints), "utf-8")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HOOK_SECRET", SECRET)
        environment.setenv("REPORTING_WEBHOOKS", str(file))
        async with running_stack(postgres_url) as running:
            yield running


def data(taken: Sequence[Taken]) -> list[Any]:
    """Return the events, each verified by the standard's own package."""
    return [Webhook(SECRET).verify(one.body, one.headers)["data"] for one in taken]


async def judge(stack: RunningStack, reaction: str | None, conversation: str = "c1", **body: Any) -> None:
    async with stack.client("ann") as http:
        address = f"/conversations/acme/support/{conversation}/turns/t1/feedback"
        answer = await http.post(address, json={"reaction": reaction} | body)
    assert answer.status_code == 202, answer.text


async def standing(stack: RunningStack, name: str) -> dict[str, Any]:
    async with stack.client() as http:
        found = (await http.get("/tenants/acme/webhooks")).json()["endpoints"]
    return next(one for one in found if one["name"] == name)


async def failure(stack: RunningStack, name: str) -> str:
    """Wait for an endpoint's first failure and return it."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (answer := (await standing(stack, name))["last_answer"]) is None:
            await asyncio.sleep(0.02)
    return str(answer)


async def test_feedback_its_retraction_sessions_and_erasures_arrive(postgres_url: str, tmp_path: Path) -> None:
    async with receiver() as there:
        hooks = [
            endpoint("learner", f"{there.url}/learner", project="support"),
            endpoint("crm", f"{there.url}/crm", events=["feedback.session.created"]),
            endpoint("sales", f"{there.url}/sales", project="sales"),
            endpoint("globex", f"{there.url}/globex", tenant="globex"),
        ]
        async with stack_with(postgres_url, tmp_path, *hooks) as stack:
            await stack.publish(*exchange("c1", "t1"))
            await stack.quiet()
            await judge(stack, "not_ok", text="It opens at ten.")
            [first] = data(await there.until("/learner", lambda taken: len(taken) == 1))
            assert (first["change"], first["reaction"], first["text"]) == ("created", "not_ok", "It opens at ten.")
            await judge(stack, None)
            cleared = data(await there.until("/learner", lambda taken: len(taken) == 2))[1]
            assert (cleared["change"], cleared["reaction"], cleared["text"]) == ("cleared", None, None)
            assert (cleared["feedbackId"], cleared["revision"] > first["revision"]) == (first["feedbackId"], True)
            ids = [one.headers["webhook-id"] for one in there.at("/learner")]
            assert ids == [first["eventId"], cleared["eventId"]]
            async with stack.client("ann") as http:
                await http.post("/api/threads/c1/end", json={"feedback": "positive"})
            [rating] = await there.until("/crm", lambda taken: len(taken) == 1)
            assert Webhook(SECRET).verify(rating.body, rating.headers)["type"] == "feedback.session.created"
            await erased(stack, "ann")
            [*_, request] = data(await there.until("/learner", lambda taken: len(taken) == 3))
            assert request["userId"] == "ann"
            await there.until("/crm", lambda taken: len(taken) == 2)
            await judge_by_globex(stack)
            await there.until("/globex", lambda taken: taken)
            await there.until("/sales", lambda taken: taken)
            assert (len(there.at("/sales")), len(there.at("/learner"))) == (1, 3)  # erasures belong to no project
            # An event no longer waits soon after its receiver has answered.
            async with stack.client() as http, asyncio.timeout(PATIENCE_SECONDS):
                while (await standing(stack, "learner"))["waiting"]:
                    await asyncio.sleep(0.02)
                while (of_others := (await http.get("/tenants/globex/webhooks")).json()["endpoints"])[0]["waiting"]:
                    await asyncio.sleep(0.02)
            assert [(one["name"], one["dead"]) for one in of_others] == [("globex", 0)]


async def judge_by_globex(stack: RunningStack) -> None:
    await stack.publish(*exchange("c1", "t1", tenant="globex"))
    await stack.quiet()
    async with stack.client("gus") as http:
        await http.post("/conversations/globex/support/c1/turns/t1/feedback", json={"reaction": "ok"})


async def test_a_receiver_that_hangs_or_fails_holds_nobody_else(postgres_url: str, tmp_path: Path) -> None:
    async with receiver() as there:
        there.held.add("/slow")
        there.answers |= {"/broken": 500, "/gone": 410, "/moved": 302}
        names = ("slow", "broken", "gone", "moved", "well")
        hooks = [endpoint(name, f"{there.url}/{name}") for name in names]
        hooks.append(endpoint("nobody", "http://127.0.0.1:1/"))
        hooks.append(endpoint("inside", there.url.replace("http:", "https:"), private=False))
        async with stack_with(postgres_url, tmp_path, *hooks) as stack:
            await stack.publish(*exchange("c1", "t1"), *exchange("c2", "t1"))
            await stack.quiet()
            await judge(stack, "ok")
            for name in names:
                await there.until(f"/{name}", lambda taken: taken)
            await judge(stack, "ok", "c2")
            await there.until("/well", lambda taken: len(taken) == 2)
            await stack.quiet()  # the reports are not held either
            assert await stack.stack.not_ready() is None
            assert there.at("/elsewhere") == []
            failed = ("broken", "gone", "moved", "nobody", "inside")
            assert {name: await failure(stack, name) for name in failed} == {
                "broken": "500",
                "gone": "410",
                "moved": "302",
                "nobody": "ConnectError",
                "inside": "private_address",
            }
            assert (await standing(stack, "gone"))["dead"] >= 1
            assert (await standing(stack, "broken"))["dead"] == 0
            there.answers.clear()
            async with stack.client() as http:
                before = len(there.at("/gone"))
                due = (await http.post("/tenants/acme/webhooks/gone/replay")).json()["due"]
                assert due >= 1
                assert (await http.post("/tenants/acme/webhooks/nowhere/replay")).status_code == 404
                assert (await http.post("/tenants/globex/webhooks/gone/replay")).status_code == 404
            again = await there.until("/gone", lambda taken: len(taken) >= before + due)
            assert len({one.headers["webhook-id"] for one in again}) == 2
            there.released.set()


async def test_what_an_erasure_covers_is_not_sent_any_more(postgres_url: str, tmp_path: Path) -> None:
    words = "zanzibar-landlord"
    async with receiver() as there:
        there.answers["/down"] = 503
        events = ["feedback.created", "feedback.session.created"]
        async with stack_with(postgres_url, tmp_path, endpoint("down", f"{there.url}/down", events=events)) as stack:
            await stack.publish(*exchange("c1", "t1"))
            await stack.quiet()
            await judge(stack, "not_ok", text=words)
            async with stack.client("ann") as http:
                await http.post("/api/threads/c1/end", json={"feedback": "negative"})
            await there.until("/down", lambda taken: len({one.headers["webhook-id"] for one in taken}) == 2)
            [before] = await stack.rows("select event from reporting.deliveries where topic = 'feedback.created'")
            await erased(stack, "ann")
            await stack.quiet()
            rows = await stack.rows("select subject, event from reporting.deliveries")
            assert [row["subject"].partition("/")[0] for row in rows] == ["erasure"]
            assert words not in rows[0]["event"]
            # An earlier announcement that is read again restores nothing.
            record = json.loads(before["event"])
            assert record["text"] == words
            await stack.stack.log.send([Message("feedback.created", record["feedbackId"], json.dumps(record).encode())])
            await stack.quiet()
            assert len(await stack.rows("select from reporting.deliveries")) == 1


class Hook:
    """One endpoint's courier on a manual clock, with its table."""

    def __init__(self, found: WebhookEndpoint, pool: Any) -> None:
        self.clock = HandClock()
        self.deliveries = Deliveries(pool)
        self.receiver = Receiver(found.name, found.tenant)
        self.http = CheckedHttp(5)
        send = WebhookSender([found], self.http, self.clock).send
        self.courier = Courier(self.deliveries, [self.receiver], send, self.clock, seconds=5, pick=lambda: 0.0)

    async def deliver(self) -> None:
        await self.courier.deliver()
        await self.courier.sent()

    async def add(self, number: int, revision: int = 1) -> None:
        one = OutboxMessage(
            self.receiver.receiver,
            f"f{number}",
            f"e{number}.{revision}",
            "feedback.created",
            revision,
            "acme",
            "ann",
            0,
            "{}",
        )
        await self.deliveries.add([one], self.clock.now())

    async def rows(self, pool: Any) -> list[tuple[Any, ...]]:
        found = await pool.fetch("select subject, revision, attempts, dead from deliveries order by 1")
        return [tuple(row) for row in found]


@asynccontextmanager
async def hook(postgres_url: str, tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    (tmp_path / "webhooks.toml").write_text(endpoint("learner", url), "utf-8")
    [found] = read_endpoints(tmp_path / "webhooks.toml")
    pool = await open_pool(postgres_url, "reporting", SCHEMA, size=2)
    try:
        await pool.execute("truncate deliveries")
        made = Hook(found, pool)
        yield made, pool
        await made.courier.close()
        await made.http.close()
    finally:
        await pool.close()


async def test_a_failing_receiver_is_left_alone(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiver() as there:
        there.answers["/"] = 500
        async with hook(postgres_url, tmp_path, f"{there.url}/", monkeypatch) as (made, pool):
            for number in range(40):
                await made.add(number)
            await made.deliver()
            first = len(there.taken)
            assert first <= 9
            await made.deliver()
            assert len(there.taken) == first
            there.answers.clear()
            made.clock.forward(31)
            await made.deliver()
            assert await made.rows(pool) == []


@pytest.mark.parametrize(("name", "answered"), [("broker.test", "204"), ("another.test", "ConnectError")])
async def test_a_name_is_looked_up_once_and_its_certificate_checked(
    name: str, answered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def looked_up(host: str, port: int, *, private: bool) -> str:
        asked.append(host)
        return "127.0.0.1"

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert f"host: {name}".encode() in head.lower()
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()
        writer.close()

    certificates = Certificates(tmp_path / "tls")
    there, here = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    there.load_cert_chain(certificates.broker, certificates.broker_key)
    here.load_verify_locations(certificates.ca)
    monkeypatch.setattr(sending, "address_of", looked_up)
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    server = await asyncio.start_server(take, "127.0.0.1", 0, ssl=there)
    async with server:
        url = f"https://{name}:{server.sockets[0].getsockname()[1]}/"
        (tmp_path / "webhooks.toml").write_text(endpoint("learner", url, private=False), "utf-8")
        http = CheckedHttp(5)
        http._http = httpx.AsyncClient(verify=here, trust_env=False)
        sender = WebhookSender(read_endpoints(tmp_path / "webhooks.toml"), http, HandClock())
        one = OutboxMessage("learner", "f1", "e1", "feedback.created", 1, "acme", "ann", 0, "{}")
        assert (await sender.send(one)).what == answered
        await http.close()
    assert asked == [name]
