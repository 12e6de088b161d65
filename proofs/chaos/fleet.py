"""Keeps one process of every service alive, like a supervisor, and records their history."""

from __future__ import annotations

import asyncio
from collections import Counter

from proofs.chaos.cluster import SERVICES, Cluster
from proofs.chaos.plan import Plan
from proofs.chaos.process import ServiceProcess

NO_PLAN = Plan()


class Fleet:
    """One main process of each service, restarted whenever it ends, and any number of additional ones."""

    def __init__(self, cluster: Cluster, base: Plan = NO_PLAN) -> None:
        self._cluster = cluster
        self.base = base
        """Settings of every process, in addition to its own."""
        self._logs: Counter[str] = Counter()
        self.main: dict[str, ServiceProcess] = {}
        self.guests: list[ServiceProcess] = []
        self._planned: dict[int, Plan] = {}
        self._held: set[str] = set()
        self.gave_up: list[str] = []
        """Processes that ended by themselves."""
        self.peak_mb: dict[str, float] = dict.fromkeys(SERVICES, 0.0)

    async def start(self) -> None:
        for name in SERVICES:
            self.main[name] = self.spawn(name)
        await asyncio.gather(*(process.running(120) for process in self.main.values()))

    def spawn(self, name: str, plan: Plan | None = None) -> ServiceProcess:
        """Start a process of `name` that is not restarted."""
        url, broker = self._cluster.database_url(name), self._cluster.broker(name)
        prefix = name.upper()
        environment = {f"{prefix}_BROKER": broker, f"{prefix}_DATABASE_URL": url, f"{prefix}_STORE_URL": url}
        plan = plan or self.base
        if plan != NO_PLAN:
            environment |= plan.environment()
        self._logs[name] += 1
        process = ServiceProcess(name, environment, self._cluster.folder / f"{name}-{self._logs[name]}.log")
        self._planned[process.pid] = plan
        return process

    def replace(self, name: str, plan: Plan | None = None) -> ServiceProcess:
        """Start a new main process in place of one that has ended."""
        self.main[name] = self.spawn(name, plan)
        return self.main[name]

    def port_of(self, name: str) -> int:
        """Return the HTTP port of a main process. Raises ConnectionRefusedError unless it listens."""
        process = self.main[name]
        if process.code is not None or process.port is None:
            raise ConnectionRefusedError(name)
        return process.port

    def hold(self, name: str) -> None:
        """Do not start `name` again until `release`."""
        self._held.add(name)

    def release(self, name: str) -> None:
        self._held.discard(name)

    async def watch(self) -> None:
        """Restart processes that have ended, and record the memory of each, until cancelled."""
        while True:
            for name, process in list(self.main.items()):
                self._weigh(process)
                if process.code is not None and name not in self._held:
                    self._note_end(process)
                    self.replace(name)
            for guest in [*self.guests]:
                self._weigh(guest)
            await asyncio.sleep(0.2)

    def _weigh(self, process: ServiceProcess) -> None:
        self.peak_mb[process.name] = max(self.peak_mb[process.name], process.peak_rss_mb())

    def _note_end(self, process: ServiceProcess) -> None:
        plan = self._planned.get(process.pid, NO_PLAN)
        was_planned = process.code == -9 and plan.die_at is not None
        if not was_planned and not process.is_ended_by_harness:
            self.gave_up.append(f"{process.name} ended by itself with {process.code}")

    async def stop(self) -> dict[str, float]:
        """Stop all processes; return the seconds that each main process took."""
        for guest in self.guests:
            guest.kill()
        seconds = await asyncio.gather(*(process.terminate() for process in self.main.values()))
        return dict(zip(self.main, seconds, strict=True))
