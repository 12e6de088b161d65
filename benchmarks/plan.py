"""Plan of the benchmark runs: their kinds, their number and their order."""

from __future__ import annotations

from dataclasses import dataclass

MEMORY = "one process, in-process broker"
KAFKA = "one process, Kafka"
FOUR = "four processes, Kafka"


@dataclass(frozen=True, slots=True)
class Configuration:
    """A way to run the four services: the module that measures it, and whether it uses a real Kafka."""

    name: str
    module: str
    on_kafka: bool


CONFIGURATIONS = (
    Configuration(MEMORY, "run_one_process", on_kafka=False),
    Configuration(KAFKA, "run_one_process", on_kafka=True),
    Configuration(FOUR, "run_four_processes", on_kafka=True),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of all runs, which are interleaved over the rounds.

    A run has `events` events, the slow baseline `plain_events`. `latency_rates` are in events per second, each for
    `latency_seconds`; `turns` is the size of the turn index. `http_seconds` is the duration of each HTTP load. Pages
    are read for each number of feedback records in `reports`.
    """

    rounds: int
    events: int
    plain_events: int
    latency_rates: tuple[int, ...]
    latency_seconds: int
    starts: int
    turns: int
    http_seconds: float
    reports: tuple[int, ...]


FULL = Plan(
    rounds=3,
    events=64_000,
    plain_events=3_000,
    latency_rates=(200, 1_000),
    latency_seconds=30,
    starts=5,
    turns=1_000_000,
    http_seconds=10,
    reports=(200_000, 2_000_000),
)
QUICK = Plan(
    rounds=1,
    events=16_000,
    plain_events=1_000,
    latency_rates=(200,),
    latency_seconds=8,
    starts=1,
    turns=50_000,
    http_seconds=4,
    reports=(50_000,),
)
