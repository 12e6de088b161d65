"""Messages judged per second by the whole batch judge, embedding included, in one process.

    python benchmarks/inference_throughput.py [--messages N] [--batch N] [--json]

Conversations are made of the project's own training rows: twelve exchanges each, many conversations at once, so that a
batch holds messages of many of them, as a consumer sees them. Two common words make texts unique, so that nothing
is won by meeting the same text again in another conversation.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import time
from pathlib import Path

from inference.detector import Detector
from inference.features import CLOSED
from inference.model import NEIGHBOURHOOD, Message, Neighbourhood

ROWS = Path(__file__).parents[1] / "services" / "inference" / "training" / "data" / "exchanges.jsonl"
EXCHANGES = 12
MINUTE = 60_000_000


def stream(messages: int) -> list[Neighbourhood]:
    """Human messages in order of time over conversations that run side by side, each with what came before it."""
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    conversations = messages // EXCHANGES + 1
    held: list[list[Message]] = [[] for _ in range(conversations)]
    found: list[Neighbourhood] = []
    for turn in range(EXCHANGES):
        for number, before in enumerate(held):
            row = rows[(number * EXCHANGES + turn) % len(rows)]
            at = (turn * 2) * MINUTE
            mark = " ".join(CLOSED[(number // len(CLOSED) ** power + turn * power) % len(CLOSED)] for power in range(2))
            said = Message(
                f"{number}-{turn}-h", f"{number}-{turn}", "ann", "human", None, f"{row['message']} {mark}", at
            )
            found.append(Neighbourhood(tuple(before[-NEIGHBOURHOOD:]), said))
            before.append(said)
            answer = f"{row['answer']} {mark}"
            before.append(Message(f"{number}-{turn}-a", f"{number}-{turn}", "bot", "agent", "bot", answer, at + MINUTE))
    return found[:messages]


def main() -> None:
    """Prints one line, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=12_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    started = time.perf_counter()
    detector = Detector.default()
    loaded = time.perf_counter() - started
    items = stream(options.messages)
    detector.judge(items[: options.batch])
    wall, busy = time.perf_counter(), time.process_time()
    emitted = 0
    for first in range(0, len(items), options.batch):
        emitted += sum(v.emitted for v in detector.judge(items[first : first + options.batch]))
    wall, busy = time.perf_counter() - wall, time.process_time() - busy
    told = {
        "messages": len(items),
        "batch": options.batch,
        "messages_per_second": round(len(items) / wall),
        "messages_per_cpu_second": round(len(items) / busy),
        "emitted": emitted,
        "load_seconds": round(loaded, 3),
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "python": platform.python_version(),
    }
    if options.json:
        print(json.dumps(told))
    else:
        print(
            f"{told['messages_per_second']:,} messages/s ({told['messages_per_cpu_second']:,} per CPU second),"
            f" {told['messages']:,} messages in batches of {told['batch']}, load {told['load_seconds']} s,"
            f" peak {told['peak_rss_mib']} MiB"
        )


if __name__ == "__main__":
    main()
