"""Our HTTP protocol on llhttp compared with uvicorn's on h11: judgements on a real Kafka, and an empty route.

python -m benchmarks.http_parsers [--seconds N] [--rounds N] [--clients 16,64]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.detect_over_http import until_ready
from benchmarks.http_load import in_turn, post
from benchmarks.http_rates import BODY, TOKEN, Say, judgements, known_turns, program, run
from benchmarks.servers import Servers
from benchmarks.workload import Workload


async def _measure(
    options: argparse.Namespace, shared: Servers, _: Path, source: Path, say: Say
) -> list[dict[str, Any]]:
    """Return the medians over the rounds. `of_h11` is the median of the ratios within rounds."""
    if shared.kafka is None:
        return []
    job = await shared.job(Workload(str(source), 0, 1, "http"), on_kafka=True)
    settings = {
        "FEEDBACK_BROKER": shared.kafka.bootstrap,
        "FEEDBACK_DATABASE_URL": job.database_url,
        "FEEDBACK_STORE_URL": job.database_url,
        "AGENT_FEEDBACK_TOKEN": TOKEN,
    }
    with (
        program("-m", "feedback", environment=settings) as ours,
        program("-m", "benchmarks.run_on_h11", "feedback", environment=settings) as on_h11,
        program("-m", "benchmarks.run_bare_route", by_position=True) as bare,
        program("-m", "benchmarks.run_on_h11", "benchmarks.run_bare_route", by_position=True) as bare_on_h11,
    ):
        for server in (ours, on_h11, bare, bare_on_h11):
            await until_ready(server.port)
        turns = judgements(await known_turns(shared.kafka.bootstrap, ours.port))
        await known_turns(shared.kafka.bootstrap, on_h11.port)
        pairs = {"judgements": ((ours, on_h11), turns), "bare": ((bare, bare_on_h11), [post("/feedback", BODY, TOKEN)])}
        found = []
        for name, (servers, requests) in pairs.items():
            for clients in options.clients:
                rounds = []
                for number in range(options.rounds):
                    loads = [one.load(clients, options.seconds, 202, in_turn(requests)) for one in servers]
                    rounds.append([(await load.measure())["per_s"] for load in loads])
                    say(f"  round {number + 1}, {name} {clients}: {rounds[-1]}")
                found.append(
                    {
                        "what": name,
                        "clients": clients,
                        "per_s": median(mine for mine, _ in rounds),
                        "on_h11_per_s": median(theirs for _, theirs in rounds),
                        "of_h11": round(median(mine / theirs for mine, theirs in rounds), 3),
                    }
                )
        return found


if __name__ == "__main__":
    run("python -m benchmarks.http_parsers", __doc__, _measure)
