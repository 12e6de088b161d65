"""The plan of the benchmark runs, and its execution. Measurements alternate, so that a slow minute affects all."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.jobs import run
from benchmarks.run_latency import WARM_SECONDS
from benchmarks.servers import Servers
from benchmarks.workload import Say, Workload

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


@dataclass
class Measured:
    """Figures of every run.

    `pipeline` is keyed by configuration; the keys of `plain` are True for a real Kafka.
    """

    pipeline: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    plain: dict[bool, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    latency: list[dict[str, Any]] = field(default_factory=list)


class Measuring:
    """Runner of measurements on `servers`. Each measurement has its own database and event ids."""

    def __init__(self, servers: Servers, source: Path, seed: int, plan: Plan, say: Say) -> None:
        self._servers = servers
        self._source = source
        self._seed = seed
        self._plan = plan
        self._say = say
        self._runs = 0
        self.measured = Measured()

    async def all(self) -> Measured:
        brokers = [False, True] if self._servers.kafka else [False]
        for number in range(1, self._plan.rounds + 1):
            self._say(f"Round {number} of {self._plan.rounds}")
            for on_kafka in brokers:
                await self._round(on_kafka)
        if self._servers.kafka:
            await self._latency()
        return self.measured

    async def _round(self, on_kafka: bool) -> None:
        plan, broker = self._plan, "Kafka" if on_kafka else "in-process broker"
        for configuration in CONFIGURATIONS:
            if configuration.on_kafka == on_kafka:
                one = await self._run(configuration.module, on_kafka, plan.events)
                self.measured.pipeline[configuration.name].append(one)
                self._say(f"  {configuration.name}: {one['events_per_s']:,.0f}/s ({one['seconds']:.1f} s)")
        plain = await self._run("per_message", on_kafka, plan.plain_events)
        self.measured.plain[on_kafka].append(plain)
        self._say(f"  one record at a time, {broker}: {plain['events_per_s']:,.0f}/s ({plain['seconds']:.1f} s)")

    async def _latency(self) -> None:
        for rate in self._plan.latency_rates:
            self._say(f"Latency at {rate} events/s for {self._plan.latency_seconds} s")
            events = int(rate * (self._plan.latency_seconds + WARM_SECONDS))
            self.measured.latency.append(await self._run("run_latency", True, events, str(rate)))

    async def _run(self, module: str, on_kafka: bool, events: int, *arguments: str) -> dict[str, Any]:
        self._runs += 1
        workload = Workload(str(self._source), events, self._seed, f"r{self._runs}")
        return await run(module, await self._servers.job(workload, on_kafka=on_kafka), *arguments)
