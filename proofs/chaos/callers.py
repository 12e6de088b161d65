"""The load over HTTP: chat events as NDJSON and judgements of turns, each repeated until it is accepted."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx

from proofs.chaos.fleet import Fleet
from proofs.chaos.ledger import EXPLICIT, Entry, Ledger, Outgoing, digest
from proofs.chaos.process import AUTHORIZATION
from proofs.chaos.proxy import Door
from proofs.chaos.publisher import now_us
from proofs.chaos.traffic import Traffic
from proofs.chaos.wire import acceptances

HTTP_SERVICES = ("chat_bridge", "feedback")
CALLERS = 3
ROUND = 10
"""Events per caller and round."""
ROUND_SECONDS = 1.0
RESPONSES_CUT = 0.1
"""Share of accepted requests whose response is lost with its connection."""
PAST = 2 * 3_600 * 1_000_000
"""Minimum age of the events in microseconds, more than any service's clock is slow, so that none is in the future."""
_JUDGEMENT = ("eventId", "occurredAt", "tenant", "project", "conversationId", "turnId", "agentId", "userId", "reaction")
Event = dict[str, Any]


class Caller:
    """Client with a connection to each of the two services that accept events over HTTP.

    After a 5xx, a 429 or a broken connection the client does not know if the request was accepted, and repeats it
    unchanged. Any other rejection is added to `wrong`, since every request is valid.
    """

    def __init__(self, fleet: Fleet, ledger: Ledger, seed: int, wrong: list[str]) -> None:
        self._ledger = ledger
        self._rng = random.Random(seed)
        self._traffic = Traffic(seed, poison=0, tie=0)
        self._wrong = wrong
        self.doors = {name: Door(partial(fleet.port_of, name), acceptances) for name in HTTP_SERVICES}
        self.repeats = 0
        """Number of repeated requests."""

    async def round(self, client: httpx.AsyncClient) -> None:
        """Send some chat events, then judgements of turns whose answers have been accepted."""
        records = [self._traffic.next(now_us() - PAST) for _ in range(ROUND)]
        for tenant, project in sorted({tuple(record.key.split("/")[:2]) for record in records}):
            chat = [r for r in records if r.topic != EXPLICIT and r.key.startswith(f"{tenant}/{project}/")]
            if chat:
                await self._ingest(client, tenant, project, chat)
        for record in records:
            if record.topic == EXPLICIT:
                await self._judge(client, _event(record))

    async def _ingest(self, client: httpx.AsyncClient, tenant: str, project: str, records: Sequence[Outgoing]) -> None:
        events = [_event(record) for record in records]
        lines = [
            {"topic": record.topic} | {name: event[name] for name in event if name not in ("tenant", "project")}
            for record, event in zip(records, events, strict=True)
        ]
        body = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()
        response = await self._accepted(
            client, "chat_bridge", f"/ingest/{tenant}/{project}/events", body, "application/x-ndjson"
        )
        if response is None:
            return
        answer = response.json()
        if (answer["accepted"], answer["refused_total"]) != (len(lines), 0):
            self._wrong.append(f"not all of {len(lines)} valid lines were accepted: {response.text[:200]}")
            return
        await self._enter([(record.topic, event) for record, event in zip(records, events, strict=True)])

    async def _judge(self, client: httpx.AsyncClient, event: Event) -> None:
        """Judge a turn. Judgements of a person on a turn differ in their times, so events need no sequence."""
        conversation, turn = quote(event["conversationId"], safe=""), quote(event["turnId"], safe="")
        path = f"/conversations/{event['tenant']}/{event['project']}/{conversation}/turns/{turn}/feedback"
        body = {"reaction": event["reaction"], "ts": event["occurredAt"], "user_id": event["userId"]}
        if event["reaction"] is not None:
            body["text"] = event["text"]
        if await self._accepted(client, "feedback", path, json.dumps(body).encode(), "application/json") is not None:
            await self._enter([(EXPLICIT, {name: event[name] for name in _JUDGEMENT})])

    async def _accepted(
        self, client: httpx.AsyncClient, service: str, path: str, body: bytes, media_type: str
    ) -> httpx.Response | None:
        """Send a request until it is accepted. Return None if it is rejected."""
        door = self.doors[service]
        while True:
            cut = self._rng.random() < RESPONSES_CUT
            door.withholds = lambda cut=cut: cut
            try:
                response = await client.post(
                    f"http://127.0.0.1:{door.port}{path}", content=body, headers={"Content-Type": media_type}
                )
            except httpx.TransportError:
                response = None
            if response is not None and response.is_success:
                return response
            if response is not None and response.status_code < 500 and response.status_code != 429:
                self._wrong.append(f"{service} refused a valid request: {response.status_code} {response.text[:200]}")
                return None
            self.repeats += 1
            await asyncio.sleep(self._rng.uniform(0.1, 0.5))

    async def _enter(self, events: Sequence[tuple[str, Event]]) -> None:
        texts = [(topic, json.dumps(event, ensure_ascii=False)) for topic, event in events]
        entries = [Entry(topic, -1, -1, digest(text.encode()), text) for topic, text in texts]
        await asyncio.to_thread(self._ledger.write, entries)


def _event(record: Outgoing) -> Event:
    assert record.value is not None
    event: Event = json.loads(record.value)
    return event


class Callers:
    """Several callers, each in its own rounds until `ending`."""

    def __init__(self, fleet: Fleet, ledger: Ledger, seed: int) -> None:
        self.wrong: list[str] = []
        self._callers = [Caller(fleet, ledger, seed * 1_000 + n, self.wrong) for n in range(1, CALLERS + 1)]
        self.ending = False

    @property
    def responses_cut(self) -> int:
        """Number of accepted requests whose response the client did not get."""
        return sum(door.withheld for caller in self._callers for door in caller.doors.values())

    @property
    def repeats(self) -> int:
        return sum(caller.repeats for caller in self._callers)

    async def run(self) -> None:
        """Send until `ending`; on return, every request has been accepted."""
        await asyncio.gather(*map(self._run, self._callers))

    async def _run(self, caller: Caller) -> None:
        for door in caller.doors.values():
            await door.start()
        try:
            async with httpx.AsyncClient(timeout=15, trust_env=False, headers=AUTHORIZATION) as client:
                while not self.ending:
                    began = time.monotonic()
                    await caller.round(client)
                    await asyncio.sleep(max(0.0, began + ROUND_SECONDS - time.monotonic()))
        finally:
            for door in caller.doors.values():
                await door.stop()
