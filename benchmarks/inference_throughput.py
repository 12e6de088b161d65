"""Messages judged per second by the detector in one process, including embedding.

    python benchmarks/inference_throughput.py [--recorded FILE] [--messages N] [--batch N] [--sentence-encoder NAME]

`--recorded` uses the human messages of a file of chat events, in order of time. Otherwise conversations of twelve
exchanges are generated from the project's training rows. They are interleaved, so that a batch has messages of many
conversations, like a consumer's. Two common words make each text unique, so that no cached result is reused in another
conversation. Every second answer ends in an invented name, so that new words keep appearing: in about two of five
texts, as in recorded conversations. These conversations contain far more reworded requests than real ones. The detector
starts with empty caches.

The unit is CPU time, because the machine is shared. `alone` is the CPU time of one message of an unseen conversation.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from detector.detector import Detector
from detector.encoders import EncoderChoice
from detector.encoders.choice import sentence_encoder
from detector.encoders.minilm_files import present
from detector.model import NEIGHBOURHOOD, Message, Neighbourhood, Role
from detector.text import STOP, prepare
from servicekit.garbage_collection import tune_gc

ROWS = Path(__file__).parents[1] / "training" / "generated.jsonl"
EXCHANGES = 12
MINUTE = 60_000_000
ALONE = 1_000
COMMON = sorted(STOP)
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


def stream(messages: int) -> list[Neighbourhood]:
    """Generate human messages of interleaved conversations, in order of time, each with the messages before it."""
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    conversations = messages // EXCHANGES + 1
    conversations_so_far: list[list[Message]] = [[] for _ in range(conversations)]
    items: list[Neighbourhood] = []
    for turn in range(EXCHANGES):
        for number, before in enumerate(conversations_so_far):
            row = rows[(number * EXCHANGES + turn) % len(rows)]
            occurred_at = (turn * 2) * MINUTE
            mark = " ".join(COMMON[(number // len(COMMON) ** power + turn * power) % len(COMMON)] for power in range(2))
            question = Message(
                f"{number}-{turn}-h", f"{number}-{turn}", "ann", "human", None, f"{row['message']} {mark}", occurred_at
            )
            items.append(Neighbourhood(tuple(before[-NEIGHBOURHOOD:]), question))
            before.append(question)
            answer = f"{row['answer']} {mark}"
            if turn % 2:
                answer += f" {name(number * EXCHANGES + turn)}"
            before.append(
                Message(f"{number}-{turn}-a", f"{number}-{turn}", "bot", "agent", "bot", answer, occurred_at + MINUTE)
            )
    return items[:messages]


def recorded(file: Path) -> list[Neighbourhood]:
    """Return the human messages in a file of chat events, in order of time, each with the messages before it."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    events = sorted((e for e in lines if e["topic"] == "chat.message.ingested"), key=lambda e: e["occurredAt"])
    conversations: defaultdict[tuple[str, ...], list[Message]] = defaultdict(list)
    items: list[Neighbourhood] = []
    for number, event in enumerate(events):
        before = conversations[event.get("tenant", ""), event.get("project", ""), event["conversationId"]]
        agent = event.get("agentId") if event["senderType"] == "agent" else None
        role: Role = "agent" if agent else "human"
        turn = event.get("turnId") or event["messageId"]
        message = Message(event["messageId"], turn, event["senderId"], role, agent, event["content"], number * MINUTE)
        if role == "human":
            items.append(Neighbourhood(tuple(before[-NEIGHBOURHOOD:]), message))
        before.append(message)
    return items


def name(number: int) -> str:
    """Return an invented word of four syllables, which is different for each number."""
    return "".join(SYLLABLES[number // len(SYLLABLES) ** power % len(SYLLABLES)] for power in range(4))


def alone(items: list[Neighbourhood], detector: Detector) -> list[int]:
    """Return the CPU time of judging each of `ALONE` messages alone, in nanoseconds.

    The messages are from different conversations if there are enough.
    """
    detector.judge(items[:1])
    took = []
    for number in np.linspace(1, len(items) - 1, ALONE).astype(int).tolist():
        started = time.process_time_ns()
        detector.judge([items[number]])
        took.append(time.process_time_ns() - started)
    return took


def judging(times: int, events: Path) -> list[dict[str, Any]]:
    """Return the run with the median rate, for each kind of conversation and each sentence encoder, in processes of
    their own. Missing encoders are skipped."""
    encoders = ("none", "minilm") if present() else ("none",)
    sources: dict[str, list[str]] = {"generated": [], "recorded": ["--recorded", str(events)]}
    medians = []
    for source, options in sources.items():
        for encoder in encoders:
            runs = [_process([*options, "--sentence-encoder", encoder]) for _ in range(times)]
            runs.sort(key=lambda run: int(run["messages_per_cpu_second"]))
            medians.append({"conversations": source} | runs[times // 2])
    return medians


def _process(options: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.inference_throughput", *options]
    run: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return run


def measure(items: list[Neighbourhood], batch: int, encoder: EncoderChoice) -> dict[str, Any]:
    """Return the figures of a detector with this sentence encoder."""
    texts = {m.text for item in items for m in (*item.before, item.message)}
    words = {word for text in texts for word in prepare(text).words}
    reader = sentence_encoder(encoder, print)
    Detector.default(reader).judge(items[:batch])
    started = time.perf_counter()
    detector = Detector.default(reader)
    loaded = time.perf_counter() - started
    tune_gc()  # as a service does when it has started
    wall, busy = time.perf_counter(), time.process_time()
    emitted = 0
    for first in range(0, len(items), batch):
        emitted += sum(v.emitted for v in detector.judge(items[first : first + batch]))
    wall, busy = time.perf_counter() - wall, time.process_time() - busy
    took = np.asarray(alone(items, Detector.default(reader))) / 1e6
    return {
        "messages": len(items),
        "distinct_texts": len(texts),
        "distinct_words": len(words),
        "batch": batch,
        "sentence_encoder": reader.name if reader else "none",
        "messages_per_second": round(len(items) / wall),
        "messages_per_cpu_second": round(len(items) / busy),
        "alone_ms_p50": round(float(np.percentile(took, 50)), 3),
        "alone_ms_p99": round(float(np.percentile(took, 99)), 3),
        "emitted": emitted,
        "load_seconds": round(loaded, 3),
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "python": platform.python_version(),
    }


def main() -> None:
    """Print the figures as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=12_000)
    parser.add_argument("--recorded", type=Path, metavar="FILE")
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--sentence-encoder", default="none")
    options = parser.parse_args()
    items = recorded(options.recorded) if options.recorded else stream(options.messages)
    print(json.dumps(measure(items, options.batch, options.sentence_encoder)))


if __name__ == "__main__":
    main()
