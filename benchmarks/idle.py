"""Processor time of an idle `agent-feedback up`, and the time until a reaction after an idle period is in the reports.

python -m benchmarks.idle [--seconds 30] [--events 9]

The read model is asked every 10 ms, on the same cores.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psutil

from benchmarks.programs import up
from benchmarks.workload import scratch

SETTLE_SECONDS = 10
IDLE_SECONDS = 4
SHOWN_SECONDS = 30
POLL_SECONDS = 0.01


def busy(process: psutil.Process) -> float:
    """Return the processor time of a process and its children so far, in seconds."""
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def share(process: psutil.Process, seconds: float) -> float:
    """Return the share of a core that a process and its children use during `seconds`."""
    before, began = busy(process), time.monotonic()
    time.sleep(seconds)
    return (busy(process) - before) / (time.monotonic() - began)


def delays(http: httpx.Client, events: int) -> Iterator[float]:
    """Yield the time from a reaction's acknowledgement until the API reports it, after idle periods, in seconds."""
    for number in range(events):
        path = f"/conversations/demo/support/c{number}/feedback/latest"
        _send(http, number, {"topic": "chat.message.ingested", "senderId": "bot", "senderType": "agent",
                             "agentId": "guide", "content": "The 7:40 one."})  # fmt: skip
        time.sleep(IDLE_SECONDS)
        _send(http, number, {"topic": "chat.message.reaction.ingested", "userId": "ann", "userType": "human",
                             "emoji": "👎"})  # fmt: skip
        began = time.monotonic()
        while (answer := http.post(path, content="{}")).status_code != 200 or "not_ok" not in answer.text:
            if time.monotonic() - began > SHOWN_SECONDS:
                raise AssertionError(f"not reported within {SHOWN_SECONDS} s: {answer.status_code}")
            time.sleep(POLL_SECONDS)
        yield time.monotonic() - began


def _send(http: httpx.Client, number: int, fields: dict[str, Any]) -> None:
    occurred_at = datetime.now(UTC).isoformat()
    ids = {"eventId": f"{fields['topic']}-{number}", "messageId": f"m{number}", "conversationId": f"c{number}"}
    line = json.dumps(fields | ids | {"occurredAt": occurred_at})
    kind = {"Content-Type": "application/x-ndjson"}
    http.post("/ingest/demo/support/events", content=line, headers=kind).raise_for_status()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.idle", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--events", type=int, default=9)
    options = parser.parse_args()
    with scratch() as folder:
        state = Path(folder) / "state"
        with up(state) as program:
            time.sleep(SETTLE_SECONDS)
            idle = share(psutil.Process(program.pid), options.seconds)
            print(f"idle, {options.seconds:g} s: {idle:.1%} of a core")
            headers = {
                "Content-Type": "application/json",
                "Authorization": f"Bearer {(state / 'token').read_text('utf-8')}",
            }
            with httpx.Client(base_url=program.url, headers=headers) as http:
                seconds = sorted(delays(http, options.events))
            print(f"a reaction after {IDLE_SECONDS} idle seconds, {len(seconds)} times: reported after "
                  f"{median(seconds):.2f} s (median), {seconds[-1]:.2f} s (maximum)")  # fmt: skip


if __name__ == "__main__":
    main()
