"""Sends copies of a file, each with new ids, through the in-process log, and counts the resulting records.

    python benchmarks/memory_log.py FILE [--bytes 200000000] [--state FOLDER] [--now T]

Exit code 1 if a line was lost: every copy must give the same number of records as the first.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

IDS = ("eventId", "messageId", "conversationId", "turnId", "originalMessageId", "replyToMessageId")


def renamed(event: dict[str, Any], copy: int) -> dict[str, Any]:
    """Return the event with new ids, except those of people and agents."""
    fresh = {name: f"{value}-{copy}" if name in IDS and value else value for name, value in event.items()}
    if isinstance(fresh.get("original"), dict):
        fresh["original"] = renamed(fresh["original"], copy)
    return fresh


def write_copies(source: Path, target: Path, size: int) -> tuple[int, int]:
    """Write whole copies of `source`, at least `size` bytes in total; return (copies, lines)."""
    events = [json.loads(line) for line in source.read_bytes().splitlines()]
    copies = 0
    with target.open("w", encoding="utf-8") as out:
        while copies == 0 or target.stat().st_size < size:
            copies += 1
            out.writelines(json.dumps(renamed(event, copies), ensure_ascii=False) + "\n" for event in events)
            out.flush()
    return copies, copies * len(events)


def run(file: Path, state: Path, now: str | None) -> tuple[dict[str, Any], list[str]]:
    command = [sys.executable, "-m", "standalone", "up", "--replay", str(file), "--exit", "--json", "--port", "0"]
    command += ["--state", str(state), *(["--now", now] if now else [])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"The run ended with {done.returncode}:\n{done.stderr[-4000:]}")
    gaps = [line for line in done.stderr.splitlines() if "log_gap" in line]
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts, gaps


def counts_of(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the counts that must grow in proportion to `copies`. Announcements may repeat, so they are excluded."""
    topics = {name: count for name, count in facts["topics"].items() if name.startswith("chat.")}
    return {
        "events": facts["replayed"]["events"],
        **topics,
        "stored": facts["feedback"]["stored"],
        "cleared": facts["feedback"]["cleared"],
        **facts["feedback"]["by_type"],
        "parked": facts["parked"],
        "dead_letters": sum(facts["dead_letters"].values()),
        **{f"report {name}": facts["report"][name] for name in ("conversations", "total", "ok", "not_ok", "neutral")},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--bytes", type=int, default=200_000_000)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--now")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.state) as folder:
        place = Path(folder)
        write_copies(options.file, place / "one.jsonl", 1)
        copies, lines = write_copies(options.file, place / "all.jsonl", options.bytes)
        one, _ = run(place / "one.jsonl", place / "one", options.now)
        began = time.monotonic()
        all_, gaps = run(place / "all.jsonl", place / "all", options.now)
        seconds = time.monotonic() - began
        size = (place / "all.jsonl").stat().st_size
    wanted = {name: count * copies for name, count in counts_of(one).items()}
    differing = {name: (count, wanted[name]) for name, count in counts_of(all_).items() if count != wanted[name]}
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    facts = {"bytes": size, "copies": copies, "lines": lines, "seconds": round(seconds, 1), "max_rss_mb": largest}
    facts |= {"lines_per_second": round(lines / seconds), "gaps": len(gaps), "differing": differing}
    print(json.dumps(facts | {"verdict": "lost" if differing or gaps else "complete"}))
    return 1 if differing or gaps else 0


if __name__ == "__main__":
    sys.exit(main())
