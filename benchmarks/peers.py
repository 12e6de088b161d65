"""Judgements over HTTP compared with Phoenix's annotations of spans, alternating in one run; both wait for storage.

python -m benchmarks.peers [--seconds N] [--rounds N] [--clients 16,64]

Phoenix runs in a separate environment under .agent-feedback, whose creation takes minutes and a gigabyte. Requests to
it have `sync=true`, and its database is the default (SQLite in a file). We respond when Kafka has acknowledged the
judgement.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import httpx

from benchmarks.http_load import Load, in_turn, post
from benchmarks.http_rates import TOKEN, judgements, known_turns, run
from benchmarks.programs import Program
from benchmarks.servers import Servers
from benchmarks.workload import Say, Workload
from tests.support.ports import free_port
from tests.support.tool_environment import PHOENIX, environment_of

SPANS: Final = 200
READY_SECONDS: Final = 300.0


class Phoenix(NamedTuple):
    """Running Phoenix."""

    port: int
    pid: int


@asynccontextmanager
async def phoenix(folder: Path) -> AsyncIterator[Phoenix]:
    """Run Phoenix with `SPANS` spans to annotate."""
    programs = await environment_of("phoenix", PHOENIX)
    port = free_port()
    settings = {
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    process = await asyncio.create_subprocess_exec(
        str(programs / "phoenix"),
        "serve",
        env=os.environ | settings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(READY_SECONDS), httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
            while not await _answers(http, "/healthz"):
                if process.returncode is not None:
                    raise SystemExit("Phoenix ended by itself: does its environment hold what it needs?")
                await asyncio.sleep(0.2)
            (await http.post("/v1/projects/default/spans", json={"data": _spans()})).raise_for_status()
            last = {"data": [_annotation(SPANS - 1)]}
            while (await http.post("/v1/span_annotations?sync=true", json=last)).status_code != 200:
                await asyncio.sleep(0.2)
        yield Phoenix(port, process.pid)
    finally:
        process.terminate()
        await process.wait()


async def _answers(http: httpx.AsyncClient, path: str) -> bool:
    try:
        return (await http.get(path)).is_success
    except httpx.HTTPError:
        return False


def _spans() -> list[dict[str, Any]]:
    return [
        {
            "name": "answer",
            "context": {"trace_id": f"{number + 1:032x}", "span_id": f"{number + 1:016x}"},
            "span_kind": "LLM",
            "start_time": "2026-01-01T10:00:00Z",
            "end_time": "2026-01-01T10:00:01Z",
            "status_code": "OK",
        }
        for number in range(SPANS)
    ]


def _annotation(number: int) -> dict[str, Any]:
    return {
        "span_id": f"{number + 1:016x}",
        "name": "feedback",
        "annotator_kind": "HUMAN",
        "identifier": "ann",
        "result": {"label": "not_ok", "score": -1.0, "explanation": "The price is out of date."},
    }


async def peers(
    shared: Servers, folder: Path, source: Path, *, seconds: float, rounds: int, clients: Sequence[int], say: Say
) -> list[dict[str, Any]]:
    """Return both systems' responses per second and the median ratio of the rounds, for each number of clients."""
    if shared.kafka is None:
        raise SystemExit(f"No Kafka can run here: {shared.why}")
    job = await shared.job(Workload(str(source), 0, 1, "peers"), on_kafka=True)
    settings = {
        "FEEDBACK_BROKER": shared.kafka.bootstrap,
        "FEEDBACK_DATABASE_URL": job.database_url,
        "FEEDBACK_STORE_URL": job.database_url,
        "AGENT_FEEDBACK_TOKEN": TOKEN,
    }
    annotations = [
        post("/v1/span_annotations?sync=true", json.dumps({"data": [_annotation(number)]}).encode(), TOKEN)
        for number in range(SPANS)
    ]
    figures = []
    say("Starting Phoenix ...")
    with Program("-m", "feedback", environment=settings) as server:
        async with phoenix(folder) as theirs:
            turns = await known_turns(shared.kafka.bootstrap, server.port)
            for n in clients:
                runs = []
                for number in range(rounds):
                    ours = await Load(server, n, seconds, 202, in_turn(judgements(turns))).measure()
                    other = await Load(theirs, n, seconds, 200, in_turn(annotations)).measure()
                    say(f"  round {number + 1}, {n} clients: {ours['per_s']:,.0f}/s, Phoenix {other['per_s']:,.0f}/s")
                    runs.append((ours, other))
                figures.append(_figures(n, runs))
    return figures


def _figures(clients: int, runs: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
    return {
        "clients": clients,
        "explicit_per_s": median(ours["per_s"] for ours, _ in runs),
        "explicit_p99_ms": median(ours["p99"] for ours, _ in runs),
        "explicit_cpu_us": median(ours["cpu_us"] for ours, _ in runs),
        "phoenix_per_s": median(other["per_s"] for _, other in runs),
        "phoenix_p99_ms": median(other["p99"] for _, other in runs),
        "times_phoenix": round(median(ours["per_s"] / other["per_s"] for ours, other in runs), 1),
    }


async def _measure(
    options: argparse.Namespace, shared: Servers, folder: Path, source: Path, say: Say
) -> list[dict[str, Any]]:
    return await peers(
        shared,
        folder / "phoenix",
        source,
        seconds=options.seconds,
        rounds=options.rounds,
        clients=options.clients,
        say=say,
    )


if __name__ == "__main__":
    run("python -m benchmarks.peers", __doc__, _measure)
