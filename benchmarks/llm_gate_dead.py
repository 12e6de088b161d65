"""Cost of an unresponsive LLM endpoint to a batch of uncertain messages, in seconds until all are decided.

    python benchmarks/llm_gate_dead.py [--messages N] [--json]

With the default limits, against a real PostgreSQL. The first batch meets the dead endpoint, the next finds it left
alone, and the last one is the first once more, as a redelivery brings it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import inference.service
from chat_completions.endpoint import LlmEndpoint
from detector.detector import Detector
from detector.model import Message, Neighbourhood
from inference.llm_gate.asking import Asking
from inference.llm_gate.gate import LlmGate, PendingVerdict
from inference.llm_gate.store_postgres import PostgresGateAnswers
from inference.settings import InferenceSettings
from inference.store import ConversationKey
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from standalone.embedded.postgres import EmbeddedPostgres

MIGRATIONS = Path(inference.service.__file__).parent / "migrations"
MINUTE = 60_000_000


def uncertain(detector: Detector, name: str, count: int) -> list[PendingVerdict]:
    """Return messages of `count` conversations that no rule decides."""
    found = []
    for number in range(count):
        question = Message("q", "t1", "ann", "human", None, "When does the museum open?", 0)
        answer = Message("a", "t1", "bot", "agent", "bot", "The museum opens at nine.", MINUTE)
        said = Message("m", "t2", "ann", "human", None, f"Odd, friend {number} said otherwise.", 2 * MINUTE)
        item = Neighbourhood((question, answer), said)
        [verdict] = detector.judge([item])
        assert not verdict.settled
        found.append(PendingVerdict(ConversationKey("acme", name, f"c{number}"), item, verdict))
    return found


async def measure(listening: bool, count: int) -> dict[str, float]:
    """Return the durations of three batches in seconds, for a port that never responds or that refuses connections."""
    settings = InferenceSettings(gate_model="m")
    detector = Detector.default()
    with TemporaryDirectory() as folder, socket.socket() as endpoint_socket:
        Path(folder).chmod(0o755)  # as root, PostgreSQL runs as another user
        endpoint_socket.bind(("127.0.0.1", 0))
        if listening:
            endpoint_socket.listen(512)
        async with EmbeddedPostgres(Path(folder) / "data") as server:
            pool = await open_pool(server.url, "inference", MIGRATIONS)
            endpoint = LlmEndpoint(f"http://127.0.0.1:{endpoint_socket.getsockname()[1]}/v1", None, 32)
            asking = Asking(endpoint, SystemClock(), seconds=settings.gate_seconds, at_once=settings.gate_at_once)
            gate = LlmGate(asking, PostgresGateAnswers(pool), detector, model="m", seconds=settings.gate_batch_seconds)
            first, second = uncertain(detector, "first", count), uncertain(detector, "second", count)
            took = {}
            for name, batch in {"first": first, "next": second, "again": first}.items():
                began = time.perf_counter()
                assert await gate.settle(batch) == [one.verdict for one in batch]
                took[name] = round(time.perf_counter() - began, 3)
            await endpoint.close()
            await pool.close()
    return took


def main() -> None:
    """Print one line per kind of failure, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {
        name: asyncio.run(measure(listening, options.messages))
        for name, listening in {"refuses": False, "never answers": True}.items()
    }
    if options.json:
        print(json.dumps(found))
    else:
        for name, took in found.items():
            print(f"{name}: " + ", ".join(f"{batch} {seconds:.3f} s" for batch, seconds in took.items()))


if __name__ == "__main__":
    main()
