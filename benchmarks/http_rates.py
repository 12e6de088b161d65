"""Rates of judgements and chat events over HTTP, each service alone on a real Kafka, compared with an empty route.

python -m benchmarks.http_rates [--seconds N] [--rounds N] [--clients 16,64]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx
import uvloop

from benchmarks.http_load import Load, in_turn, post
from benchmarks.programs import Program
from benchmarks.servers import Servers, servers
from benchmarks.workload import Say, Workload, scratch, source_of
from contracts.instants import format_instant
from servicekit.clock import SystemClock
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Message

TOKEN: Final = "benchmark-of-http"
TURNS: Final = 2_000
LINES: Final = 500
"""Number of events in the body of an ingest request."""
READY_SECONDS: Final = 60.0


async def http_rates(
    shared: Servers, source: Path, *, seconds: float, rounds: int, clients: Sequence[int], say: Say
) -> dict[str, Any]:
    """Return the responses per second of each setting, measured alternately over `rounds`; empty without Kafka."""
    if shared.kafka is None:
        return {}
    job = await shared.job(Workload(str(source), 0, 1, "http"), on_kafka=True)
    settings = {
        "FEEDBACK_BROKER": shared.kafka.bootstrap,
        "FEEDBACK_DATABASE_URL": job.database_url,
        "FEEDBACK_STORE_URL": job.database_url,
        "CHAT_BRIDGE_BROKER": shared.kafka.bootstrap,
        "CHAT_BRIDGE_DATABASE_URL": job.database_url,
        "AGENT_FEEDBACK_TOKEN": TOKEN,
    }
    with (
        Program("-m", "feedback", environment=settings) as judging,
        Program("-m", "chat_bridge", environment=settings) as ingesting,
        Program("-m", "benchmarks.run_bare_route") as bare,
    ):
        turns = await known_turns(shared.kafka.bootstrap, judging.port)
        loads = {
            **{f"explicit {n}": Load(judging, n, seconds, 202, in_turn(judgements(turns))) for n in clients},
            **{f"bare {n}": Load(bare, n, seconds, 202, in_turn([post("/feedback", BODY, TOKEN)])) for n in clients},
            "ingest": Load(ingesting, 1, seconds, 200, in_turn(_ingests(source))),
        }
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in loads}
        for number in range(rounds):
            for name, load in loads.items():
                runs[name].append(one := await load.measure())
                say(f"  round {number + 1}, {name}: {one['per_s']:,.0f}/s, p50 {one['p50']} ms, p99 {one['p99']} ms")
    return _figures(runs, clients)


def _figures(runs: dict[str, list[dict[str, Any]]], clients: Sequence[int]) -> dict[str, Any]:
    """Return the medians over the rounds. `of_bare` is the median of the ratios within rounds."""

    def middle(name: str, what: str) -> float:
        values: list[float] = [run[what] for run in runs[name]]
        return round(median(values), 2)

    by_clients = []
    for n in clients:
        pairs = zip(runs[f"explicit {n}"], runs[f"bare {n}"], strict=True)
        by_clients.append(
            {
                "clients": n,
                "explicit_per_s": middle(f"explicit {n}", "per_s"),
                "explicit_p50_ms": middle(f"explicit {n}", "p50"),
                "explicit_p99_ms": middle(f"explicit {n}", "p99"),
                "explicit_cpu_us": middle(f"explicit {n}", "cpu_us"),
                "bare_per_s": middle(f"bare {n}", "per_s"),
                "of_bare": round(median(ours["per_s"] / theirs["per_s"] for ours, theirs in pairs), 3),
            }
        )
    ingest = {"ingest_events_per_s": middle("ingest", "per_s") * LINES, "ingest_lines": LINES}
    return by_clients[0] | ingest | {"by_clients": by_clients}


BODY: Final = json.dumps({"reaction": "not_ok", "text": "The price is out of date.", "tags": ["wrong"]}).encode()


def judgements(turns: Sequence[str]) -> list[bytes]:
    """Return a POST request with a judgement for each turn."""
    return [post(f"/conversations/acme/bench/{turn}/turns/{turn}/feedback", BODY, TOKEN) for turn in turns]


def _ingests(source: Path) -> list[bytes]:
    """Return ingest requests with recorded events. The index already has their messages, but the log does not."""
    lines = [line for line in source.read_bytes().splitlines() if line.strip()]
    events = [json.loads(line) for line in lines[: 10 * LINES]]
    for event in events:
        event |= {"tenant": "acme", "project": "bench", "occurredAt": "2026-01-01T00:00:00Z"}
    bodies = [events[first : first + LINES] for first in range(0, len(events) - LINES + 1, LINES)] or [events]
    texts = ["\n".join(json.dumps(event, ensure_ascii=False) for event in body).encode() for body in bodies]
    return [post("/ingest/acme/bench/events", text, TOKEN, "application/x-ndjson") for text in texts]


async def known_turns(bootstrap: str, port: int) -> list[str]:
    """Publish answers that are their own turns, and wait until the service knows the last one."""
    names = [f"t{number}" for number in range(TURNS)]
    when = format_instant(SystemClock().now())
    common = {"occurredAt": when, "tenant": "acme", "project": "bench", "senderType": "agent", "senderId": "bot"}
    producer = BatchProducer(bootstrap, client_id="bench")
    await producer.send(
        [
            Message(
                "chat.message.ingested",
                f"acme/bench/{name}",
                json.dumps(
                    common
                    | {"eventId": name, "messageId": name, "conversationId": name, "agentId": "bot", "content": "Here."}
                ).encode(),
            )
            for name in names
        ]
    )
    await producer.stop()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(headers=headers) as http, asyncio.timeout(READY_SECONDS):
        for name in names[-20:]:
            url = f"http://127.0.0.1:{port}/conversations/acme/bench/{name}/turns/{name}/feedback"
            while (await http.post(url, json={"reaction": "ok"})).status_code != 202:
                await asyncio.sleep(0.1)
    return names


def run(
    prog: str, about: str | None, measure: Callable[[argparse.Namespace, Servers, Path, Path, Say], Awaitable[object]]
) -> None:
    """Parse the options, run `measure`, and print its result as JSON.

    The arguments of `measure` are the options (`seconds`, `rounds`, `clients`), the servers, a temporary folder, the
    file of events in that folder, and a function that prints progress.
    """
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=lambda text: [int(n) for n in text.split(",")], default=[16, 64])
    options = parser.parse_args()

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    async def main() -> None:
        with scratch() as folder:
            source, _ = source_of(folder)
            async with servers(folder, say, with_kafka=True) as shared:
                print(json.dumps(await measure(options, shared, folder, source, say), indent=2))

    uvloop.run(main())


async def _measure(options: argparse.Namespace, shared: Servers, _: Path, source: Path, say: Say) -> dict[str, Any]:
    return await http_rates(
        shared, source, seconds=options.seconds, rounds=options.rounds, clients=options.clients, say=say
    )


if __name__ == "__main__":
    run("python -m benchmarks.http_rates", __doc__, _measure)
