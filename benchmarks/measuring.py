"""Execution of a plan. Measurements alternate, so that a slow minute affects all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.jobs import run
from benchmarks.plan import CONFIGURATIONS, Plan
from benchmarks.run_latency import WARM_SECONDS
from benchmarks.servers import Servers
from benchmarks.workload import Workload

Say = Callable[[str], None]


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
